"""What pages and figures draw: curves and their points as plain values. No Django, no rows.

Throughput is in operations per second, latencies in microseconds, as the columns of `runs.models.Measurement`.
"""

import datetime as dt
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Literal

from benchsite.core.formatting import exact
from reports.compare.analysis.ceiling import ALIKE, MIN_REPEATS, Ceiling, Rung, ceiling, judged_rung, within_ceiling
from reports.compare.analysis.knee import Knee, power_knee, without_response
from reports.compare.analysis.looks import Look
from reports.compare.analysis.points import Spread, first_values
from runs.catalog import OWN_FLAVOUR
from runs.catalog.durability import ACKS
from runs.checks import RUN_CHECKS, CheckResult, judge_ladder
from runs.queue.spec import describe_window
from runs.results.measures.repeatability import compute_geomean
from runs.ycsb.key_shares import KeyShares, find_key_shares

Kind = Literal["service", "response"]

# The statistics of a Measurement that a figure can show, by the names in URLs.
STATISTICS: dict[str, str] = {
    "mean": "mean",
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}
# Made of a READ and an UPDATE that are measured too, so it is never added to them.
COMPOSITE = "READ-MODIFY-WRITE"
# The check of a growing backlog; where it rejects, the target was reached by letting operations wait ever longer.
BACKLOG = "V10"
# The checks of which a rejection says that the target was too much: errors, shortfall, backlog.
OVERLOADED = frozenset({"V07", "V09", BACKLOG})
# Where these reject, throughput itself is not to be trusted, so reaching less than the target says nothing of it.
UNTRUSTED = frozenset(check.id for check in RUN_CHECKS if check.untrusted)
PUBLISHABLE = frozenset({"measured", "soak"})
INTERLEAVED = frozenset({"interleaved", "randomised"})  # orders of a matrix that run repeat by repeat


class Standing(StrEnum):
    """Whether a point counts."""

    COUNTED = "counted"
    REJECTED = "rejected"  # Every repeat was rejected by the validity checks.
    EXCLUDED = "excluded"  # Every repeat was left out by a person.
    STAND_IN = "stand-in"  # The server of every repeat was not the product.


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a point: the geometric mean over its repeats of each statistic, in µs."""

    operation: str
    kind: str
    ok: int | None  # None: an uploaded summary does not say
    failed: int | None
    latencies_us: Mapping[str, Spread]
    # By statistic, between which values it lies where nobody knows it better; the upper one None: without bound.
    bounds_us: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)

    def geomean_us(self, statistic: str) -> float | None:
        values = self.latencies_us.get(statistic)
        return values.geomean if values else None

    def first_repeats(self, n: int) -> "Operation":
        latencies_us = {name: first_values(values, n) for name, values in self.latencies_us.items()}
        return replace(self, latencies_us=latencies_us)


class WithOperations:
    """What has measured operations."""

    __slots__ = ()
    operations: tuple[Operation, ...]

    def operation(self, name: str, kind: str = "service") -> Operation | None:
        return next((row for row in self.operations if row.operation == name and row.kind == kind), None)

    def latency(self, name: str, statistic: str, kind: str = "service") -> Spread | None:
        """A statistic of one operation over the repeats, in µs."""
        operation = self.operation(name, kind)
        return operation.latencies_us.get(statistic) if operation else None


@dataclass(frozen=True, slots=True)
class LeftOut(WithOperations):
    """One repeat that is no part of its point, though it was measured."""

    run_id: uuid.UUID
    standing: Standing  # any but counted
    reason: str  # the person's, or the worst finding
    throughput_ops_s: float
    operations: tuple[Operation, ...]
    repeat: int = 0  # its number; 0: nobody knows it


@dataclass(frozen=True, slots=True)
class Point(WithOperations):
    """One rung of a sweep: the geometric mean of the repeats that count, with the band they cover."""

    threads: int
    target_ops_s: int | None
    throughput_ops_s: Spread
    operations: tuple[Operation, ...]
    standing: Standing
    verdict: str
    clients_merged: int
    clients_expected: int
    window_s: float
    warmup_s: float
    mode_verified: bool
    run_ids: tuple[uuid.UUID, ...]
    excluded: tuple[str, ...] = ()  # the reasons of the repeats that were left out
    rejected: int = 0  # repeats that were rejected
    overridden: tuple[str, ...] = ()  # why repeats count although they were rejected
    worst_finding: str = ""
    rejected_by: tuple[str, ...] = ()  # every check that rejected one of its repeats, though it may count nevertheless
    left_out: tuple[LeftOut, ...] = ()  # repeats beside those that the point is made of
    generator_cpu: float | None = None  # of all cores of the busiest load generator, 0 to 1; None: nobody measured
    repeats: tuple[int, ...] = ()  # the number of each repeat, in the order of the values; empty: 1, 2, 3 and so on
    offered_ops_s: float | None = None  # of an open load: the arrivals of the window
    dropped_share: float | None = None  # of them
    # Of what was offered, where a dropped operation never ends; absent: more than 1 % was dropped.
    offered_p99_us: Mapping[str, float] = field(default_factory=dict)
    client_limited: bool = False  # V02 or V03 say of every repeat that the clients were at their limit

    @property
    def counts(self) -> bool:
        return self.standing is Standing.COUNTED

    @property
    def started_ops_s(self) -> float | None:
        """Of an open load: what was offered and not dropped."""
        if self.offered_ops_s is None:
            return None
        return self.offered_ops_s * (1 - (self.dropped_share or 0.0))

    @property
    def nearest_runs(self) -> list[uuid.UUID]:
        """Its repeats, that which lies nearest to their mean first."""
        spread = self.throughput_ops_s
        if len(spread.values) != len(self.run_ids):
            return list(self.run_ids)
        pairs = sorted(zip(spread.values, self.run_ids, strict=True), key=lambda pair: abs(pair[0] - spread.geomean))
        return [run_id for _, run_id in pairs]

    @property
    def load(self) -> str:
        """What it asked for: "4 threads", or its target."""
        if self.target_ops_s:
            return f"{self.target_ops_s:,} ops/s"
        return f"{self.threads} threads"

    def of_kind(self, kind: str) -> tuple[Operation, ...]:
        return tuple(row for row in self.operations if row.kind == kind)

    def first_repeats(self, n: int) -> "Point":
        """With the first `n` of its repeats."""
        if self.throughput_ops_s.n <= n:
            return self
        return replace(
            self,
            throughput_ops_s=first_values(self.throughput_ops_s, n),
            repeats=self.passes[:n],
            run_ids=self.run_ids[:n],
            operations=tuple(operation.first_repeats(n) for operation in self.operations),
        )

    def mean_latency_s(self, kind: str = "service") -> float | None:
        """Seconds that one operation took on average; by service time it fulfils Little's law with X.

        A read-modify-write is one operation whose time is that of its READ and its UPDATE.
        """
        done, took = 0, 0.0
        for row in self.operations:
            mean = row.geomean_us("mean")
            if row.kind != kind or mean is None or row.ok is None:
                continue
            done += -row.ok if row.operation == COMPOSITE else row.ok
            took += 0.0 if row.operation == COMPOSITE else row.ok * mean
        if done > 0:
            return took / done / 1e6
        return None

    @property
    def error_ratio(self) -> float | None:
        """Failed operations of all; None where an operation does not say. The parts of a composite row count alone."""
        counts = [
            (row.ok, row.failed) for row in self.operations if row.kind == "service" and row.operation != COMPOSITE
        ]
        failed = sum(bad or 0 for _, bad in counts)
        done = sum(good or 0 for good, _ in counts) + failed
        if done and all(good is not None for good, _ in counts):
            return failed / done
        return None

    def as_rung(self) -> Rung:
        """For analysis: more than a target is what clients made up for from before the window, and is not counted."""
        most = self.target_ops_s or math.inf
        slowest = [row.geomean_us("p99") or 0.0 for row in self.operations if row.kind == "service"]
        response_s = None
        if self.target_ops_s:
            response_s = self.mean_latency_s("response")
        repeats_ops_s = tuple(min(value, most) for value in self.throughput_ops_s.values)
        return Rung(
            threads=self.threads,
            throughput_ops_s=compute_geomean(repeats_ops_s or (min(self.throughput_ops_s.geomean, most),)),
            latency_s=self.mean_latency_s(),
            target_ops_s=self.target_ops_s,
            error_ratio=self.error_ratio,
            offered_ops_s=self.offered_ops_s,
            dropped_share=self.dropped_share or 0.0,
            response_s=response_s,
            p99_s=max(slowest, default=0.0) / 1e6 or None,
            backlog_growing=BACKLOG in self.rejected_by and not self.overridden,
            repeats_ops_s=repeats_ops_s,
            repeats=self.passes,
            client_limited=self.client_limited,
        )

    @property
    def passes(self) -> tuple[int, ...]:
        """Which pass over the ladder each repeat belongs to: its number, or its place where numbers do not tell."""
        n = len(self.throughput_ops_s.values)
        if len(set(self.repeats)) == len(self.repeats) == n:
            return self.repeats
        return tuple(range(1, n + 1))

    @property
    def people_left_out(self) -> bool:
        """Whether people left repeats out that would count otherwise."""
        whole = self.standing is Standing.EXCLUDED and self.verdict != "reject"
        return whole or any(repeat.standing is Standing.EXCLUDED for repeat in self.left_out)

    def as_rung_with_left_out(self, last_repeat: float = math.inf) -> Rung | None:
        """The rung had the repeats counted that people left out, but not the rejected ones; None where none remains.

        Those after `last_repeat` count only where there are no others.
        """
        counted = self.counts or (self.standing is Standing.EXCLUDED and self.verdict != "reject")
        own = self.throughput_ops_s.values or (self.throughput_ops_s.geomean,) * max(self.throughput_ops_s.n, 1)
        others = [repeat for repeat in self.left_out if repeat.standing is Standing.EXCLUDED]
        numbered = [(repeat.repeat, repeat.throughput_ops_s) for repeat in others]
        if counted:
            numbered += zip(self.passes or range(1, len(own) + 1), own, strict=True)
        values = [ops_s for number, ops_s in numbered if number <= last_repeat] or [ops_s for _, ops_s in numbered]
        if not values:
            return None
        counted_ops_s = min(compute_geomean(values), self.target_ops_s or math.inf)
        return replace(self.as_rung(), throughput_ops_s=counted_ops_s, backlog_growing=False, repeats_ops_s=())


@dataclass(frozen=True, slots=True)
class MachineFacts:
    id: str
    name: str
    cores: int | None


@dataclass(frozen=True, slots=True)
class Setup:
    """What stood and what drove it, from the submitted spec: the sides of a comparison differ in these.

    None and empty: nobody knows.
    """

    version: str = ""
    replication_factor: int | None = None
    records: int | None = None
    record_bytes: int | None = None
    dataset_fingerprint: str = ""
    workload_properties: Mapping[str, str] = field(default_factory=dict)
    server_settings: Mapping[str, str] = field(default_factory=dict)  # of the database, then of the mode
    binding_properties: Mapping[str, str] = field(default_factory=dict)
    mode_settings: Mapping[str, str] = field(default_factory=dict)
    client_flavour: str = ""
    client_version: str = ""
    client_digest: str = ""
    warmup_s: int = 0  # at most, where it lasts until throughput is steady
    settle_s: int = 0  # how much of it a run that is steady early does not need
    measure_s: int | None = None  # None: as long as it lasted
    processes: int = 1
    arrivals: str = ""  # of an open load: how operations arrive; empty: each thread waits for its answer
    groups: Mapping[str, str] = field(default_factory=dict)  # beside the ladder: their loads by name
    cluster_name: str = ""
    cluster_machines: tuple[MachineFacts, ...] = ()
    generators: tuple[str, ...] = ()
    generator_machines: tuple[MachineFacts, ...] = ()
    separates_cpus: bool = False  # servers and clients on one machine used different cores
    client_on_database_host: bool | None = None  # as the uploader stated it
    nodes: int | None = None  # of the cluster; several that Benchsite started on one machine count each
    price_per_hour: float | None = None  # US$ for all nodes of the cluster; None where one of them states none

    @property
    def window(self) -> str:
        """As it was planned."""
        return describe_window(self.measure_s, self.warmup_s - self.settle_s, self.settle_s)

    @property
    def key_shares(self) -> KeyShares | None:
        """How much of the requests of its measured runs the hottest keys get; None where nobody knows."""
        clients = 1
        if self.client_flavour == OWN_FLAVOUR:
            clients = self.clients
        return find_key_shares(
            self.workload_properties, clients=clients, warmup_s=self.warmup_s, measure_s=self.measure_s
        )

    @property
    def clients(self) -> int:
        return max(len(self.generators), 1) * self.processes  # Nobody knows on how many machines uploaded clients ran.


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of a sweep's runs have ended, by what became of them."""

    runs: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def waiting(self) -> int:
        return self.runs - self.succeeded - self.failed - self.cancelled

    @property
    def going(self) -> bool:
        return self.waiting > 0


@dataclass(frozen=True)  # no slots, so that what is computed from the points is computed once
class Curve:
    """One sweep: a database in a mode under a workload, over its load ladder. Points ascend."""

    sweep_id: uuid.UUID
    name: str
    database_name: str
    system: str
    system_name: str
    mode: str
    mode_name: str
    durability: Mapping[str, object]
    workload: str
    purpose: str
    points: tuple[Point, ...]
    durability_class: str = ""  # what a write waits for; empty: nobody knows
    ladder: str = "threads"
    rungs: tuple[int, ...] = ()  # of every planned run, measured or not: threads, or targets in ops/s
    phase: str = "measure"
    uploaded: bool = False  # its runs were made elsewhere, and its setup is as their uploader stated it
    matrix_id: uuid.UUID | None = None
    matrix_name: str = ""
    session: str = ""  # that its upload states of every run: the CI job that measured it
    commit: str = ""  # of all its runs; empty: of none, or of several
    branch: str = ""
    build: str = ""  # the address of the CI's build
    order: str = ""  # of the runs of its matrix, as `Matrix.order` says it
    repeats: int = 0  # of each rung, as its matrix submits them; copies have higher numbers. 0: a search decides
    unthrottled_ops_s: tuple[float, ...] = ()  # of runs without a target beside a ladder of targets: probes of a search
    search_limit: str = ""  # of latency, which its search sought: "READ p99 at most 5 ms"
    looks: tuple[int, ...] = ()  # the numbers of repeats after which its matrix takes verdicts
    created_at: dt.datetime | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""
    setup: Setup = field(default_factory=Setup)
    progress: Progress = field(default_factory=Progress)
    stand_ins: tuple[str, ...] = ()  # of each run whose server was not the product, what it was; none counts

    @property
    def label(self) -> str:
        return f"{self.database_name} · {self.mode}"

    @property
    def mode_stated(self) -> bool:
        """Whether a run that was made here has its durability mode by statement alone."""
        return not self.uploaded and not all(point.mode_verified for point in self.points)

    @property
    def source(self) -> str:
        """How its runs came about, as `Run.source` says it."""
        if self.uploaded:
            return "uploaded"
        return "scheduled"

    @property
    def is_searched(self) -> bool:
        """Whether a search chose its rungs."""
        return self.matrix_id is not None and not self.repeats

    @property
    def promise(self) -> str:
        """What a write waits for, in a few words."""
        return describe_durability(self.durability)

    @cached_property
    def counted(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.counts)

    @cached_property
    def without_copies(self) -> tuple[Point, ...]:
        """The counted points without copies of blocks."""
        return tuple(map(self._drop_copies, self.counted))

    @property
    def counted_by_threads(self) -> dict[int, Point]:
        """The counted points without a target, and without copies of blocks."""
        return {point.threads: point for point in self.without_copies if not point.target_ops_s}

    @property
    def is_stand_in(self) -> bool:
        """Whether it has points, and none of them is of the product."""
        return bool(self.points) and all(point.standing is Standing.STAND_IN for point in self.points)

    @cached_property
    def ceiling(self) -> Ceiling | None:
        """Of the points that count; on a ladder of targets a rejected point is a target that failed or is not known."""
        estimate = ceiling(self.counted_rungs + self._rejected_targets, self.unthrottled_ops_s)
        return estimate and replace(estimate, limit=self.search_limit)

    @cached_property
    def shape(self) -> CheckResult:
        """V26: whether one curve with at most one peak explains the rungs."""
        by_load = sorted(self.counted, key=lambda point: (point.target_ops_s or 0, point.threads))
        if len({point.target_ops_s for point in by_load}) not in (1, len(by_load)):
            by_load = []  # Targets with several numbers of threads are no one ladder.
        throughputs = [(point.load, point.throughput_ops_s) for point in by_load]
        return judge_ladder([(load, spread.values or (spread.geomean,)) for load, spread in throughputs])

    @cached_property
    def latency_kind(self) -> Kind:
        """Response time where every point of a ladder of targets has it: overload shows there alone; else service."""
        responses = self.points and all(point.target_ops_s and point.of_kind("response") for point in self.points)
        if responses:
            return "response"
        return "service"

    @cached_property
    def counted_rungs(self) -> list[Rung]:
        """The points that count, each with the latency of the curve's one kind, and without copies of blocks."""
        rungs = [point.as_rung() for point in self.without_copies]
        if self.latency_kind == "response":
            return rungs
        return without_response(rungs)

    @property
    def has_blocks(self) -> bool:
        """Whether each repeat of its plan is a block. A target says nothing of how much blocks vary."""
        return self.ladder == "threads" and self.order in INTERLEAVED and self.last_repeat >= MIN_REPEATS

    def _drop_copies(self, point: Point) -> Point:
        """The point of the plan's repeats; unchanged where none of them counts, or repeats are no blocks.

        A copy is in no block, so it must not decide either which rungs are near the top, and so which blocks are whole.
        """
        planned = sum(number <= self._last_of_blocks for number in point.passes)
        if not planned:
            return point
        return point.first_repeats(planned)

    @property
    def _last_of_blocks(self) -> float:
        """The number of the last repeat that is no copy of a block."""
        if self.has_blocks:
            return self.last_repeat
        return math.inf

    @property
    def _rejected_targets(self) -> list[Rung]:
        rejected = [point for point in self.points if point.standing is Standing.REJECTED and point.target_ops_s]
        as_rejected_rungs: list[Rung] = []
        for point in rejected:
            # The rung of a rejected point: its target failed, or nothing is known of it. It failed by the checks of the
            # load, or by its own numbers where no check says that they are not to be trusted.
            rung, checks = point.as_rung(), frozenset(point.rejected_by)
            trusted = not checks & UNTRUSTED and point.clients_merged >= point.clients_expected
            failed = bool(checks & OVERLOADED) or (trusted and judged_rung(rung) != "sustained")
            as_rejected_rungs.append(replace(rung, rejected="failed" if failed else "unknown"))
        return as_rejected_rungs

    @cached_property
    def ceiling_with_left_out(self) -> Ceiling | None:
        """The ceiling had the runs counted that people left out (never rejected ones); None where nobody did."""
        if not any(point.people_left_out for point in self.points):
            return None
        rungs = [point.as_rung_with_left_out(self._last_of_blocks) for point in self.points]
        return ceiling([rung for rung in rungs if rung] + self._rejected_targets, self.unthrottled_ops_s)

    @property
    def change_by_people(self) -> float | None:
        """The change of the highest throughput by the runs that people left out, as a share."""
        whole = self.ceiling_with_left_out
        if whole is None or self.ceiling is None:
            return None
        return self.ceiling.highest_ops_s / whole.highest_ops_s - 1

    @cached_property
    def ceiling_points(self) -> tuple[Point, ...]:
        """The counted points that the ceiling is made of."""
        ceiling = self.ceiling
        if ceiling is None:
            return ()
        if ceiling.bracket:
            if self.ceiling_rung:
                return (self.ceiling_rung,)
            return ()
        return tuple(point for point in self.counted if point.threads in ceiling.plateau)

    @property
    def is_accepted(self) -> bool:
        """Whether its ceiling has points that a person counts although the checks reject them."""
        return any(point.overridden for point in self.ceiling_points)

    @property
    def accepted_because(self) -> str:
        """The reasons, each once, why a person counts points that the checks reject; empty without such points."""
        return "; ".join(dict.fromkeys(chain.from_iterable(point.overridden for point in self.counted)))

    @property
    def is_unsustained(self) -> bool:
        """Whether it has no ceiling because every rate of its open load dropped too much."""
        return self.ceiling is None and any(point.offered_ops_s is not None for point in self.counted)

    @property
    def goodput_ops_s(self) -> float:
        """The most that a counted point did; 0 without any."""
        return max((point.throughput_ops_s.geomean for point in self.counted), default=0.0)

    @property
    def ceiling_ops_s(self) -> float:
        """0 where there is no ceiling."""
        if not self.ceiling:
            return 0.0
        return self.ceiling.throughput_ops_s

    @property
    def is_lower_bound(self) -> bool:
        """Whether it has a ceiling that may be higher."""
        return self.ceiling is not None and self.ceiling.is_lower_bound

    @property
    def is_unbounded(self) -> bool:
        """Whether its ceiling may lie anywhere above its value."""
        return self.ceiling is not None and math.isinf(self.ceiling.headroom)

    @cached_property
    def ceiling_rung(self) -> Point | None:
        """The point that reached the highest throughput of those that the ceiling is made of, without copies."""
        highest = self.ceiling and (self.ceiling.threads, self.ceiling.highest_ops_s)
        rungs = zip(self.without_copies, self.counted_rungs, strict=True)
        return next((point for point, rung in rungs if (rung.threads, rung.throughput_ops_s) == highest), None)

    @property
    def within_ceiling(self) -> tuple[Point, ...]:
        """The counted points that the ceiling covers: of targets, the sustained ones up to it; of threads, all."""
        if self.is_unsustained:
            return ()
        return tuple(point for point in self.counted if within_ceiling(point.as_rung(), self.ceiling))

    @cached_property
    def knee(self) -> Knee | None:
        return power_knee(self.counted_rungs, stated=self.ceiling)

    @property
    def knee_point(self) -> Point | None:
        """The counted point of a knee that is reached; by its load, as rungs count less throughput than points."""
        if self.knee is None or not self.knee.reached:
            return None
        load = (self.knee.threads, self.knee.target_ops_s)
        return next((point for point in self.counted if (point.threads, point.target_ops_s) == load), None)

    @property
    def publishable(self) -> bool:
        return self.purpose in PUBLISHABLE

    def same_plan(self, other: "Curve") -> bool:
        return self.matrix_id is not None and self.matrix_id == other.matrix_id

    def same_session(self, other: "Curve") -> bool:
        """Whether one plan or one CI job measured both: then no variation between sessions lies between them."""
        return self.same_plan(other) or self.session == other.session != ""

    def first_repeats(self, n: int) -> "Curve":
        """With the first `n` repeats of each rung that count; itself where there are no others."""
        if all(point.throughput_ops_s.n <= n for point in self.points):
            return self
        return replace(self, points=tuple(point.first_repeats(n) for point in self.points))

    @property
    def last_repeat(self) -> int:
        """The number of the last repeat that the plan knows: copies of single runs have higher ones."""
        if self.looks:
            return self.looks[-1]
        return self.repeats

    def interleaved_with(self, other: "Curve") -> bool:
        """Whether one plan interleaves the repeats of both: each repeat is then a block, with one run of each rung.

        Plans stay within a data set.
        """
        same = (self.ladder, self.setup.dataset_fingerprint) == (other.ladder, other.setup.dataset_fingerprint)
        return self.same_plan(other) and same and self.has_blocks

    def has_other_repeats_than(self, other: "Curve") -> bool:
        """Whether a repeat of one ceiling is missing at the other: their ratio, of common repeats, is no quotient."""
        if not self.ceiling or not other.ceiling or not self.interleaved_with(other):
            return False
        return self.ceiling.by_repeat.keys() != other.ceiling.by_repeat.keys()


def find_newest_look(curves: Sequence[Curve]) -> Look | None:
    """The newest look that the rungs near the top of all have reached; None where no plan with looks made them all."""
    first = curves[0]
    if not first.looks or not all(first.same_plan(curve) for curve in curves):
        return None
    counts: list[int] = []
    for curve in curves:
        if curve.ceiling:
            least_ops_s = ALIKE * curve.ceiling.highest_ops_s
            throughputs = [point.throughput_ops_s for point in curve.without_copies]
            counts += [throughput.n for throughput in throughputs if throughput.geomean >= least_ops_s]
    return Look(first.looks, min(counts, default=0))


def detect_kind(curves: Sequence[Curve]) -> Kind:
    """The latency that is shown where nobody chooses: response time where all are ladders of targets that have it."""
    if curves and all(curve.latency_kind == "response" for curve in curves):
        return "response"
    return "service"


def collect_points(curves: Iterable[Curve]) -> list[Point]:
    return list(chain.from_iterable(curve.points for curve in curves))


def collect_counted_points(curves: Iterable[Curve]) -> list[Point]:
    """The points that count, of all curves."""
    return [point for point in collect_points(curves) if point.counts]


def collect_measured(points: Iterable[Point]) -> list[Operation]:
    """The operations of all points."""
    return list(chain.from_iterable(point.operations for point in points))


def collect_operations(curves: Sequence[Curve]) -> list[str]:
    """The operations that any point measured: reads first, then by name."""
    names = {row.operation for row in collect_measured(collect_points(curves))}
    order = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE", COMPOSITE)
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


COPIES_SAY: dict[object, str] = {1: "1 other copy", "quorum": "a quorum of copies", "all": "all copies"}
ACK_SAYS = {"none": "nothing", "memory": "memory", "os_buffer": "operating system", "disk": "disk"}


def describe_durability(record: Mapping[str, object]) -> str:
    """A durability record in a few words: what was done, and what a power failure may still take."""
    if not record:
        return ""
    copies = record.get("replicas_acked", 0)
    others = ""
    if copies:
        others = f" and {COPIES_SAY.get(copies) or f'{copies} other copies'}"
    window = record.get("loss_window_s")
    if window is None:
        loss = "may lose any"
    else:
        loss = "loses none"
        if isinstance(window, int | float) and window:
            loss = f"may lose {exact(window)} s"
        if isinstance(worst := record.get("worst_loss_window_s"), int | float):
            loss += f", at worst {exact(worst)} s"
    return f"{ACK_SAYS.get(str(record.get('ack')), 'unknown')}{others}, {loss}"


def durability_key(record: Mapping[str, object]) -> tuple[float, ...]:
    """Sorts durability records, the strongest promise first; equal keys promise the same for writes.

    Of an empty record nobody knows what it promises: it sorts behind all others, and is no other's equal.
    """
    ack = record.get("ack")
    window = record.get("loss_window_s", None)
    copies = record.get("replicas_acked", 0)
    copies_rank = copies if isinstance(copies, int | float) else {"quorum": 50.0, "all": 100.0}.get(str(copies), 0.0)
    return (
        -float(copies_rank),
        -float(_rank(record.get("replica_ack"))),
        -float(_rank(ack)),
        float(window) if isinstance(window, int | float) else float("inf"),
    )


def _rank(ack: object) -> int:
    if ack not in ACKS:
        return -1
    return ACKS.index(ack)


def in_order(curves: Sequence[Curve]) -> list[Curve]:
    """By database, and within it from the weakest promise to the strongest: the price of durability reads downwards."""
    return sorted(
        curves,
        key=lambda curve: (
            curve.database_name.casefold(),
            tuple(-part for part in durability_key(curve.durability)),
            curve.mode,
            curve.workload,
            curve.name,
        ),
    )
