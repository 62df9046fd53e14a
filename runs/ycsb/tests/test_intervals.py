"""Sparse interval histograms survive being stored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.ycsb.errors import PackedDataError
from runs.ycsb.intervals import Intervals, collect
from runs.ycsb.stored import pack_intervals, unpack_intervals
from runs.ycsb.tests.samples import logs, made_log

interval_lists = st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 20), st.lists(st.integers(0, 10**9), max_size=8)), max_size=6)  # fmt: skip  # noqa: E501


def same(one: Intervals, other: Intervals) -> bool:
    columns = ("client", "start_s", "length_s", "offsets", "index", "count")
    return one.name == other.name and all(
        getattr(one, column).dtype == getattr(other, column).dtype
        and np.array_equal(getattr(one, column), getattr(other, column))
        for column in columns
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(interval_lists, min_size=1, max_size=3), st.sampled_from(["READ", "Intended-READ", "Äußerst-FAILED"]))
def test_it_comes_back_as_it_was(clients, name):
    (packed,) = collect([(number, 0.25, [made_log(name, rows)]) for number, rows in enumerate(clients)])
    assert same(unpack_intervals(pack_intervals(packed)), packed)


def test_it_stores_real_logs_small():
    (reads,) = (entry for entry in collect([(0, 0.0, logs("two_clients/0"))]) if entry.name == "READ")
    assert same(unpack_intervals(pack_intervals(reads)), reads)
    assert len(pack_intervals(reads)) < 6 * reads.index.size


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "damaged"),
        (lambda data: b"NOPE" + data[4:], "begins with"),
        (lambda data: data[:4] + b"\x00\x09" + data[6:], "version 9"),
        (lambda data: data[:-5], "damaged"),
        (lambda data: data[:20], "damaged"),
    ],
)
def test_it_names_damage(damage, message):
    (packed,) = collect([(0, 0.0, [made_log("READ", [(0, 1, [5])])])])
    with pytest.raises(PackedDataError, match=message):
        unpack_intervals(damage(pack_intervals(packed)))


def test_it_cuts_by_the_middle_of_intervals():
    (reads,) = collect(
        [(0, 0.0, [made_log("READ", [(second, 1.0, [second]) for second in range(10)], start_time_s=0)])]
    )
    cut = reads.cut(2.0, 5.0)
    assert cut.start_s.tolist() == [2, 3, 4]
    assert cut.index.tolist() == [2, 3, 4]
    assert cut.totals.tolist() == [1, 1, 1]
    assert reads.cut(2.6, 2.9).start_s.size == 0
    assert reads.cut(2.6, 2.9).histogram().count == 0


def test_it_counts_empty_intervals_as_nothing():
    (reads,) = collect([(0, 0.0, [made_log("READ", [(0, 1, []), (1, 1, [7, 7, 9]), (2, 1, [])])])])
    assert reads.totals.tolist() == [0, 3, 0]
    assert reads.busy_us() == 23
