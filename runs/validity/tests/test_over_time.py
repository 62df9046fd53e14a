"""Series of a run, as the checks look at them."""

import numpy as np
import pytest

from runs.validity.over_time import over_time
from runs.ycsb.ingest import ClientLogs
from runs.ycsb.merged import Window
from runs.ycsb.series import POINT, Series
from runs.ycsb.tests.samples import made_log, merge, series_of, steady_log

BASE = 1_700_000_000.0


def merged_of(*logs, warmup_s=0.0, **more):
    return merge([ClientLogs(0, logs, threads=1)], warmup_s=warmup_s, **more)


def test_it_begins_with_the_warm_up_and_ends_with_the_window():
    merged = merged_of(steady_log("READ", 10, 100), warmup_s=3, measure_s=5)
    series = over_time(series_of(merged), merged.window, merged.warmup_s)
    assert series is not None
    assert (series.warmup_s, list(series.rate_ops_s)) == (3, [100.0] * 8)
    assert list(series.p95_us) == [1000.0] * 8
    assert list(series.response_mean_us) == []
    assert series.is_by_second


def test_a_read_modify_write_counts_once():
    logs = [steady_log("READ", 5, 100), steady_log("UPDATE", 5, 40), steady_log("READ-MODIFY-WRITE", 5, 40)]
    merged = merged_of(*logs)
    series = over_time(series_of(merged), merged.window, 0.0)
    assert series is not None and list(series.rate_ops_s) == [100.0] * 5


def test_response_times_are_weighted_means_of_the_window():
    logs = [
        steady_log("READ", 4, 100),
        made_log("Intended-READ", [(second, 1.0, [1000] * 30) for second in range(3)] + [(3, 1.0, [])]),
        made_log("Intended-UPDATE", [(second, 1.0, [2000] * 10) for second in range(3)] + [(3, 1.0, [])]),
    ]
    merged = merged_of(*logs, warmup_s=1)
    series = over_time(series_of(merged), merged.window, 1.0)
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
