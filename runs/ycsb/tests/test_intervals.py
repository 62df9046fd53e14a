"""Sparse interval histograms survive being stored."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.errors import PackedDataError
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.tests.hdrlogs import build_histogram
from runs.ycsb.tests.in_memory import Intervals, collect, pack_intervals, unpack_intervals
from runs.ycsb.tests.samples import logs, made_log

interval_lists = st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 20), st.lists(st.integers(0, 10**9), max_size=8)), max_size=6)  # fmt: skip  # noqa: E501


def same(one: Intervals, other: Intervals) -> bool:
    columns = ("client", "start_s", "length_s", "offsets", "index", "count")
    return one.name == other.name and all(
        getattr(one, column).dtype == getattr(other, column).dtype
        and np.array_equal(getattr(one, column), getattr(other, column))
        for column in columns
    )


@pytest.mark.slow
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
        (lambda data: data[:4] + b"\x00\x01" + data[6:], "version 1; this Benchsite reads version 2"),
        (lambda data: data[:4] + b"\x00\x09" + data[6:], "version 9"),
        (lambda data: data[:-5], "damaged"),
        (lambda data: data[:20], "damaged"),
    ],
)
def test_it_names_damage(damage, message):
    (packed,) = collect([(0, 0.0, [made_log("READ", [(0, 1, [5])])])])
    with pytest.raises(PackedDataError, match=message):
        unpack_intervals(damage(pack_intervals(packed)))


@pytest.mark.slow
def test_it_takes_no_damage_for_other_numbers():
    (reads,) = (entry for entry in collect([(0, 0.0, logs("two_clients/0"))]) if entry.name == "READ")
    stored = pack_intervals(reads)
    for at in range(0, len(stored), 5):
        damaged = bytearray(stored)
        damaged[at] ^= 0x55
        try:
            intervals = unpack_intervals(bytes(damaged))
        except PackedDataError:
            continue
        assert np.array_equal(intervals.count, reads.count)  # what was hit is the name, or says nothing


def test_it_adds_segments_without_unpacking_them(monkeypatch):
    many = made_log("READ", [(float(second), 1.0, [second, 5000]) for second in range(400)])
    stored = StoredIntervals.from_bytes(pack_intervals(collect([(0, 0.0, [many])])[0]))
    unpacked: list[object] = []
    packed = type(stored.segments[0].parts)
    counts = packed.counts
    monkeypatch.setattr(packed, "counts", lambda self: unpacked.append(self) or counts(self))
    inside = (stored.kept.midpoint_s > many.start_time_s + 70) & (stored.kept.midpoint_s < many.start_time_s + 390)
    expected = build_histogram([*range(70, 390), *[5000] * 320])
    assert stored.histogram(0, inside) == expected
    assert len(stored.segments) == 7 and len(unpacked) == 2
    assert stored.histogram(1, inside).count == 0


def test_it_counts_empty_intervals_as_nothing():
    (reads,) = collect([(0, 0.0, [made_log("READ", [(0, 1, []), (1, 1, [7, 7, 9]), (2, 1, [])])])])
    assert reads.totals.tolist() == [0, 3, 0]
    assert reads.histogram().total_us == 23
