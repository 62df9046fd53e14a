"""Building a run's numbers anew from its artifacts, with the code of today.

What differs from what is stored is told number by number. Applying it keeps the old numbers: they stay as a
measurement set of their own, and the new one takes its place as the current one. Where nothing differs, nothing is
written; series and intervals are no numbers of a set, and are replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from runs.checks import CheckResult
from runs.models import MeasurementSet, Run
from runs.results.recording import differences, scheduled_runs, uploaded_runs
from runs.results.recording.client_merge import Collected
from runs.results.recording.groups import GroupResult
from runs.results.recording.intervals import INTERVALS, read_fresh, store_intervals
from runs.results.recording.recut import (
    RecutRefused,
    adopt,
    cut,
    find_common_time,
    judge_again,
    locked,
    next_number,
    note,
)
from runs.results.recording.rows import finding_rows, measurement_rows, set_fields, write_series, write_set
from runs.uploads.judgement import Merged
from runs.ycsb.errors import YcsbError


class RecomputeSkipped(Exception):
    """This run cannot be built anew. The message says why."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A run as its artifacts give it today, beside what is stored."""

    run: Run
    current: MeasurementSet
    collected: Collected
    merged: Merged  # over the window of the current set
    findings: Sequence[CheckResult]
    groups: Sequence[GroupResult]
    # What differs, as lines.
    numbers: Sequence[str]
    series: Sequence[str]
    intervals: Sequence[str]

    @property
    def differences(self) -> list[str]:
        return [*self.numbers, *self.series, *self.intervals]


def rebuild(run: Run) -> Rebuilt:
    """Compute everything, store nothing. Raises RecomputeSkipped."""
    current = run.measurement_sets.filter(is_current=True).first()
    if current is None:
        raise RecomputeSkipped("it was never measured")

    try:
        # Without an upload an uploaded run was planned by an earlier release and run by hand: its clients have files.
        collected = (uploaded_runs if run.upload_id else scheduled_runs).collect(run)
        merged, tail_s = _over_the_same_window(run, current, collected)
    except (OSError, YcsbError, RecutRefused) as error:
        raise RecomputeSkipped(f"its artifacts are missing or cannot be read: {error}") from error

    if merged.clients_merged < current.clients_merged:
        missing = "; ".join(f"client {client.number}: {client.reason}" for client in merged.missing)
        raise RecomputeSkipped(f"artifacts of its clients are missing: {missing}")

    groups = scheduled_runs.judge_groups(run, collected)
    findings = judge_again(run, merged, collected.series, tail_s=tail_s, groups=groups)
    fresh = MeasurementSet(run=run, **set_fields(merged))
    numbers = differences.compare_rows(
        differences.list_rows(current, current.measurements.all(), current.findings.all(), current.groups),
        differences.list_rows(fresh, measurement_rows(fresh, merged), finding_rows(fresh, findings), groups),
    )
    intervals = {artifact.name: artifact for artifact in run.artifacts.filter(kind=INTERVALS)}

    return Rebuilt(
        run=run,
        current=current,
        collected=collected,
        merged=merged,
        findings=findings,
        groups=groups,
        numbers=list(numbers),
        series=list(differences.compare_series(run.series.all(), collected.series)),
        intervals=list(differences.compare_intervals(intervals, collected.intervals)),
    )


def apply(rebuilt: Rebuilt) -> None:
    """Store what differs. Raises RecomputeSkipped where the run was cut again while this was computed."""
    if not rebuilt.differences:
        return

    run, merged = rebuilt.run, rebuilt.merged
    how = f"recomputed with reader {merged.reader_version}, algorithm {merged.algorithm_version}"
    with transaction.atomic():
        before = locked(run)
        if not run.measurement_sets.filter(pk=rebuilt.current.pk, is_current=True).exists():
            raise RecomputeSkipped("it was cut again meanwhile: recompute it once more")
        current = rebuilt.current
        if rebuilt.numbers:
            current = write_set(run, next_number(run), merged, rebuilt.findings, note=how, groups=rebuilt.groups)
            adopt(run, current, before)
        if rebuilt.series:
            write_series(run, rebuilt.collected.series, merged.reader_version)
        if rebuilt.intervals:
            store_intervals(run, rebuilt.collected.intervals)
        note(run, current, "recompute", f"{how}: {len(rebuilt.differences)} differences")


def _over_the_same_window(run: Run, current: MeasurementSet, collected: Collected) -> tuple[Merged, float]:
    """The run over the window of its current set, and what that set leaves out at the end beyond the plan."""
    merged = collected.merged
    fresh = MeasurementSet(run=run, **set_fields(merged))
    if (fresh.warmup_s, fresh.tail_s) == (current.warmup_s, current.tail_s):
        return merged, 0.0

    if find_common_time(fresh) is None:
        raise RecutRefused("the times of its clients are unknown")

    again = cut(
        run,
        list(map(read_fresh, collected.intervals.values())),
        fresh,
        measurement_rows(fresh, merged),
        warmup_s=current.warmup_s,
        tail_s=current.tail_s,
    )
    return again, current.tail_s
