"""Percentiles of several clients that left only summaries."""

import math

import pytest
from hypothesis import given, strategies as st

from runs.ycsb.bounds import Bounds, added_buckets, mean_bounds, percentile_bounds
from runs.ycsb.operation import Bucket, ReadOperation
from runs.ycsb.readers import read_file
from runs.ycsb.tests.hdrlogs import build_histogram
from runs.ycsb.tests.samples import corpus, golden

PERCENTILES = ("50", "95", "99")


def stated(values_us, percentiles=PERCENTILES):
    """What a client with these values would print."""
    histogram = build_histogram(values_us)
    found = histogram.percentiles([float(name) for name in percentiles])
    return ReadOperation(
        count=histogram.count,
        mean_us=histogram.mean,
        min_us=histogram.min,
        max_us=histogram.max,
        percentiles_us=dict(zip(percentiles, map(float, found), strict=True)),
    )


def exact(counts_ms):
    """A client with so many values of so many milliseconds, stated without any rounding."""
    values = sorted(latency * 1000.0 for latency, count in counts_ms.items() for _ in range(count))
    return ReadOperation(
        count=len(values),
        min_us=values[0],
        max_us=values[-1],
        percentiles_us={name: values[-(-len(values) * int(name) // 100) - 1] for name in PERCENTILES},
    )


# The golden example of two clients: the average of their p99 would be 55 ms, the weighted one 18.19, the true one 10.
FAST, SLOW = {1: 9850, 10: 150}, {1: 900, 100: 100}


def test_it_bounds_the_golden_example_of_two_clients():
    assert percentile_bounds([exact(FAST), exact(SLOW)]) == {
        "50": Bounds(1000.0, 1000.0),
        "95": Bounds(1000.0, 10_000.0),
        "99": Bounds(10_000.0, 100_000.0),
    }


def test_it_is_a_point_only_where_the_bounds_meet():
    found = percentile_bounds([exact(FAST), exact(SLOW)])
    assert [name for name, bounds in found.items() if bounds.is_exact] == ["50"]


def test_it_keeps_what_a_single_client_states():
    assert percentile_bounds([exact(SLOW)]) == {
        "50": Bounds(1000.0, 1000.0),
        "95": Bounds(100_000.0, 100_000.0),
        "99": Bounds(100_000.0, 100_000.0),
    }


def test_it_leaves_out_clients_without_values():
    """YCSB prints a maximum and percentiles of 0 for no values at all."""
    empty = ReadOperation(count=0, max_us=0.0, percentiles_us={"99": 0.0})
    assert percentile_bounds([exact(SLOW), empty]) == percentile_bounds([exact(SLOW)])
    assert percentile_bounds([empty]) == {}


def test_it_needs_counts_only_for_the_tighter_bounds():
    uncounted = [ReadOperation(percentiles_us={"99": 10_000.0}), ReadOperation(percentiles_us={"99": 100_000.0})]
    assert percentile_bounds(uncounted) == {"99": Bounds(10_000.0, 100_000.0)}


def test_single_client_of_unknown_size_gives_no_bounds():
    assert percentile_bounds([exact(SLOW), ReadOperation(mean_us=5.0)]) == {}


def test_it_bounds_a_client_without_percentiles_by_its_extremes():
    """A client that was killed leaves counts, minimum and maximum in its status lines."""
    killed = ReadOperation(count=1000, min_us=500.0, max_us=7000.0)
    assert percentile_bounds([exact(FAST), killed])["99"] == Bounds(1000.0, 10_000.0)


def test_a_printed_bucket_border_stands_for_the_whole_bucket():
    """`95thPercentileLatency(us), 0` of measurementtype=histogram means: below 1 ms."""
    operation = ReadOperation(count=1000, min_us=80.0, max_us=5400.0, percentiles_us={"95": 0.0, "99": 5000.0},
                              resolution_us=1000.0)  # fmt: skip
    assert percentile_bounds([operation]) == {"95": Bounds(80.0, 1000.0), "99": Bounds(5000.0, 5400.0)}


def test_an_upper_border_stands_for_its_bucket_too():
    """go-ycsb printed (bucket + 1) milliseconds until 2021, so that p99 may exceed the maximum."""
    operation = ReadOperation(count=1000, min_us=80.0, max_us=5400.0, percentiles_us={"95": 1000.0, "99": 6000.0},
                              resolution_us=1000.0, rounds_up=True)  # fmt: skip
    assert percentile_bounds([operation]) == {"95": Bounds(80.0, 1000.0), "99": Bounds(5000.0, 5400.0)}
    unknown = ReadOperation(count=1000, min_us=80.0, max_us=5400.0, percentiles_us={"95": 2000.0}, rounds_up=True)
    assert percentile_bounds([unknown]) == {"95": Bounds(80.0, 2000.0)}


VARI = (
    (0, 256, 732_757), (256, 512, 1_071_121), (512, 1024, 159_357), (1024, 2000, 22_602), (2000, 4000, 2699),
    (4000, 8000, 10_831), (8000, 16_000, 403), (16_000, 32_000, 38), (64_000, 128_000, 160),
    (1_024_000, 2_000_000, 12), (2_000_000, 4_000_000, 20),
)  # fmt: skip


def published():
    """A published output of 2012, whose last bucket (beyond 128 s, in a run of 30 s) its own count contradicts."""
    buckets = (*(Bucket(*bucket) for bucket in VARI), Bucket(128_000_000, None, 32))
    return ReadOperation(
        count=2_000_000,
        mean_us=401.87,
        min_us=146.0,
        max_us=2_110_000.0,
        # Each of them is one bucket too high.
        percentiles_us={"95": 2000.0, "99": 4000.0, "99.9": 16_000.0},
        buckets=buckets,
    )


def test_counts_by_bucket_decide_against_printed_percentiles():
    bounds = percentile_bounds([published()])
    assert bounds["95"] == Bounds(512.0, 1024.0)
    assert bounds["99"] == Bounds(1024.0, 2000.0)
    assert bounds["99.9"] == Bounds(4000.0, 8000.0)


def test_the_published_output_itself_gives_these_bounds():
    (path,) = corpus().glob("070_*")
    with path.open("rb") as stream:
        (file,) = read_file(path.name, stream)
    read = file.runs[0].operations["GET"]
    bounds = percentile_bounds([read])
    assert [bounds[name] for name in ("95", "99", "99.9")] == [
        Bounds(512.0, 1024.0),
        Bounds(1024.0, 2000.0),
        Bounds(4000.0, 8000.0),
    ]
    assert sum(bucket.count for bucket in added_buckets([read])) == 2_000_000


def test_overflow_bucket_contradicted_by_count_is_left_out():
    golden_values = golden("vari_histogram")
    buckets = added_buckets([published()])
    assert sum(bucket.count for bucket in buckets) == golden_values["sum_without_overflow"] == 2_000_000
    shares, running = [], 0
    for bucket in buckets[:8]:
        running += bucket.count
        shares.append(running / 2_000_000)
    assert shares == pytest.approx(golden_values["cum"], abs=1e-6)


def test_the_mean_lies_between_the_borders_of_the_buckets():
    """The labels are rounded: the buckets double from 256 µs on."""
    doubled = [
        Bucket(2.0 ** round(math.log2(low)) if low else 0.0, 2.0 ** round(math.log2(high)), count)
        for low, high, count in VARI
    ]
    bounds = mean_bounds(doubled, 146.0, 2_110_000.0)
    assert (round(bounds.low_us), round(bounds.high_us)) == (302, 571)
    assert bounds.low_us < 401.87 < bounds.high_us


def test_mean_has_no_upper_bound_with_overflow_and_no_max():
    assert mean_bounds([Bucket(0, 1000, 1), Bucket(1000, None, 1)]) == Bounds(500.0, None)
    assert mean_bounds([Bucket(0, 1000, 1), Bucket(1000, None, 0)]) == Bounds(0.0, 1000.0)
    assert mean_bounds([]) is None


def test_it_adds_buckets_of_several_clients():
    operation = ReadOperation(
        count=100, buckets=(Bucket(0, 1000, 90), Bucket(3000, 4000, 8), Bucket(1_000_000, None, 2))
    )
    other = ReadOperation(count=100, buckets=(Bucket(0, 1000, 10), Bucket(1000, 2000, 90)))
    assert added_buckets([operation, other]) == (
        Bucket(0, 1000, 100),
        Bucket(1000, 2000, 90),
        Bucket(3000, 4000, 8),
        Bucket(1_000_000, None, 2),
    )
    bounds = percentile_bounds([operation, other])
    assert bounds["50"] == Bounds(0.0, 1000.0)
    assert bounds["95"] == Bounds(1000.0, 2000.0)
    assert bounds["99"] == Bounds(3000.0, 4000.0)
    assert bounds["99.9"] == Bounds(1_000_000.0, None), "nobody knows where in the overflow"


def test_it_does_not_add_buckets_of_different_widths():
    fine, coarse = ReadOperation(buckets=(Bucket(0, 1000, 9),)), ReadOperation(buckets=(Bucket(0, 10_000, 9),))
    assert added_buckets([fine, coarse]) == ()
    assert percentile_bounds([fine, coarse])["95"] == Bounds(0.0, 10_000.0)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=60), min_size=1, max_size=5))
def test_the_true_percentile_of_all_values_always_lies_within(clients):
    found = percentile_bounds([stated(values) for values in clients])
    everything = build_histogram([value for values in clients for value in values])
    assert found.keys() == set(PERCENTILES)
    for name, bounds in found.items():
        true = everything.percentile(float(name))
        assert bounds.low_us <= true <= bounds.high_us


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 20_000), min_size=1, max_size=60), min_size=1, max_size=4))
def test_it_lies_within_for_buckets_too(clients):
    def bucketed(values):
        counts = {at: sum(value // 1000 == at for value in values) for at in {value // 1000 for value in values}}
        return ReadOperation(
            count=len(values),
            buckets=tuple(Bucket(at * 1000, (at + 1) * 1000, number) for at, number in sorted(counts.items())),
        )

    found = percentile_bounds([bucketed(values) for values in clients])
    everything = sorted(value for values in clients for value in values)
    for name, bounds in found.items():
        true = everything[max(-(-len(everything) * int(float(name) * 10) // 1000), 1) - 1]
        assert bounds.low_us <= true <= bounds.high_us
        assert bounds.high_us - bounds.low_us <= 1000.0
