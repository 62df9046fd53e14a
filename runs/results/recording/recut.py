"""Cutting an ended run again from its stored intervals, and choosing which of its measurement sets counts.

Nothing that was stored is lost by it: a cut makes the next measurement set, judged by the same checks, and any older
one can be made the current one again. The run's own verdict and throughput are copies of the current set's.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from django.db import transaction
from django.db.models import Max

from benchsite.accounts.models import User
from benchsite.core.formatting import exact, grouped
from runs.checks import CheckResult, compute_verdict
from runs.checks.team_thresholds import get_thresholds
from runs.models import ClientRun, Finding, Measurement, MeasurementSet, Phase, Run, RunEvent, Status
from runs.queue.spec import RunSpec, max_warmup_s
from runs.results.recording.arrivals import add_arrivals
from runs.results.recording.intervals import INTERVALS, stored_intervals
from runs.results.recording.rows import write_set
from runs.results.recording.scheduled_runs import get_clients, judge, select_group
from runs.uploads.judgement import Merged, judge_by
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.errors import YcsbError
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.merge import recut as merge_stored
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.operation import VERIFY, ReadOperation
from runs.ycsb.series import Series, unpack
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.summary import Summary
from runs.ycsb.window import Cut

MAX_REASON_LENGTH = 2_000


class RecutRefused(Exception):
    """This run cannot be cut so. The message says why and what to do."""


def find_common_time(measurement_set: MeasurementSet) -> tuple[float, float] | None:
    """From when to when all clients worked, in seconds since the epoch; None where nobody knows."""
    times = [(client.get("started_s"), client.get("ended_s")) for client in measurement_set.clients]
    if not times or any(start is None or end is None for start, end in times):
        return None
    return max(start for start, _ in times), min(end for _, end in times)


def recut(run: Run, *, warmup_s: float, tail_s: float, user: User, reason: str = "") -> MeasurementSet:
    """Leave out `warmup_s` at the beginning of the clients' common time and `tail_s` at its end; the result counts.

    Raises RecutRefused. Two at once make two sets, of which the later one is current.
    """
    first = _cuttable(run, warmup_s, tail_s)
    # The logs' own times have three decimals, and a cut that is kept with fewer digits could not be made again.
    warmup_s, tail_s = round(warmup_s, 3), round(tail_s, 3)
    try:
        stored = stored_intervals(run)
    except (OSError, YcsbError) as error:
        raise RecutRefused(
            f"The stored intervals of this run cannot be read: {error}. Recompute the run, which makes them anew."
        ) from error

    merged = cut(run, stored, first, first.measurements.all(), warmup_s=warmup_s, tail_s=tail_s)
    # Groups have windows of their own, which no cut of the ladder changes.
    current = run.measurement_sets.get(is_current=True)
    findings = judge_again(run, merged, stored_series(run), tail_s=tail_s, groups=current.groups)
    with transaction.atomic():
        before = locked(run)
        for other in run.measurement_sets.filter(warmup_s=warmup_s, tail_s=tail_s):
            if (other.reader_version, other.algorithm_version) == (merged.reader_version, merged.algorithm_version):
                instead = " Make it current instead."
                if other.is_current:
                    instead = ""
                raise RecutRefused(f"That is cut {other.number}.{instead}")

        measurement_set = write_set(
            run,
            next_number(run),
            merged,
            findings,
            created_by=user,
            note=reason[:MAX_REASON_LENGTH],
            groups=current.groups,
        )
        adopt(run, measurement_set, before)
        note(run, measurement_set, user.get_username(), reason)

    return measurement_set


def choose_set(run: Run, number: int, user: User) -> MeasurementSet:
    """Make the measurement set of that number the current one. Raises RecutRefused where there is none."""
    with transaction.atomic():
        before = locked(run)
        chosen = run.measurement_sets.filter(number=number).first()
        if chosen is None:
            raise RecutRefused(f"This run has no cut {number}.")
        if not chosen.is_current:
            run.measurement_sets.filter(is_current=True).update(is_current=False)
            run.measurement_sets.filter(pk=chosen.pk).update(is_current=True)
            chosen.is_current = True
            adopt(run, chosen, before)
            note(run, chosen, user.get_username(), "made current again")
    return chosen


def cut(
    run: Run,
    stored: Sequence[StoredIntervals],
    measurement_set: MeasurementSet,
    measurements: Iterable[Measurement],
    *,
    warmup_s: float,
    tail_s: float,
) -> MergedRun:
    """The run merged over another window than that of the set and its measurements. Raises RecutRefused.

    What clients state of their whole runs, and return codes, do not depend on the window.
    """
    stated = {client["number"]: client for client in measurement_set.clients}
    clients = [_client(row, stated.get(row.number, {})) for row in run.client_runs.filter(group="")]
    try:
        merged = merge_stored(stored, clients, Cut(warmup_s, None, tail_s))
    except YcsbError as error:
        raise RecutRefused(str(error)) from error
    returns_by_operation = {(row.operation, row.latency_kind): row.returns for row in measurements}
    returns = (returns_by_operation.get((part.operation, part.kind), {}) for part in merged.operations)
    operations = (replace(part, returns=codes) for part, codes in zip(merged.operations, returns, strict=True))
    rows = run.client_runs.filter(group="").prefetch_related("artifacts")
    return add_arrivals(replace(merged, operations=tuple(operations)), rows)


def stored_series(run: Run) -> list[Series]:
    """The whole run second by second. Raises RecutRefused where that cannot be read any more."""
    try:
        return [unpack(bytes(row.data)) for row in run.series.filter(interval_s=1)]
    except YcsbError as error:
        raise RecutRefused(f"The stored series of this run cannot be read: {error}. Recompute the run.") from error


def judge_again(
    run: Run, merged: Merged, series: Sequence[Series], *, tail_s: float, groups: Sequence[Mapping[str, Any]]
) -> list[CheckResult]:
    """The checks over another cut, whose window was to be as long as the cut leaves of what was planned."""
    spec = cast(RunSpec, run.spec)
    if run.source == Run.Source.UPLOADED:
        return judge_by(get_thresholds(run.team_id, spec["purpose"]), spec, merged, series)
    assert isinstance(merged, MergedRun)  # Benchsite's own clients always leave histograms.
    window = spec["window"]
    planned_s = window["min_measure_s"]
    asked_s = None
    if planned_s is not None and run.phase == Phase.MEASURE:
        asked_s = max(max_warmup_s(window) + planned_s - merged.warmup_s - tail_s, 0.0)
    clients = select_group(get_clients(run), "")
    return judge(run, merged, series, clients, rows=run.evidence.get("rows"), asked_s=asked_s, groups=groups)


def locked(run: Run) -> frozenset[str]:
    """Lock the run for this transaction; which checks reject it as it stands."""
    Run.objects.select_for_update(of=("self",)).only("pk").get(pk=run.pk)
    return _rejecting(Finding.objects.filter(measurement_set__run=run, measurement_set__is_current=True))


def next_number(run: Run) -> int:
    most: int | None = run.measurement_sets.aggregate(most=Max("number"))["most"]
    return (most or 0) + 1


def adopt(run: Run, measurement_set: MeasurementSet, before: frozenset[str]) -> None:
    """Copy what the current set says onto its run, which the caller has locked; `before` is what `locked` answered.

    A written reason for counting a rejected run was given for the checks that rejected it then. Where another one
    rejects it now, nobody has vouched for that.
    """
    findings = list(measurement_set.findings.all())
    fields: dict[str, Any] = {
        **compute_verdict(finding.severity for finding in findings),  # type: ignore[misc]  # the column's own choices
        "throughput_ops_s": measurement_set.throughput_ops_s,
    }
    if not _rejecting(findings) <= before and Run.objects.filter(pk=run.pk).exclude(verdict_override="").exists():
        fields["verdict_override"] = ""
        RunEvent.objects.create(run=run, kind="override_withdrawn", text="Another check rejects the run now.")
    Run.objects.filter(pk=run.pk).update(**fields)
    for name, value in fields.items():
        setattr(run, name, value)


def note(run: Run, measurement_set: MeasurementSet, actor: str, reason: str) -> None:
    """Add a new current set to the run's timeline."""
    warmup, tail = exact(measurement_set.warmup_s), exact(measurement_set.tail_s)
    cut = f"Cut {measurement_set.number}: {warmup} s of warm-up, {tail} s at the end left out."
    text = f"{cut} {reason}".strip()
    RunEvent.objects.create(run=run, kind="cut", new=str(measurement_set.number), actor=actor[:80], text=text)


def _cuttable(run: Run, warmup_s: float, tail_s: float) -> MeasurementSet:
    """The first set of the run, of its whole time. Raises RecutRefused where it cannot be cut."""
    first = run.measurement_sets.order_by("number").first()
    if first is None or run.status not in Status.terminal():
        raise RecutRefused("This run has not been measured yet: cut it again when it has ended.")
    if run.phase == Phase.LOAD:
        raise RecutRefused("A load is measured as a whole: it has no warm-up to cut.")

    common = find_common_time(first)
    if common is None or not run.artifacts.filter(kind=INTERVALS).exists():
        raise RecutRefused("Of this run only summaries exist: without histograms by interval it cannot be cut.")
    if not all(math.isfinite(seconds) and seconds >= 0 for seconds in (warmup_s, tail_s)):
        raise RecutRefused("Warm-up and tail are seconds, from 0 on.")
    from_s, to_s = common
    if warmup_s + tail_s >= to_s - from_s:
        raise RecutRefused(
            f"The clients have {grouped(to_s - from_s, 1)} s in common: {exact(warmup_s)} s of warm-up and "
            f"{exact(tail_s)} s at the end leave nothing of it. Cut less."
        )

    return first


def _client(row: ClientRun, stated: Mapping[str, Any]) -> ClientLogs:
    evidence = stated.get("evidence")  # An earlier release stored none.
    summary = None
    if stated.get("printed_counts") is not None:
        summary = _summary(stated)

    return ClientLogs(
        number=row.number,
        summary=summary,
        threads=stated.get("threads"),
        truncated=bool(stated.get("truncated")),
        evidence=ClientEvidence(**evidence) if evidence else None,
        clock_steps=tuple(ClockStep(*step) for step in stated.get("clock_steps", ())),
    )


def _summary(stated: Mapping[str, Any]) -> Summary:
    operations = {name: ReadOperation(count=count) for name, count in stated["printed_counts"].items()}
    if stated.get("cleanup_s") is not None:
        counted = operations.get("CLEANUP", ReadOperation())
        operations["CLEANUP"] = replace(counted, max_us=stated["cleanup_s"] * 1e6)
    if verified := stated.get("verified"):
        operations[VERIFY] = replace(operations.get(VERIFY, ReadOperation()), returns=verified)
    return Summary(stated.get("runtime_ms"), stated.get("printed_throughput_ops_s"), operations)


def _rejecting(findings: Any) -> frozenset[str]:
    return frozenset(finding.check_id for finding in findings if finding.severity == Finding.Severity.REJECT)
