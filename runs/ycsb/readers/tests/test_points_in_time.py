"""Raw points have a rate over the time in which the client worked, and times that leap make no endless runs."""

import io
import time

import pytest

from runs.ycsb.clients import collect_logs
from runs.ycsb.file_grouping import group
from runs.ycsb.ingest import ingest
from runs.ycsb.merged import MergedRun
from runs.ycsb.readers import read_file
from runs.ycsb.readers.points import Points
from runs.ycsb.readers.raw import MAX_RUNS
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.series import Series
from runs.ycsb.tests.samples import DATA, merge_files
from runs.ycsb.window import Cut

T = 1_458_262_912
HEADLINE = "READ latency raw data: op, timestamp(ms), latency(us)\n"


def build_merged(content: str) -> MergedRun:
    (merged,) = merge_files(read_file("points.txt", io.BytesIO(content.encode())))
    assert isinstance(merged, MergedRun)
    return merged


def build_series(content: str) -> tuple[Series, ...]:
    (run,) = group(read_file("points.txt", io.BytesIO(content.encode())))
    return ingest([collect_logs(client) for client in run.clients], Cut(phase="load"))[1]


@pytest.mark.parametrize("begin", [0, 1, 300, 500, 700, 950, 999])
def test_the_rate_is_over_the_time_in_which_the_client_worked(begin):
    rows = [f"{'READ' if n % 2 else 'UPDATE'},{T * 1000 + begin + 10 * n},834\n" for n in range(3001)]
    merged = build_merged(HEADLINE + "".join(rows))
    assert merged.ok_operations == 3001
    assert merged.window.length_s == pytest.approx(30, abs=0.0011)
    assert merged.throughput_ops_s == pytest.approx(100, rel=0.001)
    for series in build_series(HEADLINE + "".join(rows)):
        if series.interval_s == 1:
            assert series.points["count"].sum() in (1500, 1501)
            assert series.points["covered_s"].sum() == pytest.approx(30, abs=0.0011)
            rates = series.points["rate_ops_s"][series.points["covered_s"] >= 0.1]
            assert rates == pytest.approx(50, rel=0.25)


@pytest.mark.parametrize("begin", [0, 300_000, 999_999])
def test_rate_of_start_times_spans_first_start_to_last_end(begin):
    rows = [f"READ,{T * 1_000_000 + begin + 10_000 * n},10000\n" for n in range(150)]
    merged = build_merged("operation,timestamp_us,latency_us\n" + "".join(rows))
    assert merged.ok_operations == 150
    assert merged.throughput_ops_s == pytest.approx(100, rel=0.01)


def test_a_late_cleanup_is_no_part_of_the_work():
    rows = [f"READ,{T * 1000 + 500 + 10 * n},834\n" for n in range(100)]
    merged = build_merged(HEADLINE + "".join(rows) + f"CLEANUP,{T + 9}200,5\n")
    assert merged.throughput_ops_s == pytest.approx(100, rel=0.02)


def test_all_operations_have_the_same_intervals_also_at_the_ends():
    counted = Points()
    counted.feed(f"READ,{T}400,5\nUPDATE,{T}900,7\nREAD,{T + 1}100,5\nUPDATE,{T + 2}250,9\n".encode())
    for log in counted.logs():
        assert log.start_s == pytest.approx([0.4, 1, 2])
        assert log.length_s == pytest.approx([0.6, 1, 0.25])


@pytest.mark.parametrize(
    ("millis", "start_s", "length_s"),
    [((400,), 0, 1), ((400, 400), 0, 1), ((200, 700), 0.2, 0.5), ((998, 999), 0.998, 0.001)],
)
def test_a_single_second_lasts_as_long_as_its_points_tell(millis, start_s, length_s):
    counted = Points()
    counted.feed("".join(f"READ,{T}{at},5\n" for at in millis).encode())
    (log,) = counted.logs()
    assert (log.start_s.tolist(), log.length_s.tolist()) == ([start_s], [pytest.approx(length_s)])


def is_said(run: ReadRun) -> bool:
    return any("more than 100 runs" in note.text for note in run.warnings)


def test_of_times_that_leap_only_so_many_runs_are_made():
    rows = "".join(f"{'READ' if n % 3 else 'UPDATE'},{(T + 400 * n) * 1000},834\n" for n in range(32_000))
    began = time.process_time()
    (file,) = read_file("points.txt", io.BytesIO((HEADLINE + rows).encode()))
    assert time.process_time() - began < 3
    assert len(file.runs) == MAX_RUNS
    assert sum(log.total for run in file.runs for log in run.logs) == 32_000
    assert [is_said(run) for run in file.runs] == [False] * (MAX_RUNS - 1) + [True]


def test_exactly_so_many_runs_are_told_apart_without_a_word():
    rows = "".join(f"READ,{(T + 400 * n) * 1000},834\n" for n in range(MAX_RUNS))
    (file,) = read_file("points.txt", io.BytesIO((HEADLINE + rows).encode()))
    assert len(file.runs) == MAX_RUNS
    assert not any(is_said(run) for run in file.runs)


@pytest.mark.parametrize("name", ["raw_file/0/points.txt", "go_ycsb/csv/0/points.csv"])
def test_real_points_have_the_rate_of_their_own_time(name):
    text = (DATA / name).read_text()
    is_go = "timestamp_us" in text
    rows = [line.split(",") for line in text.splitlines() if line.count(",") == 2 and line[-1].isdigit()]
    rows = [row for row in rows if row[0] in ("READ", "UPDATE")]
    starts = [int(at) / (1e6 if is_go else 1e3) for _, at, _ in rows]
    ends = [start + int(latency) / 1e6 if is_go else start for start, (_, _, latency) in zip(starts, rows, strict=True)]
    merged = build_merged(text)
    lasting_s = max(ends) - min(starts)
    assert merged.window.length_s == pytest.approx(lasting_s, rel=0.001)
    assert merged.throughput_ops_s == pytest.approx(merged.ok_operations / lasting_s, rel=0.001)
