"""The window of an ended run: its cuts, what a steady state suggests, and what the form needs."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from django.db.models import Max

from runs.checks.results import find_worst
from runs.models import Finding, LatencyKind, Measurement, MeasurementSet, Phase, Run, Series
from runs.results.measures.steady import Suggestion, suggest
from runs.results.recording.recut import find_common_time
from runs.ycsb.operation import COMPOSITE
from runs.ycsb.series import Series as UnpackedSeries, unpack

# Of a longer run a coarser level of its series says the same in less time.
MAX_POINTS = 7_200


def window_panel(run: Run, sets: Sequence[MeasurementSet], *, has_intervals: bool) -> dict[str, object] | None:
    """The cuts of a run, and what the form needs where it can be cut: by its suggestion, and as shares of its time.

    Four queries; None for a run that was not measured. A run without intervals has one cut and no way to another.
    """
    current = next((row for row in sets if row.is_current), None)
    if current is None:
        return None

    panel: dict[str, object] = {"cuts": _list_cuts(sets), "can_be_cut": False}
    common = find_common_time(current)
    if common is None or run.phase == Phase.LOAD or not has_intervals:
        return panel

    series = _read_series(run)
    from_s, to_s = common
    base_s = min((samples.base_s for samples in series), default=from_s)
    suggestion = None
    current_ops_s = suggested_ops_s = 0.0
    end_s = to_s - from_s - current.tail_s
    if series:
        interval_s = series[0].interval_s
        rate_ops_s, p95_us = _add_up(series, from_s, to_s)
        current_ops_s = _compute_mean(rate_ops_s, interval_s, current.warmup_s, end_s)
        suggestion = suggest(rate_ops_s, p95_us, interval_s=interval_s)
        if suggestion:
            suggested_ops_s = _compute_mean(rate_ops_s, interval_s, suggestion.cut_s, end_s)

    return panel | {
        "can_be_cut": True,
        "common_s": to_s - from_s,
        # The clients' common time on the axis of the run's figure.
        "begin_s": from_s - base_s,
        "end_s": to_s - base_s,
        "bar": _describe_bar(current, to_s - from_s, suggestion),
        "suggestion": suggestion,
        # Whether the current warm-up already leaves out what is suggested.
        "is_covered": suggestion is not None and suggestion.cut_s <= current.warmup_s,
        # By the series: over the current window, and with the suggested warm-up.
        "rate_now_ops_s": current_ops_s,
        "rate_suggested_ops_s": suggested_ops_s,
    }


def _list_cuts(sets: Sequence[MeasurementSet]) -> list[dict[str, object]]:
    """The sets with their verdicts, and their service times by operation, response times where there are no others."""
    keys = [stored.pk for stored in sets]
    severities: dict[UUID, list[str]] = defaultdict(list)
    for key, severity in Finding.objects.filter(measurement_set__in=keys).values_list("measurement_set_id", "severity"):
        severities[key].append(severity)
    lines: dict[UUID, dict[str, Measurement]] = defaultdict(dict)
    for row in Measurement.objects.filter(measurement_set__in=keys).order_by("operation", "-latency_kind"):
        lines[row.measurement_set_id].setdefault(row.operation, row)
    cuts: list[dict[str, object]] = []
    for stored in sets:
        verdict = _compute_verdict(severities[stored.pk])
        cuts.append({"row": stored, "verdict": verdict, "lines": list(lines[stored.pk].values())})
    return cuts


def _add_up(series: Sequence[UnpackedSeries], from_s: float, to_s: float) -> tuple[list[float], dict[str, list[float]]]:
    """The run's throughput over the clients' common time, one value for each interval that lies in it whole, and each
    operation's p95 in µs.

    A read-modify-write counts once: where it was measured, so were its read and its update.
    """
    interval_s = series[0].interval_s
    base_s = min(samples.base_s for samples in series)
    first = int(np.ceil((from_s - base_s) / interval_s - 0.01))
    size = max(int((to_s - base_s) / interval_s + 0.01) - first, 0)
    rate_ops_s = np.zeros(size)
    p95_us = {}
    for samples in series:
        shift = round((samples.base_s - base_s) / interval_s) - first
        positions = samples.points["second"] // interval_s + shift
        inside = (positions >= 0) & (positions < size)
        positions, points = positions[inside], samples.points[inside]
        values = np.full(size, np.nan)
        values[positions] = points["p95_us"]
        p95_us[samples.operation] = values.tolist()
        rates = np.nan_to_num(points["rate_ops_s"])
        rate_ops_s[positions] += -rates if samples.operation == COMPOSITE else rates

    return rate_ops_s.tolist(), p95_us


def _compute_mean(rate_ops_s: Sequence[float], interval_s: int, from_s: float, to_s: float) -> float:
    """The mean throughput over this part of the common time."""
    part = rate_ops_s[round(from_s / interval_s) : round(to_s / interval_s)]
    return float(np.mean(part)) if part else 0.0


def _read_series(run: Run) -> list[UnpackedSeries]:
    """The series of one kind, preferably service times, at the finest interval that is not too long; two queries."""
    rows = Series.objects.filter(run=run)
    levels = rows.order_by().values("latency_kind", "interval_s").annotate(longest=Max("points"))
    short = [level for level in levels if level["longest"] <= MAX_POINTS]
    if not short:
        return []
    finest = min(short, key=lambda level: (level["latency_kind"] != LatencyKind.SERVICE, level["interval_s"]))
    level_rows = rows.filter(latency_kind=finest["latency_kind"], interval_s=finest["interval_s"])
    return [unpack(bytes(data)) for data in level_rows.values_list("data", flat=True)]


def _compute_verdict(severities: Sequence[str]) -> str:
    """The verdict of a set by its stored findings, as recording copies it onto the run."""
    if not severities:
        return ""
    worst = find_worst(severities)  # type: ignore[arg-type]  # the column's own choices
    return worst if worst in ("warn", "reject") else "pass"


def _describe_bar(current: MeasurementSet, length_s: float, suggestion: Suggestion | None) -> dict[str, float | None]:
    """The clients' common time as shares of 100: what is left out, what is measured, where a suggested cut begins."""
    share = 100 / length_s
    warmup, tail = min(current.warmup_s * share, 100.0), min(current.tail_s * share, 100.0)
    suggested = None
    if suggestion and not suggestion.at_limit:
        suggested = suggestion.cut_s * share
    return {
        "warmup": warmup,
        "measured": max(100.0 - warmup - tail, 0.0),
        "tail": tail,
        "suggested": suggested,
    }
