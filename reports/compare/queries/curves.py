"""Sweeps and their runs as curves, stored once their runs have ended: at most ten queries, however many they are."""

import datetime as dt
import hashlib
import json
import logging
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final, cast

from django.contrib.postgres.expressions import ArraySubquery
from django.db import DatabaseError
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    ExpressionWrapper,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)  # fmt: skip
from django.utils import timezone

from benchsite.core.formatting import exact, latency
from reports.compare.analysis.ceiling import Ceiling
from reports.compare.analysis.knee import Knee
from reports.compare.analysis.points import Spread, spread
from reports.compare.curves import STATISTICS, Curve, LeftOut, MachineFacts, Operation, Point, Progress, Setup, Standing
from reports.compare.packing import pack, unpack
from reports.compare.queries.computed_cache import build_key, stored_values
from reports.models import StoredCurve
from runs.checks import CLIENT_LIMITS
from runs.checks.facts import fact, parse_number
from runs.checks.spec_facts import cluster_facts, describe_groups
from runs.models import ClientRun, Finding, Matrix, Measurement, MeasurementSet, Run, Status, Sweep
from runs.queue.reasons import Reason
from runs.queue.reruns import find_replaced_rows
from runs.queue.spec import MachineSpec, OpenLoadSpec, RunSpec, SloSpec, max_warmup_s
from runs.results.measures.repeatability import compute_geomean
from runs.ycsb.numbers import add_known_parts

logger = logging.getLogger(__name__)
# Curves of results that are newer are stored without a reader, of at most so many results at once.
RECENT: Final = dt.timedelta(minutes=10)
MAX_RECENT: Final = 200
MAX_UNPACKED: Final = 100  # of 0.2 MB with twenty rungs
MODE_VERIFIED = ExpressionWrapper(Q(evidence__has_keys=["before", "after"]), output_field=BooleanField())
# A finding's weight; "not assessed" is never a pass, but says nothing against the numbers either.
SEVERITY = Case(When(severity="reject", then=Value(3)), When(severity="warn", then=Value(2)), default=Value(1))
RUN_FIELDS = (
    "id",
    "sweep_id",
    "threads",
    "target_ops_s",
    "repeat",
    "session",
    "commit",
    "branch",
    "status",
    "verdict",
    "excluded_reason",
    "verdict_override",
    "stand_in",
    "rerun_of_id",
)
# Statistic in URLs and figures -> column of Measurement, in µs.
COLUMNS = {name: f"{name}_us" for name in STATISTICS}
CachedCurve = tuple[Curve, Ceiling | None, Knee | None]  # with what is computed from its points


@dataclass(frozen=True, slots=True)
class Repeat:
    """One measured run of a rung."""

    run: Mapping[str, Any]
    cut: Mapping[str, Any]  # its current measurement set
    measurements: tuple[Mapping[str, Any], ...]
    worst_finding: str
    rejected_by: tuple[str, ...]  # every check that rejected it
    client_limited: bool  # V02 or V03 say that the clients were at their limit
    generator_cpu: float | None = None  # the share of its cores that the busiest load generator's clients used

    @property
    def standing(self) -> Standing:
        if self.run["stand_in"]:
            return Standing.STAND_IN
        if self.run["excluded_reason"]:
            return Standing.EXCLUDED
        return Standing.REJECTED if self.rejected else Standing.COUNTED

    @property
    def rejected(self) -> bool:
        return self.run["verdict"] == "reject" and not self.overridden and not self.run["stand_in"]

    @property
    def overridden(self) -> str:
        """The written reason for which it counts although it was rejected; empty where that is not so."""
        reason: str = self.run["verdict_override"]
        if self.run["verdict"] != "reject":
            return ""
        return reason

    @property
    def counts(self) -> bool:
        return self.standing is Standing.COUNTED


def curves(sweeps: QuerySet[Sweep] | Sequence[Sweep], runs: Collection[uuid.UUID] = ()) -> list[Curve]:
    """The curves of these sweeps, in their order. One query for those that are stored, at most ten otherwise.

    With `runs`, these are the only points; such curves are computed each time.
    """
    if runs:
        return _made(list(sweeps), runs)
    return _stored(sweeps, "curve")


def outlines(sweeps: QuerySet[Sweep] | Sequence[Sweep]) -> list[Curve]:
    """The curves for lists: points have throughputs and no latencies; ceiling, knee and progress are known."""
    return _stored(sweeps, "outline")


def _stored(sweeps: QuerySet[Sweep] | Sequence[Sweep], column: str) -> list[Curve]:
    """The values stored under the digests of sweeps' rows; others are computed, and stored once their runs ended."""
    listed = list(sweeps)
    teams = {sweep.pk: sweep.team_id for sweep in listed}
    keys: dict[uuid.UUID, str] = {}
    by_sweep: dict[uuid.UUID, Curve] = {}
    for pk, digest, key, data in stored_values(teams, column):
        keys[pk] = build_key(teams[pk], "curve", pk, digest)
        if data is not None and key == keys[pk]:
            try:
                by_sweep[pk] = _unpacked(bytes(data))
            except ValueError as error:
                logger.warning("The stored curve of sweep %s cannot be read and is computed again (%s).", pk, error)

    fresh = _made([sweep for sweep in listed if sweep.pk not in by_sweep])
    # While runs are going every second makes another version of their rows.
    _store({keys[curve.sweep_id]: curve for curve in fresh if curve.sweep_id in keys and not curve.progress.going})
    by_sweep |= {curve.sweep_id: _outline(curve) if column == "outline" else curve for curve in fresh}
    return [by_sweep[sweep.pk] for sweep in listed]


@lru_cache(MAX_UNPACKED)
def _unpacked(data: bytes) -> Curve:
    """Kept, since a page and its figures ask for the same curves, and so does each change of a menu."""
    return _with_results(*unpack(data, CachedCurve))


def _store(fresh: Mapping[str, Curve]) -> None:
    """Each curve under its key, in place of an earlier one of its sweep. One query; none for no curve."""
    rows = [
        StoredCurve(
            sweep_id=curve.sweep_id,
            key=key,
            curve=pack((curve, curve.ceiling, curve.knee)),
            outline=pack((_outline(curve), curve.ceiling, curve.knee)),
        )
        for key, curve in sorted(fresh.items(), key=lambda item: item[1].sweep_id)  # two pages lock in one order
    ]
    try:
        StoredCurve.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["sweep"], update_fields=["key", "curve", "outline"]
        )
    except DatabaseError as error:
        logger.warning("Curves were computed and not stored (%s).", error)


def store_recent() -> int:
    """Store the curves of the newest results whose runs have ended, before anybody opens them; it writes no notice (0).

    Two queries where they are stored. The newest results are read by their keys: no search on a large site.
    """
    newest = MeasurementSet.objects.order_by("-pk").values_list("run__sweep", "created_at")[:MAX_RECENT]
    since = timezone.now() - RECENT
    sweeps = {sweep for sweep, created_at in newest if sweep and created_at > since}
    going = Run.objects.filter(sweep=OuterRef("pk")).exclude(status__in=Status.terminal())
    outlines(Sweep.objects.filter(~Exists(going), pk__in=sweeps))
    return 0


def _outline(curve: Curve) -> Curve:
    outline = replace(curve, points=tuple(replace(point, operations=(), left_out=()) for point in curve.points))
    return _with_results(outline, curve.ceiling, curve.knee)


def _with_results(curve: Curve, ceiling: Ceiling | None, knee: Knee | None) -> Curve:
    """The curve with a ceiling and a knee that were computed before."""
    curve.__dict__.update(ceiling=ceiling, knee=knee)
    return curve


def _made(sweeps: Sequence[Sweep], only: Collection[uuid.UUID] = ()) -> list[Curve]:
    """Eight queries; none for no sweep."""
    if not sweeps:
        return []

    ids = [sweep.pk for sweep in sweeps]
    rows = Sweep.objects.select_related("matrix", "workload", "database").in_bulk(ids)
    specs = _one_spec_each(ids)
    runs = list(
        Run.objects.filter(Q(pk__in=only) if only else Q(), sweep__in=ids, is_bracket=False)
        .exclude(reason=Reason.BEYOND_CEILING)
        .annotate(mode_verified=MODE_VERIFIED)
        .values(*RUN_FIELDS, "mode_verified")
    )
    by_sweep: dict[uuid.UUID, list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        by_sweep[run["sweep_id"]].append(run)

    repeats = _repeats([run for run in runs if run["status"] == Status.SUCCEEDED], specs)
    return [_curve(rows.get(sweep.pk, sweep), specs.get(sweep.pk), by_sweep[sweep.pk], repeats) for sweep in sweeps]


def _one_spec_each(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, RunSpec]:
    """The spec of each sweep's first run; the runs of a sweep differ in their rung only."""
    keys = Run.objects.filter(sweep__in=ids).order_by("sweep_id", "position", "id").distinct("sweep_id").values("pk")
    first = Run.objects.filter(pk__in=keys)
    return {sweep_id: cast(RunSpec, spec) for sweep_id, spec in first.values_list("sweep_id", "spec") if sweep_id}


def _repeats(runs: Sequence[Mapping[str, Any]], specs: Mapping[uuid.UUID, RunSpec]) -> dict[uuid.UUID, Repeat]:
    """Run id -> what its current measurement set says; a run whose throughput nothing tells makes no point."""
    current = MeasurementSet.objects.filter(
        run__in=[run["id"] for run in runs], is_current=True, throughput_ops_s__isnull=False
    )
    cuts = {
        cut["run_id"]: cut
        for cut in current.values(
            "id", "run_id", "warmup_s", "window_s", "clients_merged", "clients_expected", "throughput_ops_s", "arrivals"
        )
    }
    set_ids = [cut["id"] for cut in cuts.values()]
    measurements: dict[uuid.UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for row in Measurement.objects.filter(measurement_set__in=set_ids).values(
        "measurement_set_id", "operation", "latency_kind", "ok", "failed", "bounds", *COLUMNS.values()
    ):
        measurements[row["measurement_set_id"]].append(row)

    worst = _worst_findings(set_ids)
    busiest = _generator_cpu({run["id"]: specs.get(run["sweep_id"]) for run in runs if run["id"] in cuts})
    return {
        run["id"]: Repeat(
            run, cut, tuple(measurements[cut["id"]]), *worst.get(cut["id"], ("", (), False)), busiest.get(run["id"])
        )
        for run in runs
        if (cut := cuts.get(run["id"]))
    }


def _worst_findings(set_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, tuple[str, tuple[str, ...], bool]]:
    """Measurement set -> "V05 warn: the window is short", of its worst check; all that reject; whether the clients were
    at their limit.
    """
    every = Finding.objects.filter(measurement_set=OuterRef("measurement_set"), severity__in=["warn", "reject"])
    rejected = every.filter(severity="reject").order_by("check_id")
    # Only where the worst one rejects others may too.
    rejecting = Case(When(severity="reject", then=ArraySubquery(rejected.values("check_id"))), default=Value(None))
    rows = (
        Finding.objects.filter(measurement_set__in=set_ids, severity__in=["warn", "reject"])
        .annotate(weight=SEVERITY, rejecting=rejecting, limits=Exists(every.filter(check_id__in=CLIENT_LIMITS)))
        .order_by("measurement_set_id", "-weight", "check_id")
        .distinct("measurement_set_id")
        .values_list("measurement_set_id", "check_id", "severity", "message", "rejecting", "limits")
    )

    return {
        set_id: (f"{check_id} {severity}: {message}", tuple(rejecting or ()), limits)
        for set_id, check_id, severity, message, rejecting, limits in rows
    }


def _generator_cpu(specs: Mapping[uuid.UUID, RunSpec | None]) -> dict[uuid.UUID, float]:
    """Run -> the share of its cores that the busiest load generator's clients used; clients on one machine are added.

    As V03 counts it. Runs of which one client's CPU time or cores are not known are left out.
    """
    shares: dict[uuid.UUID, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    unknown = set()
    rows = ClientRun.objects.filter(run__in=list(specs)).order_by()
    # Orders are large, and only those of machines that are shared with servers name CPUs.
    is_shared = any(spec and spec["cluster"].get("separates_cpus") for spec in specs.values())
    fields = ("run_id", "load_generator_id", "cpu_percent", "order__cpus" if is_shared else Value(None, JSONField()))
    for run_id, generator_id, cpu_percent, cpus in rows.values_list(*fields):
        spec = specs[run_id]
        machine = None
        if spec:
            machine = next((g["machine"] for g in spec["generators"] if g["id"] == str(generator_id)), None)
        cores = len(cpus or ()) or (_cores(machine["facts"]) if machine else None)
        if machine is None or not cores or cpu_percent is None:
            unknown.add(run_id)
        else:
            shares[run_id][machine["id"]] += cpu_percent / (100 * cores)

    return {run_id: max(by_machine.values()) for run_id, by_machine in shares.items() if run_id not in unknown}


def _curve(
    sweep: Sweep, spec: RunSpec | None, runs: Sequence[Mapping[str, Any]], repeats: Mapping[uuid.UUID, Repeat]
) -> Curve:
    # The probe of a search over targets is no rung of theirs.
    is_search = sweep.ladder == "target" and sweep.matrix is not None and sweep.matrix.search is not None
    probes = [repeats.get(run["id"]) for run in runs if is_search and run["target_ops_s"] is None]
    runs = [run for run in runs if not is_search or run["target_ops_s"] is not None]
    # An upload whose threads nobody knows has a place on a ladder of targets alone.
    are_targets = sweep.ladder == "target" and all(run["target_ops_s"] for run in runs)
    placed = [run for run in runs if run["threads"] or are_targets]
    rungs: dict[tuple[int, int], list[Repeat]] = defaultdict(list)
    for run in sorted(placed, key=lambda row: row["repeat"]):
        if repeat := repeats.get(run["id"]):
            rungs[(run["target_ops_s"] or 0, run["threads"])].append(repeat)

    replaced = find_replaced_rows([(run["id"], run["status"], run["rerun_of_id"]) for run in runs])
    left = Counter(run["status"] for run in runs if run["id"] not in replaced or run["status"] == Status.SUCCEEDED)
    common: dict[str, Any] = {}
    for name in ("session", "commit", "branch"):
        values = {run[name] for run in runs}
        common[name] = values.pop() if len(values) == 1 else ""

    return Curve(
        sweep_id=sweep.pk,
        name=sweep.name,
        system=sweep.system,
        mode=sweep.mode,
        purpose=sweep.purpose,
        points=tuple(_point(rungs[key]) for key in sorted(rungs)),
        ladder=sweep.ladder,
        rungs=tuple(sorted({run["target_ops_s"] or run["threads"] for run in placed})),
        phase=sweep.phase,
        durability_class=sweep.durability_class,
        uploaded=sweep.matrix is None,
        **common,
        unthrottled_ops_s=tuple(probe.cut["throughput_ops_s"] for probe in probes if probe and probe.counts),
        created_at=sweep.created_at,
        tags=tuple(sweep.tags),
        notes=sweep.notes,
        stand_ins=tuple(run["stand_in"] for run in runs if run["stand_in"]),
        progress=Progress(left.total(), left[Status.SUCCEEDED], left[Status.FAILED], left[Status.CANCELLED]),
        **_describe_spec(sweep, spec),
        **_describe_plan(sweep.matrix),
    )


def _describe_spec(sweep: Sweep, spec: RunSpec | None) -> dict[str, Any]:
    """What the runs were asked to do; of a sweep without runs, what its rows state."""
    if spec is None:
        return {
            "database_name": str(sweep.database or sweep.system),
            "system_name": sweep.system,
            "mode_name": sweep.mode,
            "durability": {},
            "workload": str(sweep.workload or ""),
        }

    stated: Mapping[str, object] = spec.get("stated") or spec.get("build") or {}
    return {
        "database_name": spec["database"]["name"],
        "system_name": spec["system_name"],
        "mode_name": spec["mode"]["name"],
        "durability": spec["mode"]["record"],
        "workload": spec["workload"]["name"],
        "build": str(stated.get("ci_url", "")),
        "setup": build_setup(spec),
    }


def _describe_plan(matrix: Matrix | None) -> dict[str, Any]:
    if matrix is None:
        return {}
    return {
        "matrix_id": matrix.pk,
        "matrix_name": matrix.name,
        "order": matrix.order,
        "repeats": matrix.repeats if matrix.search is None else 0,
        "search_limit": _limit((matrix.search or {}).get("slo")),
        "looks": tuple(matrix.looks),
    }


def _limit(slo: SloSpec | None) -> str:
    """ "READ p99 at most 5 ms"; empty without a limit."""
    if not slo:
        return ""
    return f"{slo['operation']} {STATISTICS[slo['statistic']]} at most {latency(slo['limit_us'])}"


def _point(repeats: Sequence[Repeat]) -> Point:
    """The point of a rung: of the repeats that count; where none does, of those that are nearest to it, and marked."""
    present = {repeat.standing for repeat in repeats}
    standing = next(standing for standing in Standing if standing in present)
    used = [repeat for repeat in repeats if repeat.standing is standing]
    busy = [repeat.generator_cpu for repeat in used if repeat.generator_cpu is not None]
    worst = sorted((repeat for repeat in used if repeat.worst_finding), key=lambda repeat: not repeat.rejected_by)
    worst_finding = ""
    if worst:
        worst_finding = worst[0].worst_finding
    generator_cpu = None
    if len(busy) == len(used):
        generator_cpu = max(busy)

    return Point(
        threads=used[0].run["threads"],
        target_ops_s=used[0].run["target_ops_s"],
        throughput_ops_s=spread([repeat.cut["throughput_ops_s"] for repeat in used]) or Spread(0.0, 0.0, 0.0, 0),
        operations=_operations(used),
        standing=standing,
        verdict=max((repeat.run["verdict"] for repeat in used), key=("", "pass", "warn", "reject").index),
        clients_merged=min(repeat.cut["clients_merged"] for repeat in used),
        clients_expected=max(repeat.cut["clients_expected"] for repeat in used),
        window_s=float(min(repeat.cut["window_s"] for repeat in used)),
        warmup_s=float(max(repeat.cut["warmup_s"] for repeat in used)),
        mode_verified=all(repeat.run["mode_verified"] for repeat in used),
        run_ids=tuple(repeat.run["id"] for repeat in used),
        excluded=tuple(repeat.run["excluded_reason"] for repeat in repeats if repeat.standing is Standing.EXCLUDED),
        rejected=sum(repeat.rejected for repeat in repeats),
        overridden=tuple(repeat.overridden for repeat in repeats if repeat.counts and repeat.overridden),
        worst_finding=worst_finding,
        rejected_by=tuple(sorted(set(chain.from_iterable(repeat.rejected_by for repeat in used)))),
        left_out=tuple(_left_out(repeat) for repeat in repeats if repeat not in used),
        generator_cpu=generator_cpu,
        repeats=tuple(repeat.run["repeat"] for repeat in used),
        client_limited=all(repeat.client_limited for repeat in used),
        **_offered([repeat.cut["arrivals"] for repeat in used]),
    )


def _describe_arrivals(open_load: OpenLoadSpec | None) -> str:
    """A code that is equal for loads that can be compared: "poisson 1 ms", "constant never", "poisson 1 ms 3f2a"."""
    if open_load is None:
        return ""
    patience = "never"
    if open_load["patience_ms"] is not None:
        patience = f"{exact(open_load['patience_ms'])} ms"
    profile = ""
    if open_load["profile"]:
        profile = hashlib.sha256(json.dumps(open_load["profile"]).encode()).hexdigest()[:8]
    return f"{open_load['arrivals']} {patience} {profile}".strip()


def _offered(arrivals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The offered rate and the dropped share over the repeats of an open load."""
    counted = [part for part in arrivals if part]
    offered = sum(part["offered"] for part in counted)
    if not offered:
        return {}
    return {
        "offered_ops_s": compute_geomean([part["offered_ops_s"] for part in counted]),
        "dropped_share": sum(part["dropped"] for part in counted) / offered,
        "offered_p99_us": _offered_p99_us([part.get("operations", {}) for part in counted]),
    }


def _offered_p99_us(repeats: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """By operation, its geometric mean; only where every repeat has one."""
    means = {}
    for operation in repeats[0]:
        counts = [repeat.get(operation, {}) for repeat in repeats]
        values = [count.get("offered_percentiles_us", {}).get("99") for count in counts]
        if all(values):
            means[operation] = compute_geomean(values)
    return means


def _left_out(repeat: Repeat) -> LeftOut:
    return LeftOut(
        run_id=repeat.run["id"],
        standing=repeat.standing,
        reason=repeat.run["excluded_reason"] or repeat.worst_finding,
        throughput_ops_s=repeat.cut["throughput_ops_s"],
        operations=_operations([repeat]),
        repeat=repeat.run["repeat"],
    )


def _operations(repeats: Sequence[Repeat]) -> tuple[Operation, ...]:
    rows: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for repeat in repeats:
        for row in repeat.measurements:
            rows[(row["operation"], row["latency_kind"])].append(row)

    return tuple(
        Operation(
            operation=operation,
            kind=kind,
            ok=add_known_parts(row["ok"] for row in same),
            failed=add_known_parts(row["failed"] for row in same),
            latencies_us=_latencies(same),
            bounds_us=_bounds(same),
        )
        for (operation, kind), same in sorted(rows.items())
    )


def _bounds(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float | None]]:
    """The widest of the repeats' bounds; only summaries that were uploaded have any."""
    if not any(row["bounds"] for row in rows):
        return {}
    bounds = {}
    for name, key in STATISTICS.items():  # `Measurement.bounds` has the labels as keys
        if some := [row["bounds"][key] for row in rows if key in row["bounds"]]:
            highs = [high for _, high in some if high is not None]
            bounds[name] = (min(low for low, _ in some), max(highs) if len(highs) == len(some) else None)
    return bounds


def _latencies(rows: Sequence[Mapping[str, Any]]) -> dict[str, Spread]:
    latencies = {}
    for name, column in COLUMNS.items():
        values = spread([row[column] for row in rows if row[column] is not None])
        if values:
            latencies[name] = values
    return latencies


def build_setup(spec: RunSpec) -> Setup:
    database, window, client = spec["database"], spec["window"], spec["client"]
    client_on_database_host = None
    if "stated" in spec:
        client_on_database_host = spec["stated"]["client_on_database_host"]

    return Setup(
        version=database["version"],
        replication_factor=database["replication_factor"],
        records=spec["dataset"]["records"],
        record_bytes=spec["dataset"]["record_bytes"],
        dataset_fingerprint=spec["dataset"]["fingerprint"],
        workload_properties=spec["workload"]["properties"],
        server_settings=database["settings"],
        binding_properties=database["binding_properties"],
        mode_settings={**spec["mode"]["server_settings"], **spec["mode"]["client_properties"]},
        client_flavour=client["flavour"],
        client_version=client["ycsb_version"],
        client_digest=client["digest"],
        warmup_s=max_warmup_s(window),
        settle_s=window.get("settle_s", 0),
        measure_s=window["min_measure_s"],
        processes=spec["load"]["processes"],
        arrivals=_describe_arrivals(spec["load"].get("open")),
        groups=describe_groups(spec),
        cluster_name=spec["cluster"]["name"],
        cluster_machines=_machines(spec["cluster"]["machines"]),
        nodes=cluster_facts(spec).nodes,
        price_per_hour=_price_per_hour(spec["cluster"]["machines"]),
        generators=tuple(generator["name"] for generator in spec["generators"]),
        generator_machines=_machines([generator["machine"] for generator in spec["generators"]]),
        separates_cpus=spec["cluster"].get("separates_cpus", False),
        client_on_database_host=client_on_database_host,
    )


def _machines(machines: Iterable[MachineSpec]) -> tuple[MachineFacts, ...]:
    """Each machine once, by its id."""
    return tuple(
        {
            machine["id"]: MachineFacts(machine["id"], machine["name"], _cores(machine["facts"]))
            for machine in machines
        }.values()
    )


def _price_per_hour(machines: Sequence[MachineSpec]) -> float | None:
    """The sum over all nodes; None where one of them has no price, for half a price is a wrong one."""
    prices = [parse_number(fact(machine["facts"], "price_per_hour")) for machine in machines]
    stated = [price for price in prices if price is not None]
    if machines and len(stated) == len(machines):
        return sum(stated)
    return None


def _cores(facts: Mapping[str, object]) -> int | None:
    cores = fact(facts, "cores")
    return cores if isinstance(cores, int) else None


def run_point(run: Run) -> Point | None:
    """One run as a point of its own, whatever its standing; None while nothing was measured. Five queries."""
    return run_points([run]).get(run.pk)


def run_points(runs: Sequence[Run]) -> dict[uuid.UUID, Point]:
    """Each of the runs as a point of its own, whatever its standing, by its id; none of those against stand-ins. Five
    queries, however many they are.
    """
    specs = {run.sweep_id: cast(RunSpec, run.spec) for run in runs if run.sweep_id}
    rows = Run.objects.filter(pk__in=[run.pk for run in runs], stand_in="").annotate(mode_verified=MODE_VERIFIED)
    repeats = _repeats(list(rows.values(*RUN_FIELDS, "mode_verified")), specs)
    return {run_id: _point([repeat]) for run_id, repeat in repeats.items()}


def run_curve(run: Run, point: Point | None) -> Curve:
    """The curve of a run's sweep with the run's own rung alone; a run of no sweep is one by itself. No query."""
    spec = cast(RunSpec, run.spec)
    ladder = "target" if run.target_ops_s else "threads"
    alone = Sweep(
        team_id=run.team_id, name=run.name, system=run.system, mode=run.mode, purpose=spec["purpose"],
        phase=run.phase, ladder=ladder,
    )  # fmt: skip
    return replace(
        _curve(run.sweep or alone, spec, (), {}),
        points=(point,) if point else (),
        rungs=(run.load,),
    )
