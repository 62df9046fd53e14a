"""Raw points are counted as a plain loop over the lines would count them, whatever stands between them."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runs.ycsb.readers import points, read_file
from runs.ycsb.readers.points import Points
from runs.ycsb.readers.raw import apart
from runs.ycsb.readers.rows import parse_rows
from runs.ycsb.tests.hdrlogs import build_histogram, each_interval
from runs.ycsb.tests.samples import DATA

NAMES = ["READ", "UPDATE", "READ-MODIFY-WRITE", "Join", "X", "READ-FAILED", "A" * 8, "A" * 16 + "B" * 8, "B" * 30]
T = 1_458_262_912


def naive(text: str) -> tuple[dict[str, list[tuple[int, int]]], list[str]]:
    """Every row by operation, and the other lines."""
    rows: dict[str, list[tuple[int, int]]] = {}
    others = []
    for line in text.split("\n"):
        columns = line.split(",")
        is_row = (
            len(columns) == 3
            and columns[0][:1].isalpha()
            and all(column.isdecimal() and len(column) <= 16 for column in columns[1:])
        )
        if is_row:
            rows.setdefault(columns[0], []).append((int(columns[1]), int(columns[2])))
        elif line.strip():
            others.append(line)
    return rows, others


row = st.builds(
    "{},{},{}".format,
    st.sampled_from(NAMES),
    st.one_of(st.integers(T * 1000, T * 1000 + 9000), st.integers(0, 10**16 - 1)),
    st.one_of(st.integers(0, 5000), st.integers(0, 10**16 - 1)),
)
noise = st.sampled_from(
    ["", "READ latency raw data: op, timestamp(ms), latency(us)", "READ,,5", "READ,1458262912345,", ",1,2", "a,b,c",
     "READ,1458262912345,1,2", "READ,1458262912x45,1", "1,2,3", "READ,12345678901234567,1", "READ;1;2", "READ,-1,2"]
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.one_of(row, row, row, noise), max_size=60))
def test_it_finds_the_rows_a_loop_finds(lines):
    text = "".join(line + "\n" for line in lines)
    expected, others = naive(text)
    groups, odd = parse_rows(text.encode())
    found: dict[str, list[tuple[int, int]]] = {}
    for rows in groups:
        found.setdefault(rows.operation, []).extend(zip(rows.time.tolist(), rows.latency.tolist(), strict=True))
    assert {name: sorted(points) for name, points in found.items()} == {
        name: sorted(points) for name, points in expected.items()
    }
    assert [line.text.decode() for line in odd] == others
    assert [lines[line.number] for line in odd] == others


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(NAMES[:4]), st.integers(0, 20_000), st.integers(0, 10**7)), min_size=1),
       st.integers(1, 7))  # fmt: skip
def test_it_counts_every_second_as_a_loop_does(rows, pieces):
    lines = [f"{name},{T * 1000 + at},{latency}\n".encode() for name, at, latency in rows]
    counted = Points()
    for start in range(0, len(lines), pieces):
        assert counted.feed(b"".join(lines[start : start + pieces])) == []
    logs = {log.operation: log for log in counted.logs()}
    assert set(logs) == {name for name, _, _ in rows}
    first = min(at for _, at, _ in rows) // 1000
    for name, log in logs.items():
        seconds: dict[int, list[int]] = {}
        for other, at, latency in rows:
            if other == name:
                seconds.setdefault(at // 1000, []).append(latency)
        assert log.start_time_s == T + first
        assert log.length_s[1:-1].tolist() == [1.0] * (len(log) - 2)
        assert ((log.length_s >= 0.00099) & (log.length_s <= 1)).all()
        for interval in each_interval(log):
            values = seconds.get(int(interval.start_s) + first, [])
            assert interval.histogram == build_histogram(values)
            assert interval.max_us == (interval.histogram.max or 0)
        assert log.total == sum(map(len, seconds.values()))


def test_it_reads_digits_of_other_scripts():
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    counted = Points()
    assert counted.feed(f"READ,{T}123,834\n".translate(arabic).encode() + f"READ,{T}124,835\n".encode()) == []
    assert [log.histogram() for log in counted.logs()] == [build_histogram([834, 835])]


def test_seconds_in_which_nothing_ended_are_there_and_empty():
    counted = Points()
    counted.feed(f"READ,{T}000,5\nUPDATE,{T + 2}999,7\nREAD,{T + 5}500,9\n".encode())
    read, update = counted.logs()
    assert read.start_s.tolist() == update.start_s.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.diff(read.offsets).tolist() == [1, 0, 0, 0, 0, 1]
    assert np.diff(update.offsets).tolist() == [0, 0, 1, 0, 0, 0]


def test_starts_of_operations_are_counted_where_they_end():
    counted = Points(per_second=1_000_000, times_are_starts=True)
    counted.feed(f"READ,{T}000000,1500000\n".encode())
    assert [(log.start_time_s, log.total) for log in counted.logs()] == [(T + 1, 1)]


def test_a_run_that_was_appended_is_a_run_of_its_own():
    counted = Points()
    counted.feed(f"READ,{T}000,5\nREAD,{T + 1}000,5\nREAD,{T + 4000}000,9\nUPDATE,{T + 4002}000,9\n".encode())
    first, second = apart(counted.logs())
    assert [(log.operation, log.start_time_s, len(log), log.total) for log in first] == [("READ", T, 2, 2)]
    assert [(log.operation, log.start_time_s, log.total) for log in second] == [
        ("READ", T + 4000, 1),
        ("UPDATE", T + 4000, 1),
    ]


def test_of_too_many_counts_longer_intervals_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(points, "MAX_KEYS", 1000)
    counted = Points()
    for second in range(600):
        counted.feed("".join(f"READ,{T + second}000,{100 + value}\n" for value in range(40)).encode())
    (log,) = counted.logs()
    assert counted.interval_s in (10, 60, 600)
    assert log.total == 600 * 40
    assert log.index.size <= 1000
    assert set(log.length_s[1:-1]) <= {counted.interval_s}
    assert log.start_time_s + log.start_s[0] == T
    assert log.start_time_s + log.start_s[-1] + log.length_s[-1] == T + 599
    assert log.start_time_s % counted.interval_s == 0
    assert log.histogram() == build_histogram([100 + value for value in range(40)] * 600)


def test_wild_times_make_no_endless_log():
    counted = Points()
    counted.feed(f"READ,{T}000,5\nREAD,9999999999999999,7\nREAD,0,1\n".encode())
    assert [len(log) for log in counted.logs()] == [3]
    assert len(apart(counted.logs())) == 3


def test_of_very_many_operations_the_first_are_counted():
    counted = Points()
    counted.feed("".join(f"OP{number},{T}000,1\n" for number in range(500)).encode())
    assert len(counted.operations) == 200
    assert (counted.total, counted.dropped) == (200, 300)


def test_a_file_of_points_is_read_whole():
    content = (DATA / "raw_file" / "0" / "points.txt").read_bytes()
    rows, _ = naive(content.decode())
    (file,) = read_file("points.txt", io.BytesIO(content))
    (run,) = file.runs
    assert (file.format, run.format, run.complete) == ("ycsb-raw", "ycsb-raw", True)
    assert {log.operation: log.histogram() for log in run.logs} == {
        name: build_histogram([latency for _, latency in points]) for name, points in rows.items()
    }


def test_a_last_point_that_may_be_cut_is_left_out():
    headline = "READ latency raw data: op, timestamp(ms), latency(us)\n"
    (file,) = read_file("points.txt", io.BytesIO(f"{headline}READ,{T}000,834\nREAD,{T}001,8".encode()))
    (run,) = file.runs
    assert [log.histogram() for log in run.logs] == [build_histogram([834])]
    assert not run.complete


@pytest.mark.slow
def test_points_need_no_more_memory_than_their_histograms():
    lines = "".join(f"READ,{T}{number % 1000:03},{300 + number % 500}\n" for number in range(40_000)).encode()
    counted = Points()
    counted.feed(lines)
    tracemalloc.start()
    try:
        for _ in range(20):
            counted.feed(lines)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
    assert peak < 20 * len(lines)
    assert counted.total == 21 * 40_000
