"""go-ycsb's outputs of every age and style: only the final report counts, the others show the way there."""

import io
import re

import pytest

from runs.ycsb.readers import read_file
from runs.ycsb.readers.go_report_lines import plain_line
from runs.ycsb.readers.go_run_builder import LiveReports, duration_ms
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.redact import HIDDEN
from runs.ycsb.tests.samples import DATA

HEAD = """Using request distribution 'zipfian' a keyrange of [0 999]
***************** properties *****************
"mysql.password"="hunter2"
"mysql.host"="10.0.0.1"
"redis.addr"="redis://user:hunter2@10.0.0.2"
"command"="run"
"threadcount"="8"
"dotransactions"="true"
**********************************************
"""
REPORTS = """READ   - Takes(s): 10.0, Count: 1000, OPS: 100.0, Avg(us): 50, Min(us): 5, Max(us): 900, 99th(us): 400
TOTAL  - Takes(s): 10.0, Count: 1990, OPS: 199.0, Avg(us): 60, Min(us): 5, Max(us): 950, 99th(us): 450
UPDATE - Takes(s): 9.9, Count: 990, OPS: 99.0, Avg(us): 70, Min(us): 6, Max(us): 950, 99th(us): 500
UPDATE_ERROR - Takes(s): 9.9, Count: 10, OPS: 1.0, Avg(us): 70, Min(us): 6, Max(us): 950, 99th(us): 500
"""
FINAL = """**********************************************
Run finished, takes 20.5s
READ   - Takes(s): 20.5, Count: 2000, OPS: 97.6, Avg(us): 51, Min(us): 5, Max(us): 901, 50th(us): 40, 99.9th(us): 800
TOTAL  - Takes(s): 20.5, Count: 3980, OPS: 194.1, Avg(us): 61, Min(us): 5, Max(us): 951, 50th(us): 50, 99.9th(us): 801
UPDATE - Takes(s): 20.4, Count: 1980, OPS: 97.1, Avg(us): 71, Min(us): 6, Max(us): 951, 50th(us): 60, 99.9th(us): 802
UPDATE_ERROR - Takes(s): 20.4, Count: 20, OPS: 1.0, Avg(us): 70, Min(us): 6, Max(us): 950, 50th(us): 60, 99.9th(us): 802
"""


def get_runs(text: str) -> tuple[ReadRun, ...]:
    (file,) = read_file("out.txt", io.BytesIO(text.encode()))
    assert file.error is None
    return file.runs


def read_run(text: str) -> ReadRun:
    (run,) = get_runs(text)
    return run


def test_only_the_final_report_counts():
    run = read_run(HEAD + REPORTS + FINAL)
    assert (run.phase, run.runtime_ms, run.throughput_ops_s, run.complete) == ("measure", 20_500.0, 194.1, True)
    assert {name: operation.count for name, operation in run.operations.items()} == {
        "READ": 2000, "TOTAL": 3980, "UPDATE": 1980, "UPDATE_ERROR": 20,
    }  # fmt: skip
    read = run.operations["READ"]
    assert (read.mean_us, read.min_us, read.max_us, read.rate_ops_s) == (51, 5, 901, 97.6)
    assert read.percentiles_us == {"50": 40, "99.9": 800}
    assert read.extra == {"takes(s)": "20.5"}


def test_reports_become_the_progress_of_the_run():
    first, second = read_run(HEAD + REPORTS + FINAL).status
    assert (first.elapsed_s, first.operations_done) == (10, 2000), "failed operations were done too"
    assert (second.elapsed_s, second.operations_done) == (20, 4000)
    assert {name: operation.count for name, operation in second.operations.items()} == {
        "READ": 1000, "TOTAL": 1990, "UPDATE": 990, "UPDATE_ERROR": 10,
    }  # fmt: skip


def test_secrets_are_hidden_among_the_properties():
    properties = read_run(HEAD + FINAL).properties
    assert properties["mysql.password"] == HIDDEN
    assert properties["mysql.host"] == "10.0.0.1"
    assert "hunter2" not in repr(properties)
    assert properties["threadcount"] == "8"


def test_without_a_final_report_the_last_one_is_a_part():
    run = read_run(HEAD + REPORTS + REPORTS.replace("10.0, Count: 1000", "20.0, Count: 2000"))
    assert not run.complete
    assert run.runtime_ms is None
    assert run.operations["READ"].count == 2000
    assert ["no final report" in note.text for note in run.warnings] == [True]


def test_a_client_that_was_stopped_says_so():
    run = read_run(HEAD + REPORTS + "\nGot signal [interrupt] to exit.\n" + FINAL)
    assert run.complete
    assert [(note.line, "signal" in note.text) for note in run.warnings] == [(15, True)]


@pytest.mark.parametrize(
    ("command", "operations", "phase"),
    [
        ('"dotransactions"="false"', "INSERT", "load"),
        ('"dotransactions"="true"', "INSERT", "measure"),
        ('"command"="load"', "INSERT", "load"),
        ("$ ./bin/go-ycsb load mysql -P workloads/workloada -p mysql.password=hunter2", "INSERT", "load"),
        ("$ ./bin/go-ycsb run mysql", "INSERT", "measure"),
        ("", "READ", "measure"),
        ("", "INSERT", None),
    ],
)
def test_the_phase_is_what_is_stated_or_what_only_one_does(command, operations, phase):
    report = f"{operations} - Takes(s): 1.0, Count: 5, OPS: 5.0, Avg(us): 5, Min(us): 5, Max(us): 5, 99th(us): 5\n"
    run = read_run(f"{command}\nRun finished, takes 1s\n{report}")
    assert run.phase == phase
    assert "hunter2" not in run.command


def test_load_and_run_in_one_file_are_two_runs():
    load = HEAD.replace('"true"', '"false"') + FINAL.replace("READ  ", "INSERT").replace(
        "Run finished", "Load finished"
    )
    first, second = get_runs("$ go-ycsb load x\n" + load + "$ go-ycsb run x\n" + HEAD + REPORTS + FINAL)
    assert (first.phase, first.command, "INSERT" in first.operations) == ("load", "$ go-ycsb load x", True)
    assert (second.phase, second.command, second.operations["READ"].count) == ("measure", "$ go-ycsb run x", 2000)
    assert (first.first_line, first.last_line + 1, second.last_line) == (1, second.first_line, 36)


def test_final_reports_alone_are_runs_too():
    assert [run.operations["READ"].count for run in get_runs(FINAL + FINAL.replace("2000", "2001"))] == [2000, 2001]


# --- Ages ---


def test_it_reads_the_blocks_of_the_first_weeks():
    run = read_run("Run finished, takes 2s\nREAD:\nOperations  : 1000\nAvg  Lan(us): 120\n95th Lan(us): 3000\n"
                 "99th Lan(us): 5000\nUPDATE:\nOperations  : 10\nAvg  Lan(us): 7\n")  # fmt: skip
    assert {name: (entry.count, entry.mean_us) for name, entry in run.operations.items()} == {
        "READ": (1000, 120), "UPDATE": (10, 7),
    }  # fmt: skip
    assert run.operations["READ"].percentiles_us == {"95": 3000, "99": 5000}


@pytest.mark.parametrize("front", ["READ - ", "READ   - Takes(s): 9.7, "])
def test_percentiles_of_buckets_are_their_upper_ends(front):
    run = read_run(
        f"Run finished, takes 9.7s\n{front}Count: 7, QPS: 0.7, Avg(us): 12, 95th(us): 3000, 99th(us): 4000\n"
    )
    read = run.operations["READ"]
    assert (read.count, read.mean_us, read.percentiles_us) == (7, 12, {"95": 3000, "99": 4000})
    assert (read.resolution_us, read.rounds_up) == (1000, True)
    assert ["upper ends" in note.text for note in run.warnings] == [True]


def test_a_percentile_beyond_all_buckets_is_unknown():
    read = read_run(
        "Run finished, takes 9s\nREAD - Count: 7, Avg(us): 2000000, 95th(us): 3000, 99th(us): 0\n"
    ).operations
    assert read["READ"].percentiles_us == {"95": 3000}


def test_percentiles_of_histograms_are_what_they_are():
    (line,) = [line for line in FINAL.split("\n") if line.startswith("READ")]
    run = read_run("Run finished, takes 9s\n" + re.sub(r"(?<=th\(us\): )\d+", "1000", line) + "\n")
    assert (run.operations["READ"].resolution_us, run.operations["READ"].rounds_up) == (None, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1m7.43s", 67_430.0),
        ("151.030789ms", 151.030789),
        ("1h2m3.5s", 3_723_500.0),
        ("872.5µs", 0.8725),
        ("2.256988725s", 2256.988725),
        ("0s", 0.0),
        ("1m7", None),
        ("", None),
        ("9", None),
    ],
)
def test_it_reads_durations_of_go(text, expected):
    assert duration_ms(text) == expected


# --- Styles ---


@pytest.mark.parametrize("style", ["plain", "table", "json"])
def test_real_outputs_state_their_final_report(style):
    text = (DATA / "go_ycsb" / style / "0" / "stdout.txt").read_text()
    final = text[text.index("Run finished") :]
    run = read_run(text)
    assert run.format == {"plain": "go-ycsb"}.get(style, f"go-ycsb-{style}")
    assert run.complete
    assert list(run.operations) == ["READ", "READ_MODIFY_WRITE", "TOTAL", "UPDATE"]
    for name, operation in run.operations.items():
        for number in (operation.count, operation.rate_ops_s, *map(int, operation.percentiles_us.values())):
            assert re.search(rf"\b{name}\b.*\b{number}\b|\b{number}\b.*\b{name}\b", final), (name, number)
        assert list(operation.percentiles_us) == ["50", "90", "95", "99", "99.9", "99.99"] or style == "json"
    assert [line.elapsed_s for line in run.status] == [1, 2, 2]


def test_tables_may_be_drawn_with_any_lines():
    text = (DATA / "go_ycsb" / "table" / "0" / "stdout.txt").read_text()
    assert read_run(text.replace("|", "│").replace("+", "┼").replace("-", "─")).operations == read_run(text).operations


@pytest.mark.parametrize("style", ["csv", "raw"])
def test_points_become_intervals_named_as_in_other_logs(style):
    path = DATA / "go_ycsb" / style / "0" / "points.csv"
    rows = [line.split(",") for line in path.read_text().split("\n")[1:] if line]
    (file,) = read_file(str(path), io.BytesIO(path.read_bytes()))
    assert file.format == "go-ycsb-csv"
    (run,) = file.runs
    assert run.complete
    logs = {log.operation: log for log in run.logs}
    assert set(logs) == {"READ", "UPDATE", "READ-MODIFY-WRITE", "TOTAL"}
    for printed, name in (("READ", "READ"), ("READ_MODIFY_WRITE", "READ-MODIFY-WRITE")):
        values = [int(latency) for operation, _, latency in rows if operation == printed]
        assert logs[name].total == len(values)
        assert logs[name].histogram().max == pytest.approx(max(values), rel=0.001)
    ends = [int(start) + int(latency) for _, start, latency in rows]
    assert logs["READ"].start_time_s == min(ends) // 1_000_000


def test_points_may_stand_behind_the_properties():
    text = (DATA / "go_ycsb" / "csv_stdout" / "0" / "stdout.txt").read_text()
    run = read_run(text)
    assert (run.format, run.phase, run.complete) == ("go-ycsb-csv", "measure", True)
    assert sum(log.total for log in run.logs) == len(re.findall(r"^[A-Z_]+,\d+,\d+$", text, re.MULTILINE))
    assert [len(run.logs) for run in get_runs(text + text)] == [4, 4]


def test_stdout_without_points_frames_the_run():
    run = read_run((DATA / "go_ycsb" / "csv" / "0" / "stdout.txt").read_text())
    assert (run.complete, run.operations, run.runtime_ms) == (True, {}, 2008.193644)


def test_failed_operations_keep_their_name():
    run = read_run((DATA / "go_ycsb" / "errors" / "0" / "stdout.txt").read_text())
    assert {name: operation.count for name, operation in run.operations.items()} == {
        "READ": 274, "TOTAL": 340, "UPDATE": 66, "UPDATE_ERROR": 60,
    }  # fmt: skip


@pytest.mark.slow
def test_many_reports_are_thinned_out_and_stay_in_order():
    report = "READ - Takes(s): {0}.0, Count: {0}00, OPS: 1.0, Avg(us): 1, Min(us): 1, Max(us): 1, 50th(us): 1\n"
    run = read_run(HEAD + "".join(report.format(number) for number in range(1, 25_000)))
    assert 5_000 <= len(run.status) <= 10_000
    seconds = [line.elapsed_s for line in run.status]
    assert seconds == sorted(seconds)
    assert all(line.operations_done == 100 * line.elapsed_s for line in run.status)
    assert sum(line.operations["READ"].count or 0 for line in run.status) == run.status[-1].operations_done


def test_live_reports_count_by_interval():
    lines = [
        "READ   - Takes(s): 1.0, Count: 100, OPS: 100.0, Avg(us): 20, Max(us): 90, 99th(us): 80",
        "READ_ERROR - Takes(s): 1.0, Count: 5, OPS: 5.0, Avg(us): 9, Max(us): 9, 99th(us): 9",
        "TOTAL  - Takes(s): 1.0, Count: 100, OPS: 100.0, Avg(us): 20, Max(us): 90, 99th(us): 80",
        "READ   - Takes(s): 3.0, Count: 400, OPS: 133.3, Avg(us): 30, Max(us): 95, 99th(us): 85",
        "READ_ERROR - Takes(s): 3.0, Count: 5, OPS: 1.7, Avg(us): 9, Max(us): 9, 99th(us): 9",
        "TOTAL  - Takes(s): 3.0, Count: 400, OPS: 133.3, Avg(us): 30, Max(us): 95, 99th(us): 85",
        "READ   - Takes(s): 4.0, Count: 500, OPS: 125.0, Avg(us): 30, Max(us): 95, 99th(us): 85",
    ]
    reports = LiveReports()
    first, second = [status for line in map(plain_line, lines) if line and (status := reports.add(line))]
    assert (first.elapsed_s, first.operations_done, first.rate_ops_s) == (1, 105, 105.0)
    assert (second.operations_done, second.rate_ops_s) == (405, 150.0)
    assert second.operations["READ"].count == 300 and second.operations["READ"].p99 == 85.0
    assert (first.operations["READ-FAILED"].count, second.operations["READ-FAILED"].count) == (5, 0)
