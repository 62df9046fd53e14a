"""Histogram logs of both encodings are read to the last count, and damage is named."""

import base64
import re
import struct
import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings, strategies as st

from runs.ycsb.encoded import Layout
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdr import LogDecoder
from runs.ycsb.hdrtext import MAX_LINE_LENGTH
from runs.ycsb.histogram import get_bucket_index
from runs.ycsb.summary import parse_summary
from runs.ycsb.tests.hdrlogs import (
    build_file,
    build_histogram,
    each_interval,
    get_lines,
    read_log,
    read_logs,
    v1,
    v2,
    zigzag,
)
from runs.ycsb.tests.samples import DATA, made_log

HEAD = ["#[Logging for: READ]", "#[StartTime: 1700000000.000 (seconds since epoch), then]"]
CLIENTS = ["two_clients/0", "two_clients/1", "load/0", "load/1", "target/0", "not_loaded/0"]


@pytest.mark.parametrize("name", CLIENTS)
def test_it_reads_every_count_that_the_summary_printed(name):
    summary = parse_summary((DATA / name / "summary.txt").read_text())
    paths = sorted((DATA / name).glob("*.hdr"))
    assert len(paths) >= 2
    for path in paths:
        log = read_log(path.read_text().splitlines())
        histogram, printed = log.histogram(), summary.operations[log.operation]
        assert log.operation == path.stem
        assert not log.truncated
        assert histogram.count == printed.count
        assert (histogram.mean, histogram.min, histogram.max) == (printed.mean_us, printed.min_us, printed.max_us)
        for percentile, value in printed.percentiles_us.items():
            assert histogram.percentile(float(percentile)) == value


def test_it_reads_the_old_encoding_of_a_stock_client():
    summary = parse_summary((DATA / "stock_v1/0/summary.txt").read_text())
    for path in sorted((DATA / "stock_v1/0").glob("*.hdr")):
        assert "HISTgg" in path.read_text()
        histogram = read_log(path.read_text().splitlines()).histogram()
        printed = summary.operations[path.stem]
        assert histogram.count == printed.count
        assert (histogram.mean, histogram.min, histogram.max) == (printed.mean_us, printed.min_us, printed.max_us)
        # HdrHistogram 2.1.4 rounded ranks to the nearest instead of up.
        running = histogram.counts.cumsum().tolist()
        for percentile, value in printed.percentiles_us.items():
            rank = max(int(float(percentile) / 100 * histogram.count + 0.5), 1)
            index = next(i for i, total in enumerate(running) if total >= rank)
            assert histogram.percentile(100 * (running[index] - 0.5) / histogram.count) == value


def test_it_knows_when_an_interval_began():
    log = read_log((DATA / "two_clients/0/READ.hdr").read_text().splitlines())
    interval = each_interval(log)[2]
    assert 0.9 < interval.length_s < 1.1
    assert interval.histogram.count > 100
    assert log.start_time_s == pytest.approx(1795233869, abs=60)
    assert (log.start_s[1:] >= log.start_s[:-1] + log.length_s[:-1] - 0.0011).all()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.one_of(st.integers(0, 2500), st.integers(0, 10**9)), max_size=30), min_size=1, max_size=5))
def test_it_agrees_with_the_python_port_of_hdrhistogram(intervals):
    lines = list(HEAD)
    for second, values in enumerate(intervals):
        port = HdrHistogram(1, 2 * 10**9, 3)
        for value in values:
            port.record_value(value)
        lines.append(f"{second}.000,1.000,0.1,{port.encode().decode()}")
    log = read_log(lines)
    assert len(log) == len(intervals)
    for interval, values in zip(each_interval(log), intervals, strict=True):
        assert interval.histogram == build_histogram(values)


@pytest.mark.parametrize("word", ["h", "i", "q"])
def test_it_reads_old_counts_of_every_width(word):
    log = read_log([*HEAD, f"0.0,1.0,0.1,{v1([0, 3, 0, 7], word=word)}"])
    assert log.histogram().counts.tolist() == [0, 3, 0, 7]


def test_it_reads_both_encodings_in_one_log():
    log = read_log([*HEAD, f"0,1,0,{v1([0, 3])}", f"1,1,0,{v2(zigzag(-1) + zigzag(4))}"])
    assert [interval.histogram.count for interval in each_interval(log)] == [3, 4]
    assert log.histogram().counts.tolist() == [0, 7]


@pytest.mark.parametrize("count", [1, 63, 64, 8191, 8192, 2**31, 2**55 - 1])
def test_it_reads_counts_of_every_length(count):
    body = zigzag(-5) + zigzag(count) + zigzag(-3) + zigzag(2)
    index, counts = read_log([*HEAD, f"0,1,0,{v2(body)}"]).index, read_log([*HEAD, f"0,1,0,{v2(body)}"]).count
    assert (index.tolist(), counts.tolist()) == ([5, 9], [count, 2])


def test_it_reads_base_times_and_absolute_times():
    payload = v2(zigzag(1))
    based = read_log([*HEAD, "#[BaseTime: 1700000000.500 (seconds since epoch)]", f"2.0,1.0,0.1,{payload}"])
    assert based.start_time_s + based.start_s[0] == 1_700_000_002.5
    absolute = read_log([*HEAD, f"1700000007.25,1.0,0.1,{payload}"])
    assert absolute.start_time_s + absolute.start_s[0] == 1_700_000_007.25
    relative = read_log([*HEAD, f"7.25,1.0,0.1,{payload}"])
    assert relative.start_time_s + relative.start_s[0] == 1_700_000_007.25


def test_it_keeps_what_came_before_a_break():
    text = (DATA / "two_clients/0/READ.hdr").read_text()
    whole = read_log(text.splitlines())
    last = text.rstrip("\n").rindex("\n")
    for cut in range(last + 2, len(text) - 1, 7):
        log = read_log(text[:cut].splitlines())
        assert log.truncated
        assert len(log) == len(whole) - 1


def test_it_passes_over_the_hole_of_a_log_that_was_opened_twice():
    """Two threads of YCSB measure the first operation of a kind at once: the second one's opening empties the log."""
    lines = get_lines(made_log("CLEANUP", [(0.0, 0.1, [5]), (0.1, 1.0, [10, 20]), (1.1, 1.0, [30])]))
    lost = next(number for number, line in enumerate(lines) if line[0].isdigit())
    hole = "\0" * (len(lines[lost]) + 1)
    log = read_log([*lines[:lost], hole + lines[lost + 1], *lines[lost + 2 :]])
    assert (len(log), log.truncated) == (2, False)
    assert log.start_s.tolist() == [0.1, 1.1]


@pytest.mark.slow
def test_it_never_raises_anything_else_wherever_a_log_breaks_off():
    text = (DATA / "load/0/INSERT.hdr").read_text()
    for cut in range(len(text)):
        try:
            log = read_log(text[:cut].splitlines(), operation="INSERT")
        except HistogramError:
            assert cut < text.index("#[StartTime") + 40
        else:
            assert len(log) <= 4


def test_it_reads_the_logs_of_a_killed_client():
    log = read_log((DATA / "killed/0/READ.hdr").read_text().splitlines())
    assert len(log) >= 3
    assert log.total > 1000


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,1,0", "4 columns, here are 3"),
        ("0,x,0,AAAA", "not numbers"),
        ("0,-3e11,0,AAAA", "no date"),
        ("0,nan,0,AAAA", "not numbers"),
        (f"3e11,1,0,{v2(zigzag(1))}", "no date"),
        (f"1e308,1,0,{v2(zigzag(1))}", "no date"),
        ("0,1,0,!!!!", "cannot be decoded"),
        ("0,1,0,AAAA", "cannot be decoded"),
        (f"0,1,0,{v1([0] * 300 + [1], digits=2)}", "too coarse: 2 significant digits"),
        (f"0,1,0,{v2(b'')[:-8]}AAAA", "cut off|cannot be decoded"),
        (f"0,1,0,{v2(zigzag(-60_000) + zigzag(1))}", "past the end"),
        (f"0,1,0,{v2(zigzag(-(2**54)) * 4 + zigzag(1))}", "past the end"),
        (f"0,1,0,{v2(zigzag(2**55))}", "impossible counts"),
        (f"0,1,0,{v2(zigzag(-(2**62)) * 4 + zigzag(1))}", "impossible counts"),
        (f"0,1,0,{v2(zigzag(-(2**63)) + zigzag(1))}", "impossible counts"),
        (f"0,1,0,{v2(bytes([0x81]))}", "last count is cut off"),
        (f"0,1,0,{v1([1]).replace('HISTgg', 'HISTgA')}", "unknown encoding"),
    ],
)
def test_it_names_the_damage_in_the_middle_of_a_log(line, message):
    good = f"1,1,0,{v2(zigzag(1))}"
    with pytest.raises(HistogramError, match=message):
        read_log([*HEAD, line, good])


def test_it_says_on_which_line_the_damage_is():
    with pytest.raises(HistogramError, match="line 4") as caught:
        read_log([*HEAD, f"0,1,0,{v2(zigzag(1))}", "nonsense", f"1,1,0,{v2(zigzag(1))}"])
    assert caught.value.line_number == 4


@pytest.mark.slow
def test_it_does_not_inflate_a_bomb():
    inner = struct.pack(">iiiiqqd", 0x1C849313, 2**30, 0, 3, 1, 2**40, 1.0) + bytes(50_000_000)
    packed = zlib.compress(inner)
    bomb = base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()
    with pytest.raises(HistogramError, match="too large"):
        read_log([*HEAD, f"0,1,0,{bomb}", f"1,1,0,{v2(zigzag(1))}"])


@settings(max_examples=60)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_it_refuses_what_is_no_log(lines):
    try:
        log = read_log(lines, operation="READ")
    except HistogramError:
        return
    assert any(re.match(r'#\[|"StartTimestamp"', line.strip()) for line in lines)
    assert len(log) == 0


def test_it_needs_a_name_from_somewhere():
    row = f"0,1,0,{v2(zigzag(1))}"
    assert read_log([row], operation="SCAN").operation == "SCAN"
    with pytest.raises(HistogramError, match="which operation"):
        read_log([row])


def test_it_tells_tagged_measurements_apart():
    one, two = v2(zigzag(1)), v2(zigzag(2))
    lines = [
        "#[StartTime: 1700000000.000 (seconds since epoch), then]",
        f"Tag=READ,0,1,0,{one}",
        f"Tag=UPDATE,0,1,0,{two}",
    ]
    reads, updates, untagged = read_logs(
        [build_file([*lines, f"Tag=READ,1,1,0,{two}", f"2,1,0,{one}"])], operation="SCAN"
    )
    assert (reads.operation, updates.operation, untagged.operation) == ("READ", "UPDATE", "SCAN")
    assert (reads.total, updates.total, untagged.total) == (3, 2, 1)
    assert (reads.start_s.tolist(), untagged.start_s.tolist()) == ([0, 1], [2])


def test_it_reads_logs_that_were_put_together():
    reads = made_log("READ", [(0.0, 1.0, [5])])
    updates = made_log("UPDATE", [(0.0, 1.0, [7, 7])], start_time_s=1_700_000_010.0)
    again = made_log("READ", [(0.5, 1.0, [5, 5, 5])], start_time_s=1_700_000_020.0)
    logs = read_logs([build_file([*get_lines(reads), *get_lines(updates), "", *get_lines(again)])])
    assert [(log.operation, log.total) for log in logs] == [("READ", 4), ("UPDATE", 2)]
    assert (logs[0].start_time_s + logs[0].start_s).tolist() == [1_700_000_000.0, 1_700_000_020.5]
    assert logs[1].start_time_s == 1_700_000_010.0


values = st.one_of(st.integers(0, 3000), st.integers(0, 10**9), st.integers(0, 2**62))
logs = st.lists(st.lists(values, max_size=12), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(logs, logs, st.sampled_from([1, 2]), st.booleans(), st.integers(1, 5000))
def test_it_reads_what_was_written_in_pieces_of_any_size(first, second, version, tagged, piece):
    if version == 1:  # which writes every index up to the greatest
        first, second = ([[value % 10**6 for value in row] for row in rows] for rows in (first, second))
    made = [
        made_log(name, [(float(at), 1.0, row) for at, row in enumerate(rows)])
        for name, rows in (("READ", first), ("UPDATE", second))
    ]
    if tagged:
        start = get_lines(made[0])[2]
        lines = [start, *(line for log in made for line in get_lines(log, version=version, tag=log.operation))]
    else:
        lines = [line for log in made for line in get_lines(log, version=version)]
    content = build_file(lines)
    logs = read_logs(content[at : at + piece] for at in range(0, len(content), piece))
    assert [log.operation for log in logs] == ["READ", "UPDATE"]
    for log, expected in zip(logs, made, strict=True):
        for column in ("start_s", "length_s", "offsets", "index", "count"):
            assert np.array_equal(getattr(log, column), getattr(expected, column)), column


@pytest.mark.parametrize(("digits", "lowest"), [(4, 1), (5, 1), (4, 2), (5, 1000), (2, 1), (1, 1)])
def test_it_converts_other_resolutions_exactly_or_not_at_all(digits, lowest):
    layout = Layout(digits, lowest.bit_length() - 1)
    counts = [0] * (300 + (3 << layout.half_bits))
    for at in (7, 9, 250, (3 << layout.half_bits) + 5, (3 << layout.half_bits) + 6):
        counts[at] += at
    lowest_values, highest_values = (column.tolist() for column in layout.values(np.flatnonzero(counts)))
    line = f"0,1,0,{v1(counts, digits=digits, lowest=lowest)}"
    indices = [
        (get_bucket_index(low), get_bucket_index(high)) for low, high in zip(lowest_values, highest_values, strict=True)
    ]
    if any(low != high for low, high in indices):
        assert digits < 3 or lowest > 1
        with pytest.raises(HistogramError, match=f"too coarse: {digits} significant digits"):
            read_log([*HEAD, line, line])
        return
    expected: dict[int, int] = {}
    for (index, _), count in zip(indices, filter(None, counts), strict=True):
        expected[index] = expected.get(index, 0) + count
    log = read_log([*HEAD, line, f"1,1,0,{v2(zigzag(-5) + zigzag(4))}"])
    assert dict(zip(log.index[: int(log.offsets[1])].tolist(), log.count.tolist(), strict=False)) == expected
    assert each_interval(log)[1].histogram == build_histogram([5] * 4)


def test_it_reads_values_of_a_coarser_unit_that_are_large_enough():
    # In units of 2 from 4096 on every bucket is one of ours.
    index = (2 << 10) + 100
    (low,), (high,) = (column.tolist() for column in Layout(3, 1).values(np.array([index])))
    log = read_log([*HEAD, f"0,1,0,{v2(zigzag(-index) + zigzag(9), lowest=2)}"])
    assert log.histogram() == build_histogram([low] * 9)
    assert high - low == 3


@pytest.mark.parametrize("digits", [0, 6, -1, 10**6])
def test_it_refuses_impossible_resolutions(digits):
    line = f"0,1,0,{v2(zigzag(1), digits=digits)}"
    with pytest.raises(HistogramError, match=f"line 3: the histogram has {digits} significant digits"):
        read_log([*HEAD, line, line])


@pytest.mark.slow
def test_it_does_not_inflate_a_bomb_of_five_digits_either():
    inner = struct.pack(">iiiiqqd", 0x1C849313, 2**30, 0, 5, 1, 2**40, 1.0) + bytes(120_000_000)
    packed = zlib.compress(inner)
    bomb = base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()
    with pytest.raises(HistogramError, match="too large"):
        read_log([*HEAD, f"0,1,0,{bomb}", f"1,1,0,{v2(zigzag(1))}"])


def test_it_does_not_gather_an_endless_line():
    decoder = LogDecoder("READ")
    fed = 0
    with pytest.raises(HistogramError, match="line 2: the line is longer than 4 MiB"):
        for piece in [b"#[Logging for: READ]\n", *[b"A" * 65_536] * 1600]:
            fed += len(piece)
            assert not list(decoder.feed(piece))
    assert fed < MAX_LINE_LENGTH + 200_000
    whole = b"#[Logging for: READ]\n" + b"0" * (MAX_LINE_LENGTH + 1) + b"\n"
    with pytest.raises(HistogramError, match="line 2: the line is longer"):
        read_logs([whole])


def test_it_says_which_interval_of_many_is_damaged():
    good, beyond = v2(zigzag(3)), v2(zigzag(-60_000) + zigzag(1))
    lines = [f"{at},1,0,{good}" for at in range(30)]
    for bad in (beyond, v2(bytes([0x81])), v2(zigzag(-(2**40)) + zigzag(1))):
        with pytest.raises(HistogramError) as caught:
            read_log([*HEAD, *lines[:20], f"20,1,0,{bad}", *lines[21:]])
        assert caught.value.line_number == 23
