"""What the page and the figure of a history show: runs of one test as points in time. No query.

Throughput is in operations per second, latencies in microseconds.
"""

import datetime as dt
import re
import uuid
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from math import isfinite
from typing import Final

from benchsite.core import formatting
from reports.compare.curves import STATISTICS, Standing
from reports.models import ChangePoint, HistoryNote
from reports.trends.analysis.changes import (
    LATENCY,
    MIN_HISTORY,
    TAIL_LATENCY,
    THROUGHPUT,
    Change,
    Course,
    Rule,
    detect_changes,
)
from reports.trends.analysis.sessions import compute_mean
from reports.trends.messages import NEWEST_OUTSIDE, TOO_FEW_POINTS, TOO_FEW_SINCE

HISTORY_STATISTICS: Final = ("mean", "p50", "p95", "p99", "p999")
TAILS: Final = frozenset({"p99", "p999"})
METRIC = re.compile(r"(?P<operation>[^\x00-\x20]{1,60}) (?P<kind>service|response) (?P<statistic>[a-z0-9]{3,5})")
SHORT_COMMIT: Final = 10  # characters
State = ChangePoint.State


@dataclass(frozen=True, slots=True)
class Metric:
    """What is followed: the throughput, or one statistic of one operation's latency."""

    operation: str = ""  # empty: throughput
    kind: str = ""
    statistic: str = ""

    def __str__(self) -> str:
        """As the address and `ChangePoint.metric` write it."""
        return f"{self.operation} {self.kind} {self.statistic}" if self.operation else "throughput"

    @property
    def label(self) -> str:
        """For people: "READ p99, response time"."""
        if not self.operation:
            return "throughput"
        return f"{self.operation} {STATISTICS[self.statistic]}, {self.kind} time"

    @property
    def unit(self) -> str:
        return "µs" if self.operation else "ops/s"

    @property
    def rule(self) -> Rule:
        if not self.operation:
            return THROUGHPUT
        return TAIL_LATENCY if self.statistic in TAILS else LATENCY

    def text(self, value: float | None) -> str:
        return formatting.latency(value) if self.operation else formatting.throughput(value)


THROUGHPUT_METRIC: Final = Metric()


def metric_named(text: str) -> Metric | None:
    """The metric that an address means; None where it means none."""
    if text == str(THROUGHPUT_METRIC):
        return THROUGHPUT_METRIC
    match = METRIC.fullmatch(text)
    if match and match["statistic"] in HISTORY_STATISTICS:
        return Metric(**match.groupdict())
    return None


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of the test."""

    run_id: uuid.UUID
    at: dt.datetime  # when its code was committed, else when it finished
    commit: str
    branch: str
    matrix_id: uuid.UUID | None
    value: float | None  # None: this run did not measure the metric
    standing: Standing = Standing.COUNTED
    reason: str = ""  # why it does not count, or why it does although a check rejects it
    session: str = ""  # `reports.trends.queries.noise.session_key`

    @property
    def usable(self) -> bool:
        return self.standing is Standing.COUNTED and self.value is not None and isfinite(self.value)


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The runs of one commit; where none is known, of one matrix; else of one day (UTC)."""

    label: str
    at: dt.datetime  # of its first run
    commit: str
    branch: str
    value: float | None  # of the runs that count, as verdicts have it (`compute_mean`); None where none does
    low: float | None
    high: float | None
    n: int
    first: uuid.UUID  # the first run that counts, else the first
    newest: uuid.UUID
    runs: tuple[uuid.UUID, ...] = ()  # all of them
    left_out: tuple[Measured, ...] = ()
    unmeasured: int = 0  # runs that count and say nothing of the metric
    sessions: Mapping[uuid.UUID, str] = field(default_factory=dict)  # of several runs that count, by run
    accepted: tuple[str, ...] = ()  # why runs count that a check rejects, each reason once


def build_points(runs: Sequence[Measured]) -> tuple[HistoryPoint, ...]:
    """The runs, oldest first, as points in the order in which each was first measured."""
    groups: dict[object, list[Measured]] = {}
    for run in runs:
        groups.setdefault(run.commit or run.matrix_id or run.at.date(), []).append(run)
    return tuple(_build_point(group) for group in groups.values())


def _build_point(group: Sequence[Measured]) -> HistoryPoint:
    first = group[0]
    label = first.commit[:SHORT_COMMIT] or f"{first.at:%Y-%m-%d %H:%M}"
    if len(group) == 1 and first.usable and not first.reason:
        # Most of a long history, and five thousand of them are to be quick: keywords take twice as long.
        value, run_id = first.value, first.run_id
        return HistoryPoint(
            label, first.at, first.commit, first.branch, value, value, value, 1, run_id, run_id, (run_id,)
        )

    usable = [run for run in group if run.usable]
    values = [run.value for run in usable if run.value is not None]
    sessions: dict[str, list[float]] = {}
    for run, value in zip(usable, values, strict=True):
        sessions.setdefault(run.session, []).append(value)
    representative = usable or group
    return HistoryPoint(
        label=label,
        at=first.at,
        commit=first.commit,
        branch=first.branch,
        value=compute_mean(sessions.values()) if sessions else None,
        low=min(values, default=None),
        high=max(values, default=None),
        n=len(values),
        first=representative[0].run_id,
        newest=representative[-1].run_id,
        runs=tuple(run.run_id for run in group),
        left_out=tuple(run for run in group if run.standing is not Standing.COUNTED),
        unmeasured=sum(run.standing is Standing.COUNTED and not run.usable for run in group),
        sessions={run.run_id: run.session for run in usable},
        accepted=tuple(dict.fromkeys(run.reason for run in usable if run.reason)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChange(Change):
    """A change with the first point of the new level and what was decided about it."""

    point: HistoryPoint
    position: int  # among all points; `index` is among those that have a value
    triage: ChangePoint | None

    @property
    def state(self) -> str:
        return self.triage.state if self.triage else State.NEW


@dataclass(frozen=True)  # no slots, so that what is computed from the points is computed once
class History:
    """One metric of one test over time."""

    metric: Metric
    points: tuple[HistoryPoint, ...]
    course: Course = field(default_factory=Course)  # its indices are among `followed`
    triage: Mapping[int, ChangePoint] = field(default_factory=dict)  # by the index among `followed`
    environment: Sequence[tuple[int, list[str]]] = ()  # index of a point -> what else than the code changed there
    notes: Sequence[HistoryNote] = ()
    branches: Sequence[str] = ()  # of all runs of the test
    environments_missing: int = 0  # points of which it is not known yet on what they were measured

    @cached_property
    def followed(self) -> tuple[int, ...]:
        """The points that have a value, as indices among all: what the analysis saw."""
        return followed(self.points)

    @cached_property
    def changes(self) -> tuple[HistoryChange, ...]:
        return tuple(self._place_change(change) for change in self.course.changes)

    @cached_property
    def counting(self) -> tuple[HistoryChange, ...]:
        """The changes that count, the oldest first."""
        return tuple(change for change in self.changes if change.counts)

    @property
    def last_change(self) -> HistoryChange | None:
        return self.counting[-1] if self.counting else None

    def list_changes_within(self, since: dt.datetime, until: dt.datetime) -> list[HistoryChange]:
        """Those that count and lie between two points of the period: not one with which it begins."""
        return [
            entry
            for entry in self.counting
            if since <= self.points[self.followed[entry.index - 1]].at and entry.point.at < until
        ]

    @property
    def baseline(self) -> HistoryChange | None:
        """The newest change that a person confirmed or accepted; what follows is compared with nothing before it."""
        return next((change for change in reversed(self.changes) if change.confirmed), None)

    @property
    def too_short(self) -> str:
        """Why nothing is said of changes; empty where there are points enough."""
        if not self.course.too_short:
            return ""
        if self.baseline is None:
            return TOO_FEW_POINTS.format(min=MIN_HISTORY)
        points = len(self.followed) - self.baseline.index
        return TOO_FEW_SINCE.format(
            points=formatting.counted(points, "point"),
            label=self.baseline.point.label,
            state=self.baseline.state,
            min=MIN_HISTORY,
        )

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points if point.value is not None]

    @property
    def left_out(self) -> int:
        return sum(len(point.left_out) for point in self.points)

    @property
    def unmeasured(self) -> int:
        return sum(point.unmeasured for point in self.points)

    @property
    def newest(self) -> HistoryPoint | None:
        return self.points[self.followed[-1]] if self.followed else None

    def _place_change(self, change: Change) -> HistoryChange:
        position = self.followed[change.index]
        point, triage = self.points[position], self._find_triage(change)
        return HistoryChange(*astuple(change), point=point, position=position, triage=triage)

    def _find_triage(self, change: Change) -> ChangePoint | None:
        """What was decided at this very point; of a false alarm, near it."""
        if not change.dismissed:
            return self.triage.get(change.index)
        false_alarms = [index for index, triage in self.triage.items() if triage.state == State.FALSE]
        # A change that is dismissed lies near the alarm for which it is.
        nearest = min(false_alarms, key=lambda index: abs(index - change.index))
        return self.triage[nearest]


def build_history(
    metric: Metric,
    points: tuple[HistoryPoint, ...],
    triage: Sequence[ChangePoint] = (),
    environments: Sequence[Mapping[str, str] | None] = (),
    notes: Sequence[HistoryNote] = (),
    branches: Sequence[str] = (),
    analyse: Callable[..., Course] = detect_changes,
) -> History:
    """Everything that is said of one metric of one test. `environments` are those of the points' first runs.

    `analyse` is `detect_changes`, or what remembers its answers.
    """
    decisions = _index_triage(points, triage)
    course = analyse(
        [point.value for point in points if point.value is not None],
        metric.rule,
        confirmed=[
            index for index, decision in decisions.items() if decision.state in (State.CONFIRMED, State.ACCEPTED)
        ],
        dismissed=[index for index, decision in decisions.items() if decision.state == State.FALSE],
    )
    return History(
        metric,
        points,
        course,
        triage=decisions,
        environment=environment_changes(environments),
        environments_missing=environments.count(None),
        notes=notes,
        branches=branches,
    )


def _index_triage(points: Sequence[HistoryPoint], triage: Sequence[ChangePoint]) -> dict[int, ChangePoint]:
    """Triage by its index among the followed points: at the point of its run, else at the next one that has a value."""
    if not triage:
        return {}
    point_of_run: dict[uuid.UUID, int] = {}
    for index, point in enumerate(points):
        point_of_run |= dict.fromkeys(point.runs, index)
    with_value = followed(points)
    decisions = {}
    for decision in triage:
        index = bisect_left(with_value, point_of_run.get(decision.run_id, len(points)))
        if index < len(with_value):
            decisions[index] = decision
    return decisions


def environment_changes(environments: Sequence[Mapping[str, str] | None]) -> list[tuple[int, list[str]]]:
    """Where something is another one than at the point before: its index, and "kernel: 6.1 → 6.12".

    What nobody knows on either side is no change.
    """
    changes = []
    before: Mapping[str, str] = {}
    last: Mapping[str, str] | None = None
    for index, now in enumerate(environments):
        if now is None or now is last:
            continue
        last = now
        texts = [f"{name}: {before[name]} → {value}" for name, value in now.items() if before.get(name, value) != value]
        if texts:
            changes.append((index, texts))
        before = {**before, **now}

    return changes


def followed(points: Sequence[HistoryPoint]) -> tuple[int, ...]:
    return tuple(index for index, point in enumerate(points) if point.value is not None)


def step_sentence(history: History) -> str:
    """The advice for a newest point that stands out; empty where it does not."""
    step, newest = history.course.step, history.newest
    if step is None or newest is None:
        return ""
    side = "above" if step > 0 else "below"
    return NEWEST_OUTSIDE.format(label=newest.label, change=formatting.percent(abs(step)), side=side)
