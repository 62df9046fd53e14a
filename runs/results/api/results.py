"""What was measured in a run: its numbers, histograms, series, and what the validity checks found."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast
from uuid import UUID

import numpy as np
from django.db.models import Max
from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import Word, owned
from runs.api.routers import runs
from runs.checks.spec_facts import get_key_shares
from runs.models import MeasurementSet, Phase, Run, Series
from runs.queue import live
from runs.queue.spec import RunSpec
from runs.results.api.runs import team_runs
from runs.results.pages.recovery import applied_faults
from runs.results.recording.intervals import stored_intervals
from runs.results.recording.rows import copy_fields
from runs.ycsb.errors import YcsbError
from runs.ycsb.histogram import Histogram, highest_values, lowest_values
from runs.ycsb.merge import window_stored
from runs.ycsb.series import POINT, unpack
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.window import Cut

WHOLE: Final = Cut(phase="load")
# A window's length is kept with fewer digits than its ends; intervals are a second long.
ROUNDED_S: Final = 1e-4


def collect_operations(stored: Sequence[StoredIntervals]) -> list[tuple[str, str]]:
    """(operation, kind of latency) with histograms of successful operations."""
    parsed = [entry.timeline.parsed for entry in stored]
    return sorted({(name.operation, name.kind) for name in parsed if not name.status})


def merged_histogram(
    measurement_set: MeasurementSet, stored: Sequence[StoredIntervals], operation: str, kind: str
) -> Histogram | None:
    """All clients of one operation in the window of this cut; None where there is no such operation.

    Raises YcsbError where the intervals do not fit the cut any more.
    """
    entries = []
    for entry in stored:
        name = entry.timeline.parsed
        if (name.operation, name.kind, name.status) == (operation, kind, ""):
            entries.append(entry)

    if not entries:
        return None

    numbers = sorted({int(client["number"]) for client in measurement_set.clients})
    cut = WHOLE
    if measurement_set.run.phase != Phase.LOAD:
        cut = Cut(measurement_set.warmup_s, measurement_set.window_s + ROUNDED_S, measurement_set.tail_s)
    window = window_stored(stored, numbers, cut)

    return Histogram.merged(
        entry.histogram(span.number, window.inside(entry.kept)) for entry in entries for span in window.spans
    )


Kind = Literal["service", "response"]
COLUMNS = tuple(name for name in POINT.names or () if name != "second")
# Of a cut, as its columns are called.
NUMBERS: Final = (
    "operations", "failed", "throughput_ops_s", "basis", "throughput_sum_ops_s", "throughput_wall_ops_s", "groups",
)  # fmt: skip
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}


class CutQuery(Schema):
    """Which cut of the run."""

    cut: int | None = Field(None, ge=1, le=32767, description="Its number; left out: the current one.")


class CutAnswer(Schema):
    """One cut: the window that is measured, and how the clients were merged."""

    number: int
    is_current: bool
    note: str
    warmup_s: float
    tail_s: float
    window_from: datetime | None
    window_to: datetime | None
    window_s: float
    clients_merged: int
    clients_expected: int
    overlap: float | None = Field(description="The clients' common time as a share of the whole.")
    reader_version: int
    algorithm_version: int


class MeasurementAnswer(Schema):
    """One operation, all clients merged."""

    operation: str
    latency_kind: Kind = Field(description="`service`: from the call; `response`: from the scheduled start.")
    count: int | None
    ok: int | None
    failed: int | None
    mean_us: float | None
    min_us: float | None
    max_us: float | None
    p50_us: float | None
    p90_us: float | None
    p95_us: float | None
    p99_us: float | None
    p999_us: float | None
    p9999_us: float | None
    bounds: dict[str, list[float | None]] = Field(
        description="Percentiles only known to lie between two values, in µs; null: without bound."
    )
    upper_bounds: dict[str, int] = Field(
        description="Percentile -> µs that it exceeds with a probability of at most 1 %, within this run; absent: "
        "not known. Comparisons use the variation between runs."
    )
    resolution_us: float | None = Field(description="Of the client's buckets; null: HdrHistogram with 3 digits.")
    returns: dict[str, int] = Field(description="Return codes of the whole run.")


class KeySharesAnswer(Schema):
    """Which shares of the requests the hottest keys get."""

    hottest_percent: float = Field(description="The hottest 1 % of the keys, one at least.")
    hottest_ten: float = Field(description="The 10 hottest keys.")


class MeasurementsAnswer(Schema):
    """The numbers of one run."""

    run: UUID
    cut: CutAnswer
    cuts: list[int] = Field(description="The numbers of all cuts.")
    operations: int | None = Field(description="In the window, failed ones included.")
    failed: int | None
    throughput_ops_s: float | None
    basis: str = Field(description="From what it was computed: `window`, `stated` or `sum`.")
    throughput_sum_ops_s: float | None = Field(description="The sum of what the clients printed, whole runs.")
    throughput_wall_ops_s: float | None = Field(description="All operations from the first start to the last end.")
    key_shares: KeySharesAnswer | None = Field(
        description="By the workload and the records; null: not known, or a load."
    )
    arrivals: dict[str, Any] | None = Field(
        description="Of an open load what was offered, started and dropped in the window, the exact 95 % interval of "
        "the dropped share, and by operation percentiles of what was offered (null: among dropped operations)."
    )
    groups: list[dict[str, Any]] = Field(
        description="Of each client group beside the ladder: its window, numbers, latencies, curve and findings."
    )
    measurements: list[MeasurementAnswer]


class LiveAnswer(Schema):
    """What the clients of a running run said so far."""

    available: bool = Field(description="False: the live view is not known. Results come after the run.")
    seconds: list[int] = Field(description="Since the first client began; a second without a status line is left out.")
    rate_ops_s: list[float] = Field(description="In these seconds, all clients together.")
    operations_total: int


class HistogramQuery(CutQuery):
    latency_kind: Kind = "service"


class HistogramAnswer(Schema):
    """The merged histogram of one operation in the window, bucket by bucket; buckets without counts are left out."""

    run: UUID
    cut: int
    operation: str
    latency_kind: Kind
    count: int
    mean_us: float | None
    min_us: int | None
    max_us: int | None
    percentiles_us: dict[str, int | None]
    from_us: list[int] = Field(description="The least value of each bucket.")
    to_us: list[int] = Field(description="The greatest value of each bucket.")
    counts: list[int]


class SeriesQuery(Schema):
    points: int = Field(2_000, ge=1, le=20_000, description="At most so many: of a longer run a coarser level.")
    operation: Word | None = None


class SeriesOf(Schema):
    """One operation over time, column by column; null: nothing was measured in that interval."""

    operation: str
    latency_kind: Kind
    second: list[int] = Field(description="Since `begins_at`.")
    columns: dict[str, list[int | float | None]] = Field(description="By name: " + ", ".join(COLUMNS) + ".")


class SeriesAnswer(Schema):
    """A run over time, all clients merged."""

    run: UUID
    begins_at: datetime | None
    interval_s: int
    series: list[SeriesOf]


class RecoveryAnswer(Schema):
    """What one fault did to the throughput, from its begin to the next fault or the end of the window."""

    level_ops_s: float = Field(description="The median second of the window before the first fault.")
    lowest_ops_s: float = Field(description="Of its seconds until it recovered.")
    depth: float = Field(description="1 - lowest / level.")
    below_s: int = Field(description="Seconds below 90 % of the level.")
    errors: int
    first_success_s: float | None = Field(
        description="From its begin to the end of the first second with a success after one without; 0: all had one."
    )
    recovered_s: float | None = Field(
        description="From its begin to the end of the first of three seconds in a row at 90 % of the level; null: none."
    )
    catch_up_s: int = Field(description="Seconds above the target by more than 5 %.")
    catch_up_operations: float = Field(description="Done in them beyond the target.")
    during_ops_s: float | None = Field(description="Mean of the whole seconds until the fault ended; null: none.")
    returning_ops_s: float | None = Field(description="Mean of those from its end until it recovered; null: none.")


class FaultAnswer(Schema):
    """One planned fault, as it was applied."""

    number: int
    fault: dict[str, Any] = Field(description="As in the plan.")
    began_at: datetime | None = Field(description="Null: the run ended before.")
    ended_at: datetime | None = Field(description="When it was undone; of a crash: when the server answered again.")
    began_s: float | None = Field(description="From the begin of the measured window.")
    error: str = Field(description="Why it could not be applied or undone; empty: it was.")
    recovery: RecoveryAnswer | None


class FaultsAnswer(Schema):
    """The planned faults of a run."""

    run: UUID
    faults: list[FaultAnswer]


class FindingAnswer(Schema):
    """What one validity check says."""

    check: str = Field(validation_alias="check_id")
    severity: Literal["pass", "info", "warn", "reject", "not_assessed"]
    title: str
    measured: str
    threshold: str
    message: str
    remedy: str


class FindingsAnswer(Schema):
    """What the validity checks say of one cut."""

    run: UUID
    cut: int
    verdict: str = Field(description="Of the run: that of its current cut.")
    findings: list[FindingAnswer]


@runs.get(
    "/runs/{uuid:run_id}/measurements",
    response={200: MeasurementsAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="The numbers of a run",
)
def get_measurements(request: HttpRequest, run_id: UUID, query: Query[CutQuery]) -> dict[str, object]:
    run = owned(team_runs(), run_id)
    measurement_set = _cut(run, query)
    return {
        "run": run.pk,
        "cut": measurement_set,
        "cuts": run.measurement_sets.values_list("number", flat=True),
        **copy_fields(measurement_set, NUMBERS),
        "key_shares": get_key_shares(cast(RunSpec, run.spec)),
        "arrivals": measurement_set.arrivals or None,
        "measurements": measurement_set.measurements.all(),
    }


def _cut(run: Run, query: CutQuery) -> MeasurementSet:
    sets = MeasurementSet.objects.filter(run=run)
    measurement_set = (sets.filter(is_current=True) if query.cut is None else sets.filter(number=query.cut)).first()
    if measurement_set is None and query.cut is not None:
        raise Problem("not-found", f"“{run.name}” has no cut {query.cut}.")
    if measurement_set is None:
        raise Problem("not-found", f"“{run.name}” has not been measured: it is {run.status}.")
    measurement_set.run = run
    return measurement_set


@runs.get(
    "/runs/{uuid:run_id}/histogram/{operation}",
    response={200: HistogramAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="The merged histogram of one operation",
)
def get_histogram(request: HttpRequest, run_id: UUID, operation: str, query: Query[HistogramQuery]) -> HistogramAnswer:
    """Of its successful operations in the window. Of a run of which only summaries exist there is none."""
    run = owned(team_runs(), run_id)
    measurement_set = _cut(run, query)
    try:
        stored = stored_intervals(run)
        histogram = None
        if stored:
            histogram = merged_histogram(measurement_set, stored, operation, query.latency_kind)
    except (OSError, YcsbError) as error:
        raise Problem("not-found", f"The histograms of “{run.name}” cannot be read any more: {error}.") from error

    if histogram is None:
        there = ", ".join(f"{name} ({kind})" for name, kind in collect_operations(stored))
        raise Problem("not-found", f"There are histograms of: {there}." if there else "Only summaries exist of it.")

    indices, counts = histogram.sparse()
    values = histogram.percentiles(list(PERCENTILES.values()))
    return HistogramAnswer(
        run=run.pk,
        cut=measurement_set.number,
        operation=operation,
        latency_kind=query.latency_kind,
        count=histogram.count,
        mean_us=histogram.mean,
        min_us=histogram.min,
        max_us=histogram.max,
        percentiles_us=dict(zip(PERCENTILES, values, strict=True)),
        from_us=lowest_values(indices).tolist(),
        to_us=highest_values(indices).tolist(),
        counts=counts.tolist(),
    )


@runs.get(
    "/runs/{uuid:run_id}/series", response={200: SeriesAnswer}, auth=Needs(Scope.RUNS_READ), summary="A run over time"
)
def get_series(request: HttpRequest, run_id: UUID, query: Query[SeriesQuery]) -> SeriesAnswer:
    """The finest level that has no more than so many points; a coarser level is computed from all values, none is
    left out. `points` below the coarsest level's are not kept to.
    """
    run = owned(team_runs(), run_id)
    rows = Series.objects.filter(run=run)
    levels = rows.order_by().values("interval_s").annotate(most=Max("points")).values_list("interval_s", "most")
    fitting = [interval_s for interval_s, most in levels if most <= query.points]
    interval_s = min(fitting) if fitting else max((interval_s for interval_s, _ in levels), default=1)
    rows = rows.filter(interval_s=interval_s)
    if query.operation is not None:
        rows = rows.filter(operation=query.operation)
    unpacked = [unpack(bytes(row.data)) for row in rows.order_by("operation", "latency_kind")]
    base_s = min((part.base_s for part in unpacked), default=None)
    begins_at = None
    if base_s is not None:
        begins_at = datetime.fromtimestamp(base_s, UTC)

    return SeriesAnswer(
        run=run.pk,
        begins_at=begins_at,
        interval_s=interval_s,
        series=[
            SeriesOf(
                operation=part.operation,
                latency_kind=part.kind,
                second=(part.points["second"] + round(part.base_s - (base_s or 0.0))).tolist(),
                columns={name: _numbers(part.points[name]) for name in COLUMNS},
            )
            for part in unpacked
        ],
    )


@runs.get(
    "/runs/{uuid:run_id}/live",
    response={200: LiveAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="The throughput of a running run so far",
)
def get_live(request: HttpRequest, run_id: UUID) -> live.LiveSeries:
    """What its clients print, not its result; for an hour."""
    return live.read(owned(team_runs(), run_id).pk)


@runs.get(
    "/runs/{uuid:run_id}/faults",
    response={200: FaultsAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="The faults of a run, and how it recovered",
)
def get_faults(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Empty for a run without planned faults, and until it has ended."""
    run = owned(team_runs(), run_id)
    return {"run": run.pk, "faults": applied_faults(run)}


def _numbers(column: Any) -> list[int | float | None]:
    """With null for what JSON has no number for."""
    return [value if finite else None for value, finite in zip(column.tolist(), np.isfinite(column), strict=True)]


@runs.get(
    "/runs/{uuid:run_id}/findings",
    response={200: FindingsAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="What the validity checks say",
)
def get_findings(request: HttpRequest, run_id: UUID, query: Query[CutQuery]) -> dict[str, object]:
    run = owned(team_runs(), run_id)
    measurement_set = _cut(run, query)
    return {
        "run": run.pk,
        "cut": measurement_set.number,
        "verdict": run.verdict,
        "findings": measurement_set.findings.all(),
    }
