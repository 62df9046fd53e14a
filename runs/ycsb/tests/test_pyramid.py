"""Coarser levels of the series: every percentile is that of all values of its interval."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.errors import MergeError
from runs.ycsb.merged import ClientLogs
from runs.ycsb.series import Series
from runs.ycsb.tests.hdrlogs import build_histogram
from runs.ycsb.tests.samples import build_series, made_log, merge

EPOCH = 1_700_000_000.0


def levels(clients: list[ClientLogs], *, base_s: float = EPOCH) -> dict[int, Series]:
    return {point.interval_s: point for point in build_series(merge(clients, warmup_s=0), base_s=base_s)}


def client(number: int, values: dict[int, list[int]]) -> ClientLogs:
    """One whose seconds have these latencies; between them it does nothing."""
    rows = [(float(second), 1.0, values.get(second, [])) for second in range(max(values) + 1)]
    return ClientLogs(number, [made_log("READ", rows)])


seconds = st.dictionaries(st.integers(0, 700), st.lists(st.integers(0, 10**7), min_size=1, max_size=5), min_size=1, max_size=12)  # fmt: skip  # noqa: E501


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(seconds, min_size=1, max_size=3), st.integers(-700, 700))
def test_every_level_is_that_of_all_its_values(parts, shift):
    steps = levels([client(number, part) for number, part in enumerate(parts)], base_s=EPOCH + shift)
    for level, series in steps.items():
        values: dict[int, list[int]] = {}
        for part in parts:
            for second, latencies in part.items():
                values.setdefault((second - shift) // level * level, []).extend(latencies)
        assert (np.diff(series.points["second"]) >= level).all()
        for row in series.points:
            merged = build_histogram(values.get(int(row["second"]), []))
            assert row["count"] == merged.count
            if merged.count:
                assert [row["p50_us"], row["p95_us"], row["p99_us"]] == [
                    np.float32(value) for value in merged.percentiles([50, 95, 99])
                ]
                assert row["max_us"] == np.float32(merged.max)
                assert row["mean_us"] == pytest.approx(merged.mean, rel=1e-6)
            else:
                assert all(np.isnan(row[column]) for column in ("p50_us", "p99_us", "max_us", "mean_us"))


def test_a_percentile_is_not_the_mean_of_its_seconds():
    slow, fast = [100_000] * 100, [1_000] * 900
    steps = levels([client(0, {second: slow if second == 3 else fast for second in range(20)})])
    assert steps[1].points["p99_us"][:10].mean() > 10_000
    assert steps[10].points["p99_us"].tolist() == [np.float32(100_031), 1000]  # 100 of 8200 are slow
    assert steps[10].points["p95_us"].tolist() == [1000, 1000]


def test_rates_are_means_with_the_least_and_the_greatest_second():
    steps = levels([client(0, {second: [5] * (0 if second == 7 else 10 + second % 10) for second in range(30)})])
    assert steps[10].points["rate_ops_s"].tolist() == pytest.approx([12.8, 14.5, 14.5])
    assert steps[10].points["rate_min_ops_s"].tolist() == [0, 10, 10]
    assert steps[10].points["rate_max_ops_s"].tolist() == [19, 19, 19]
    assert steps[10].points["covered_s"].tolist() == [10, 10, 10]
    assert steps[1].points["rate_min_ops_s"].tolist() == steps[1].points["rate_ops_s"].tolist()


def test_there_are_as_many_levels_as_have_two_intervals():
    assert sorted(levels([client(0, {9: [5]})])) == [1]
    assert sorted(levels([client(0, {10: [5]})])) == [1, 10]
    assert sorted(levels([client(0, {60: [5]})])) == [1, 10, 60]
    assert sorted(levels([client(0, {600: [5]})])) == [1, 10, 60, 600]


def test_a_gap_is_no_zero_on_any_level():
    rows = [(float(second), 1.0, [5]) for second in (*range(15), *range(145, 160))]
    steps = levels([ClientLogs(0, [made_log("READ", rows)])])
    assert steps[10].points["second"].tolist() == [0, 10, 140, 150]
    assert steps[10].points["covered_s"].tolist() == [10, 5, 5, 10]
    assert steps[60].points["second"].tolist() == [0, 120]


def test_long_intervals_are_spread_over_their_parts():
    rows = [(0.0, 1.0, [5] * 10), (1.0, 630.0, [7] * 6300), (631.0, 1.0, [9] * 10)]
    steps = levels([ClientLogs(0, [made_log("READ", rows)])])
    assert steps[600].points["p50_us"].tolist() == [7, 7]
    assert steps[600].points["max_us"].tolist() == [7, 9]
    assert steps[10].points["p50_us"].tolist() == [7] * 64
    assert steps[1].points["p99_us"].tolist() == [5, *[7] * 630, 9]
    assert steps[60].points["count"].sum() == 6320


@pytest.mark.slow
def test_the_order_of_intervals_does_not_matter_within_an_hour():
    dice = np.random.default_rng(3)
    rows = [(float(second), 1.0, dice.integers(1, 10**5, 5).tolist()) for second in range(900)]
    shuffled = [rows[at] for at in dice.permutation(900)]
    ordered, other = (levels([ClientLogs(0, [made_log("READ", part)])]) for part in (rows, shuffled))
    for level, series in ordered.items():
        assert series.points.tobytes() == other[level].points.tobytes()


def test_times_that_cannot_be_are_refused():
    apart = made_log("READ", [(0.0, 1.0, [5]), (1e9, 1.0, [5])])
    with pytest.raises(MergeError, match="more than 14 days apart"):
        build_series(merge([ClientLogs(0, [apart])], warmup_s=0))
    endless = made_log("READ", [(0.0, 1e12, [5])])
    with pytest.raises(MergeError, match="more than 14 days apart"):
        build_series(merge([ClientLogs(0, [endless])], warmup_s=0))
