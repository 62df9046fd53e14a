"""A run's series as the checks look at them: from the clients' common start to the end of the window."""

import math
from collections.abc import Sequence

import numpy as np

from runs.checks.facts import OverTime
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.merged import Window
from runs.ycsb.operation import MeasurementName, parse_name
from runs.ycsb.series import Points, Series

# What a status line counts when it does not tell its operations apart.
_ALL_OPERATIONS = "TOTAL"
_EPSILON_S = 1e-6


def over_time(
    series: Sequence[Series], window: Window, warmup_s: float, *, resolution_s: float | None = 1.0
) -> OverTime | None:
    """None where no series tells how much was done in each second.

    `resolution_s` is how far apart the clients' own numbers are: status lines of 10 s are spread over their seconds.
    """
    seconds = [part for part in series if part.interval_s == 1]
    service = [second for second in seconds if second.kind == "service" and _counts(second, seconds)]
    if not service or all(np.isnan(part.points["rate_ops_s"]).all() for part in service):
        return None

    base_s = service[0].base_s
    first = math.ceil(window.from_s - warmup_s - base_s - _EPSILON_S)
    last = math.floor(window.to_s - base_s + _EPSILON_S)
    if last <= first:
        return None

    rate = np.zeros(last - first, dtype=np.float64)
    for part in service:
        positions, rows = _select_rows(part.points, first, last)
        done = np.nan_to_num(part.points["rate_ops_s"][rows])
        # The operations that it is made of are counted by their own names.
        rate[positions] += -done if _name(part).is_composite else done

    main = max(service, key=lambda part: int(part.points["count"].sum()))
    warmup = min(max(math.ceil(window.from_s - base_s - _EPSILON_S) - first, 0), rate.size)
    return OverTime(
        resolution_s=resolution_s,
        warmup_s=warmup,
        rate_ops_s=rate.tolist(),
        p95_us=_select_p95_us(main.points, first, last).tolist(),
        response_mean_us=_compute_response_mean_us(seconds, first, last)[warmup:].tolist(),
    )


def _name(series: Series) -> MeasurementName:
    return parse_name(series.operation)


def _counts(series: Series, among: Sequence[Series]) -> bool:
    """Whether it is an operation that adds up, or the only thing there is."""
    if series.operation == _ALL_OPERATIONS and len(among) == 1:
        return True
    name = _name(series)
    return name.is_operation and not name.status


def _select_rows(points: Points, first: int, last: int) -> tuple[Ints, Ints]:
    """The positions, from `first` on, of the seconds before `last`, and the rows that go there."""
    positions = points["second"].astype(np.int64) - first
    rows = np.flatnonzero((positions >= 0) & (positions < last - first))
    return positions[rows], rows


def _select_p95_us(points: Points, first: int, last: int) -> Floats:
    values = np.full(last - first, np.nan)
    positions, rows = _select_rows(points, first, last)
    values[positions] = points["p95_us"][rows]
    return values


def _compute_response_mean_us(series: Sequence[Series], first: int, last: int) -> Floats:
    """The mean response time of every second, all operations together; empty where none was measured."""
    measured = [part for part in series if part.kind == "response" and not _name(part).is_composite]
    if not measured:
        return np.zeros(0)
    total_us, count = np.zeros(last - first), np.zeros(last - first)
    for part in measured:
        positions, rows = _select_rows(part.points, first, last)
        done = part.points["count"][rows].astype(np.float64)
        mean_us = np.nan_to_num(part.points["mean_us"][rows])
        total_us[positions] += np.where(done > 0, done * mean_us, 0.0)
        count[positions] += done
    with np.errstate(invalid="ignore", divide="ignore"):
        return total_us / count
