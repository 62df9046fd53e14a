"""Counts of arrivals are read, merged over a window, and turned into the percentiles of what was offered."""

import numpy as np
import pytest

from runs.ycsb.arrivals import (
    HEADER,
    Count,
    expected_share,
    merge_arrivals,
    offered_percentile,
    parse_arrivals,
    share_interval,
    sum_by_second,
)
from runs.ycsb.histogram import Histogram

TEXT = f"""{HEADER}
100,READ,10,9,1,10.0,20.0
100,UPDATE,5,5,0,5.0,10.0
101,READ,12,12,0,12.0,24.0
102,READ,8,4,4,8.0,16.0
"""


def test_only_seconds_of_the_window_count():
    client = parse_arrivals(TEXT, client=0)

    merged = merge_arrivals([client], 100.6, 102.0, {}, {})

    assert merged.operations == {"READ": Count(12, 12, 0)}
    assert merged.seconds == 1
    assert merged.started_by_client == {0: 30}


def test_seconds_without_arrivals_are_of_the_window():
    client = parse_arrivals(TEXT, client=0)

    merged = merge_arrivals([client], 100.0, 110.0, {}, {})

    assert (merged.seconds, merged.offered_ops_s) == (10, 3.5)


def test_clients_are_added_on_the_reference_clock():
    first = parse_arrivals(TEXT, client=0)
    late = parse_arrivals(TEXT, client=1, clock_offset_s=-1.0)

    merged = merge_arrivals([first, late], 100.0, 102.0, {}, {})

    assert merged.total == Count(offered=47, started=42, dropped=5)
    assert merged.offered_ops_s == pytest.approx(47 / 2)
    assert sum_by_second([first, late])[101] == Count(20, 16, 4)


def test_line_that_broke_off_is_left_out():
    """The client was killed while it wrote."""
    broken = parse_arrivals(TEXT + "103,READ,1", client=0)

    assert broken.offered.tolist() == [10, 5, 12, 8]
    assert parse_arrivals(HEADER, client=0).offered.size == 0


@pytest.mark.parametrize(
    ("started", "percentile", "value_us"),
    [(1000, 99.0, 990), (995, 99.0, 990), (990, 99.0, 990), (989, 99.0, None), (500, 50.0, 500), (500, 49.0, 490)],
)
def test_dropped_operations_take_for_ever(started, percentile, value_us):
    """Of 1,000 offered operations those that were started took 1, 2, 3, ... µs."""
    response = Histogram(np.concatenate([[0], np.ones(started, dtype=np.int64)]))
    assert offered_percentile(response, Count(1000, started, 1000 - started), percentile) == value_us


def test_interval_of_a_share_is_exact():
    """Clopper and Pearson's: of 10 of 100, 4.900 to 17.622 %; of none of 100, up to 3.622 %."""
    assert share_interval(10, 100) == pytest.approx((0.04900, 0.17622), abs=5e-5)
    assert share_interval(0, 100) == pytest.approx((0.0, 0.03622), abs=5e-5)
    assert share_interval(100, 100)[1] == 1.0


def test_gaps_tell_random_from_equal_ones():
    dice = np.random.default_rng(1)
    for gaps, variation in ((dice.exponential(size=4000), 1.0), (np.ones(4000), 0.0)):
        line = f"100,READ,{gaps.size},{gaps.size},0,{gaps.sum()},{(gaps**2).sum()}\n"
        client = parse_arrivals(f"{HEADER}\n{line}", client=0)
        assert merge_arrivals([client], 100, 101, {}, {}).gap_variation == pytest.approx(variation, abs=0.05)


def test_profile_has_a_mean_over_the_window():
    assert expected_share([[0, 0], [10, 100]], 10) == pytest.approx(0.5)
    assert expected_share([[0, 0], [10, 100]], 20) == pytest.approx(0.75)
    assert expected_share([[5, 300]], 10) == pytest.approx(3.0)
