"""Logs that are read as streams give the numbers, series and intervals of the same logs in memory."""

import contextlib
import dataclasses
import itertools
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb import ingest as ingesting
from runs.ycsb.errors import HistogramError, MergeError
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merge import recut
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.stored import Write
from runs.ycsb.summary import parse_summary
from runs.ycsb.tests.hdrlogs import build_file, each_interval, get_lines
from runs.ycsb.tests.in_memory import Kept, collect_logs, get_intervals, merged_in_memory, series_in_memory, statements
from runs.ycsb.tests.samples import DATA, made_log, steady_log
from runs.ycsb.window import Cut


def source(content: bytes, piece: int = 1000) -> LogSource:
    return LogSource(lambda: (content[at : at + piece] for at in range(0, len(content), piece)))


def recorded(name: str, number: int, **more) -> ClientLogs:
    """One recorded client; `name` is its folder below data."""
    logs = [source(path.read_bytes()) for path in sorted((DATA / name).glob("*.hdr"))]
    summary = DATA / name / "summary.txt"
    stated = parse_summary(summary.read_text()) if summary.exists() else None
    return ClientLogs(number, logs, summary=stated, threads=2, **more)


def made(number: int, *logs: IntervalLog, **more) -> ClientLogs:
    sources = [source(build_file(get_lines(log))) for log in logs]
    return ClientLogs(number, sources, **{"clock_steps": (), **more})


def assert_same_numbers(found: MergedRun, expected: MergedRun) -> None:
    for field in dataclasses.fields(MergedRun):
        if field.name not in ("timelines", "intervals"):
            assert getattr(found, field.name) == getattr(expected, field.name), field.name
    for mine, theirs in zip(found.timelines, expected.timelines, strict=True):
        assert mine.name == theirs.name
        for column in ("client", "start_s", "length_s", "totals"):
            assert np.array_equal(getattr(mine, column), getattr(theirs, column)), (mine.name, column)


def assert_same(clients: Sequence[ClientLogs], cut: Cut) -> tuple[MergedRun, Kept]:
    kept = Kept()
    merged, all_series = ingest(clients, cut, keep=kept)
    expected, intervals = merged_in_memory(clients, cut)
    assert_same_numbers(merged, expected)
    held = [dataclasses.replace(client, logs=collect_logs(client)) for client in clients]
    kept_of_held = Kept()
    assert_same_numbers(ingest(held, cut, keep=kept_of_held)[0], expected)
    assert_same_numbers(ingest(held, cut, has_series=False)[0], expected)
    series = series_in_memory(expected, intervals)
    assert [(series.operation, series.kind, series.interval_s) for series in all_series] == [
        (wanted.operation, wanted.kind, wanted.interval_s) for wanted in series
    ]
    for mine, theirs in zip(all_series, series, strict=True):
        assert mine.points.tobytes() == theirs.points.tobytes()
    for entry, other, wanted in zip(kept.stored(), kept_of_held.stored(), intervals, strict=True):
        stored = get_intervals(entry)
        assert entry.equals(other)
        for column in ("client", "start_s", "length_s", "offsets", "index", "count"):
            assert np.array_equal(getattr(stored, column), getattr(wanted, column)), (wanted.name, column)
    return merged, kept


def lively(seed: int, seconds: int, *, first_s: float = 0.0, per_second: int = 40) -> IntervalLog:
    """Seconds of random latencies whose borders wander."""
    dice = np.random.default_rng(seed)
    starts = np.round(first_s + np.arange(seconds + 1) + dice.uniform(-0.02, 0.02, seconds + 1), 3)
    rows = [
        (float(start), round(float(end - start), 3), dice.lognormal(6, 1, per_second).astype(int).tolist())
        for start, end in itertools.pairwise(starts)
    ]
    return made_log("READ", rows)


@pytest.mark.parametrize(
    ("names", "cut"),
    [
        (["two_clients/0", "two_clients/1"], Cut(1, 3)),
        (["two_clients/0", "two_clients/1"], Cut(0.5, None, 1.5)),
        (["load/0", "load/1"], Cut(phase="load")),
        (["target/0"], Cut(1)),
        (["stock_v1/0"], Cut()),
        (["killed/0"], Cut(1)),
        (["not_loaded/0"], Cut()),
    ],
)
def test_equals_in_memory_merge_of_recorded_clients_exactly(names, cut):
    clients = [recorded(name, number, clock_offset_s=0.25 * number) for number, name in enumerate(names)]
    assert_same(clients, cut)


@pytest.mark.slow
def test_equals_in_memory_merge_of_late_intervals_and_failures():
    long = [(0.0, 1.0, [5] * 10), (1.0, 130.0, [7] * 400), (131.0, 1.0, [5] * 10), (132.0, 10.0, []), (142, 1, [9])]
    clients = [
        made(0, made_log("READ", long), steady_log("READ-FAILED", 140, 2), steady_log("CLEANUP", 1, 4, first_s=143)),
        made(3, lively(1, 150, first_s=0.4), steady_log("UPDATE", 60, 5, first_s=20.2), threads=4),
        made(7, steady_log("Intended-READ", 9, 3)),
        made(8),
    ]
    found, _ = assert_same(clients, Cut(3.0, None, 7.0))
    assert [entry.number for entry in found.missing] == [7, 8]
    assert_same(clients[:2], Cut(phase="load"))


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_it_gives_the_numbers_of_any_logs(data):
    rows = st.lists(
        st.tuples(st.floats(0.001, 30), st.lists(st.integers(0, 10**8), max_size=4)), min_size=1, max_size=8
    )
    clients = []
    for number in range(data.draw(st.integers(1, 3))):
        logs = []
        for name in data.draw(st.sets(st.sampled_from(["READ", "READ-FAILED", "UPDATE", "Intended-READ"]), min_size=1)):
            start, intervals = 0.0, []
            for length, values in data.draw(rows):
                intervals.append((start, length, values))
                start += length
            logs.append(made_log(name, intervals))
        clients.append(made(number, *logs))
    cut = Cut(phase=data.draw(st.sampled_from(["load", "measure"])))
    try:
        merged_in_memory(clients, cut)[0]
    except MergeError as error:
        with pytest.raises(MergeError) as caught:
            ingest(clients, cut)
        assert str(caught.value) == str(error)
    else:
        assert_same(clients, cut)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 7, 4096, 1 << 20])
def test_it_does_not_matter_in_which_pieces_a_log_comes(piece):
    paths = sorted((DATA / "two_clients/0").glob("*.hdr"))
    run = recorded("two_clients/0", 0)
    other = dataclasses.replace(run, logs=[source(path.read_bytes(), piece) for path in paths])
    assert_same_numbers(ingest([other], Cut())[0], ingest([run], Cut())[0])


def test_it_keeps_several_measurements_of_one_file_apart():
    reads, updates = lively(1, 20), lively(2, 20)
    lines = [*get_lines(reads)[:4], *(row for pair in zip(get_lines(reads, tag="READ"), get_lines(updates, tag="UPDATE"), strict=True) for row in pair)]  # fmt: skip  # noqa: E501
    together = ClientLogs(0, [source(build_file(lines))])
    apart = made(0, reads, dataclasses.replace(updates, operation="UPDATE"))
    assert_same_numbers(ingest([together], Cut(2))[0], ingest([apart], Cut(2))[0])
    put_together = ClientLogs(0, [source(build_file([*get_lines(reads), *get_lines(dataclasses.replace(updates, operation="UPDATE", start_time_s=reads.start_time_s))]))])  # fmt: skip  # noqa: E501
    assert_same_numbers(ingest([put_together], Cut(2))[0], ingest([apart], Cut(2))[0])


def test_plain_names_are_response_times_if_nothing_else_exists():
    clients = [made(0, lively(1, 20), steady_log("READ-FAILED", 20, 1), response_only=True)]
    found, kept = assert_same(clients, Cut(2))
    (read,) = found.operations
    assert (read.operation, read.kind, read.failed) == ("READ", "response", 18)
    assert found.throughput_ops_s == pytest.approx(40, rel=0.02)
    assert found.clients[0].busy_us == 0
    assert list(kept) == ["Intended-READ", "Intended-READ-FAILED"]


def test_it_leaves_a_last_line_out_that_broke_off():
    whole = build_file(get_lines(lively(1, 30)))
    last = whole.rindex(b"\n", 0, -1) + 1
    before = ingest([ClientLogs(0, [source(whole[:last])])], Cut())[0]
    for cut in range(last + 1, len(whole) - 1, 97):
        merged = ingest([ClientLogs(0, [source(whole[:cut])])], Cut())[0]
        assert merged.clients[0].truncated
        assert merged.operations == before.operations
        assert merged.clients[0].ended_s == before.clients[0].ended_s


def test_it_names_the_line_that_is_damaged():
    lines = get_lines(lively(1, 30))
    lines[20] = lines[20][:-30] + "AAAA" + lines[20][-26:]
    with pytest.raises(HistogramError, match="line 21"):
        ingest([ClientLogs(0, [source(build_file(lines))])], Cut())


def test_locates_last_operation_behind_empty_intervals():
    busy, idle = lively(1, 5), [(5.0 + second, 1.0, []) for second in range(300)]
    log = made_log(
        "READ",
        [*((i.start_s, i.length_s, [7, 7]) for i in each_interval(busy)), *idle, (305.0, 1.0, [5]), (306.0, 1.0, [])],
    )
    found, _ = assert_same([made(0, log)], Cut())
    assert found.clients[0].ended_s == log.start_time_s + 306


@pytest.mark.slow
@pytest.mark.parametrize("cut", [Cut(), Cut(10), Cut(12.5, 20), Cut(3, None, 30), Cut(phase="load")])
def test_it_is_cut_again_as_if_it_had_been_cut_so_at_first(cut):
    clients = [
        made(0, lively(1, 150), steady_log("READ-FAILED", 150, 2)),
        made(1, lively(2, 149, first_s=0.6), threads=4),
    ]
    kept = Kept()
    ingest(clients, Cut(5), keep=kept)
    assert_same_numbers(recut(kept.stored(), statements(clients), cut), merged_in_memory(clients, cut)[0])


@pytest.mark.slow
def test_it_cuts_a_long_run_at_whole_tens(monkeypatch):
    monkeypatch.setattr(ingesting, "MAX_FINE_S", 100)
    clients = [made(0, lively(1, 300), lively_updates(300)), made(1, lively(2, 290, first_s=3.3))]
    kept = Kept()
    whole = ingest(clients, Cut(5), keep=kept)[0]
    assert_same_numbers(whole, merged_in_memory(clients, Cut(5))[0])
    stored = kept.stored()
    assert all(len(entry.kept) < len(entry.timeline) / 8 for entry in stored)
    assert (
        recut(stored, statements(clients), Cut(phase="load")).operations
        == merged_in_memory(clients, Cut(phase="load"))[0].operations
    )
    cut = Cut(40, None, 60)
    again, fine = recut(stored, statements(clients), cut), merged_in_memory(clients, cut)[0]
    assert again.window == fine.window
    for client, other in zip(again.clients, fine.clients, strict=True):
        assert (client.started_s, client.ended_s, client.log_counts) == (
            other.started_s,
            other.ended_s,
            other.log_counts,
        )
        assert client.covered_s == pytest.approx(other.covered_s, abs=10.1)
        assert client.throughput_ops_s == pytest.approx(other.throughput_ops_s, rel=0.01)
        middle = [
            sum(
                entry.totals[(entry.client == client.number) & inside(entry, again, client)].sum()
                for entry in fine.timelines
            )
        ]
        assert client.operations == pytest.approx(middle[0], rel=0.06)


def lively_updates(seconds: int) -> IntervalLog:
    return dataclasses.replace(lively(9, seconds, first_s=0.004), operation="UPDATE")


def inside(entry, run: MergedRun, client):
    return (entry.midpoint_s >= run.window.from_s) & (entry.midpoint_s < run.window.to_s)


@contextlib.contextmanager
def nowhere(name: str) -> Iterator[Write]:
    """Keeps nothing."""
    yield lambda data: None


@pytest.mark.slow
def test_its_memory_does_not_grow_with_the_length_of_the_logs():
    lines = get_lines(lively(1, 1, per_second=3000))
    payload = lines[4].partition(",")[2].partition(",")[2]

    def opened(seconds: int) -> LogSource:
        def pieces() -> Iterator[bytes]:
            yield build_file(lines[:4])
            for second in range(seconds):
                yield f"{second}.000,1.000,{payload}\n".encode()

        return LogSource(pieces)

    def peak(seconds: int) -> int:
        tracemalloc.start()
        ingest([ClientLogs(0, [opened(seconds)])], Cut(), keep=nowhere)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)
    # Columns of some bytes for each second stay; the histograms, 10 kB for each, do not.
    assert peak(3000) - peak(300) < 2700 * 1500
