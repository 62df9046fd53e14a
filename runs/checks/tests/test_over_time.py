"""Series of a run, as the checks look at them."""

from dataclasses import replace

import numpy as np
import pytest

from runs.checks import OverTime
from runs.checks.over_time import over_time
from runs.ycsb.merged import ClientLogs, Window
from runs.ycsb.operation import LatencyKind
from runs.ycsb.series import POINT, Series
from runs.ycsb.tests.samples import build_series, made_log, merge, steady_log

BASE = 1_700_000_000.0


def build_merged(*logs, warmup_s=0.0, **more):
    return merge([ClientLogs(0, logs, threads=1)], warmup_s=warmup_s, **more)


def test_it_begins_with_the_warm_up_and_ends_with_the_window():
    merged = build_merged(steady_log("READ", 10, 100), warmup_s=3, measure_s=5)
    series = over_time(build_series(merged), merged.window, merged.warmup_s)
    assert series is not None
    assert (series.warmup_s, list(series.rate_ops_s)) == (3, [100.0] * 8)
    assert list(series.p95_us) == [1000.0] * 8
    assert list(series.response_mean_us) == []
    assert series.is_by_second


def test_a_read_modify_write_counts_once():
    logs = [steady_log("READ", 5, 100), steady_log("UPDATE", 5, 40), steady_log("READ-MODIFY-WRITE", 5, 40)]
    merged = build_merged(*logs)
    series = over_time(build_series(merged), merged.window, 0.0)
    assert series is not None and list(series.rate_ops_s) == [100.0] * 5


def test_response_times_are_weighted_means_of_the_window():
    logs = [
        steady_log("READ", 4, 100),
        made_log("Intended-READ", [(second, 1.0, [1000] * 30) for second in range(3)] + [(3, 1.0, [])]),
        made_log("Intended-UPDATE", [(second, 1.0, [2000] * 10) for second in range(3)] + [(3, 1.0, [])]),
    ]
    merged = build_merged(*logs, warmup_s=1)
    series = over_time(build_series(merged), merged.window, 1.0)
    assert series is not None
    assert list(series.response_mean_us[:2]) == pytest.approx([1250.0, 1250.0])
    assert np.isnan(series.response_mean_us[2])


def points(rate: float, seconds: int = 4) -> Series:
    rows = np.zeros(seconds, dtype=POINT)
    rows["second"], rows["rate_ops_s"], rows["count"] = np.arange(seconds), rate, 10
    return Series("TOTAL", "service", BASE, 1, 1, rows)


def test_status_lines_that_tell_no_operations_apart_still_count():
    window = Window(BASE, BASE + 4)
    series = over_time([points(7.0)], window, 0.0, resolution_s=10.0)
    assert series is not None and list(series.rate_ops_s) == [7.0] * 4
    assert not series.is_by_second


def test_it_knows_nothing_without_rates_or_seconds():
    assert over_time([], Window(BASE, BASE + 4), 0.0) is None
    assert over_time([points(float("nan"))], Window(BASE, BASE + 4), 0.0) is None
    assert over_time([points(7.0)], Window(BASE, BASE + 0.5), 0.0) is None


def numbered(operation: str, kind: LatencyKind = "service", seconds: int = 12, **columns: float) -> Series:
    """Second 0 is 3 s before `BASE`; in second n the rate, count and latencies are n times the given ones."""
    rows = np.zeros(seconds, dtype=POINT)
    rows["second"] = np.arange(seconds)
    for name, factor in columns.items():
        rows[name] = factor * np.arange(seconds)
    return Series(operation, kind, BASE - 3, 1, 1, rows)


def test_seconds_count_from_the_begin_of_the_warm_up():
    """Window 5 to 9 s after second 0, warm-up from 3 s on."""
    window = Window(BASE + 2, BASE + 6)
    reads = numbered("READ", rate_ops_s=10, count=10, p95_us=100)
    updates = numbered("UPDATE", rate_ops_s=1, count=1, p95_us=5)
    response = numbered("READ", "response", rate_ops_s=7, count=1, mean_us=50)
    lone = numbered("UPDATE", "response", seconds=7, rate_ops_s=7, count=3, mean_us=10)
    failed = numbered("READ-FAILED", rate_ops_s=999, count=999)
    total = numbered("TOTAL", rate_ops_s=999, count=999)
    assert over_time([updates, reads, response, lone, failed, total], window, 2.0) == OverTime(
        warmup_s=2,
        rate_ops_s=[33.0, 44.0, 55.0, 66.0, 77.0, 88.0],
        p95_us=[300.0, 400.0, 500.0, 600.0, 700.0, 800.0],
        # (1 x 50 n + 3 x 10 n) / 4 while both were measured, then 50 n
        response_mean_us=[100.0, 120.0, 350.0, 400.0],
        resolution_s=1.0,
    )
    # A warm-up that the series does not cover is none of it.
    late = over_time([replace(reads, base_s=BASE + 2)], window, 0.0)
    assert late is not None and (late.warmup_s, late.response_mean_us) == (0, [])
    # Failures alone, and rates by other intervals, tell nothing.
    assert over_time([failed], window, 2.0) is None
    assert over_time([replace(reads, interval_s=10)], window, 2.0) is None
    assert over_time([replace(reads, kind="response")], window, 2.0) is None


def test_a_single_response_is_a_mean():
    rows = numbered("READ", rate_ops_s=1, count=1)
    response = numbered("READ", "response", count=1, mean_us=50)
    response.points["count"][:] = 1
    series = over_time([rows, response], Window(BASE, BASE + 2), 0.0)
    assert series is not None and series.response_mean_us == [150.0, 200.0]
