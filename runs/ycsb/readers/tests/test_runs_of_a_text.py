"""Which lines are of one run: several in a file, killed ones between, streams put together, several writers."""

import pytest

from runs.ycsb.readers.tests.samples import metric, one, preamble, read_text, status, statuses, summary

ARGUMENTS = "-db site.ycsb.BasicDB -s -P workloads/workloada -threads 8 -target 1000 -t"
ECHO = f"java -cp /y/lib/core-0.17.0.jar:/y/conf site.ycsb.Client {ARGUMENTS}\n"
TEXT = preamble() + statuses(10, "READ", "UPDATE") + summary()
THUMBTACK = (
    "YCSB Client 0.1\nCommand line: -db com.yahoo.ycsb.BasicDB -p threadcount=30 {phase}\n"
    "[{op}], 0, 9195.5, 510.0\n[{op}], 100, 17743.25, 850.0\n"  # while it runs
    "[{op}], 0, 9195.5, 510.0\n[{op}], 100, 17000.0, 900.0\n[{op}], 200, 7000.5, 860.0\n[{op}], Operations, {n}\n"
    "[{op}], Retries, 2\n[{op}], AverageLatency(us), 500.5\n[{op}], MinLatency(us), 7\n[{op}], MaxLatency(us), 900\n"
    "[{op}], Return=0, {n}\n[OVERALL], Reconnections, 3.0\n[OVERALL], RunTime(ms), {time}.0\n"
    "[OVERALL], Operations, {n}.0\n[OVERALL], Throughput(ops/sec), 100.0\n"
    "java -cp /y/core/lib/core-0.1.4.jar com.yahoo.ycsb.Client -db com.yahoo.ycsb.BasicDB -p threadcount=30 {phase}\n"
)


def test_it_reads_one_run():
    run = one(TEXT)
    assert (run.format, run.version, run.phase, run.complete) == ("ycsb-text", "0.17.0", "measure", True)
    assert (run.runtime_ms, run.throughput_ops_s) == (10_000, 100)
    assert list(run.operations) == ["CLEANUP", "READ", "UPDATE"]
    assert len(run.status) == 11
    assert run.properties == {"db": "site.ycsb.BasicDB", "threadcount": "8", "target": "1000", "status": "true"}
    assert run.process["TOTAL_GC_TIME Time(ms)"] == 24
    assert not run.warnings


def test_it_parts_a_load_from_a_run():
    load, run = read_text(preamble("-load") + summary(INSERT=1000) + TEXT)
    assert (load.phase, run.phase) == ("load", "measure")
    assert (set(load.operations), len(load.status), len(run.status)) == ({"CLEANUP", "INSERT"}, 0, 11)
    assert load.last_line < run.first_line


@pytest.mark.parametrize("times", [2, 5])
def test_it_parts_summaries_without_anything_between(times):
    runs = read_text("".join(summary(1000 + number) for number in range(times)))
    assert [run.runtime_ms for run in runs] == [1000 + number for number in range(times)]
    assert all(run.complete for run in runs)


def test_it_keeps_a_killed_run_before_another():
    killed, run = read_text(preamble("-load") + statuses(7, "INSERT") + TEXT)
    assert (killed.complete, killed.phase, killed.runtime_ms, killed.operations) == (False, "load", None, {})
    assert (killed.status[-1].elapsed_s, killed.status[-1].operations_done) == (7, 700)
    assert "no summary" in killed.warnings[0].text and "700 operations after 7 s" in killed.warnings[0].text
    assert run.complete


def test_it_tells_a_new_run_by_status_lines_alone():
    first, second = read_text(statuses(7, "READ") + statuses(5, "READ").replace(" 04:1", " 05:1"))
    assert (len(first.status), len(second.status)) == (8, 6)


def test_a_clock_that_is_set_back_begins_no_run():
    run = one(statuses(5, "READ") + status(2, 9000, "READ") + summary(READ=9000))
    assert len(run.status) == 7 and run.complete


def test_a_line_that_comes_late_begins_no_run():
    lines = statuses(9, "READ").splitlines(keepends=True)
    lines[5], lines[6] = lines[6], lines[5]
    assert len(one("".join(lines)).status) == 10


@pytest.mark.parametrize("lines", [1, 2])
def test_last_status_may_be_between_the_summary_lines(lines):
    whole = summary().splitlines(keepends=True)
    run = one(statuses(9, "READ") + "".join(whole[:lines]) + status(10, 1000, "READ") + "".join(whole[lines:]))
    assert (len(run.status), run.complete) == (11, True)


def test_it_joins_standard_error_behind_standard_output():
    run = one(summary() + preamble() + statuses(10, "READ", "UPDATE"))
    assert (len(run.status), run.complete, run.version, run.phase) == (11, True, "0.17.0", "measure")


def test_status_lines_on_both_streams_count_once():
    lines = statuses(10, "READ").splitlines(keepends=True)
    assert len(one("".join(line * 2 for line in lines) + summary()).status) == 11
    assert len(one(statuses(10, "READ") + summary() + statuses(10, "READ")).status) == 11


def test_a_file_with_every_line_twice_says_the_same():
    doubled = "".join(line * 2 for line in TEXT.splitlines(keepends=True))
    assert one(doubled).operations == one(TEXT).operations
    assert len(one(doubled).status) == 11


def test_the_same_summary_once_more_is_no_second_run():
    assert len(read_text(TEXT + "\n# as said:\n" + summary())) == 1
    assert len(read_text(summary(READ=5) + summary(READ=6))) == 2


@pytest.mark.parametrize("text", [ECHO + TEXT, TEXT + ECHO], ids=["first", "last"])
def test_a_launchers_command_stands_first_or_last(text):
    run = one(text)
    assert run.command.startswith("java -cp ... site.ycsb.Client") and run.properties["threadcount"] == "8"


def test_commands_at_the_end_belong_to_the_run_before_them():
    load, run = read_text(
        THUMBTACK.format(op="INSERT", n=200, time=2000, phase="-load")
        + THUMBTACK.format(op="READ", n=300, time=3000, phase="-t")
    )
    assert (load.phase, load.runtime_ms, set(load.operations)) == ("load", 2000, {"INSERT"})
    assert (run.phase, run.runtime_ms, set(run.operations)) == ("measure", 3000, {"READ"})
    assert load.command.endswith("-load") and run.command.endswith("-t")
    assert load.complete and run.complete


def test_commands_at_the_beginning_belong_to_the_run_behind_them():
    load, run = read_text(ECHO.replace("-t\n", "-load\n") + summary(INSERT=9) + ECHO + summary(READ=9))
    assert (load.phase, run.phase) == ("load", "measure")


def test_a_command_of_which_nothing_came_is_no_run():
    read = read_text(ECHO + preamble() + "java.net.ConnectException: Connection refused\n")
    assert [run.has_results for run in read] == [False]
    assert len(read_text(preamble() + TEXT)) == 1


def test_it_reads_the_thumbtack_lineage():
    run = one(THUMBTACK.format(op="READ", n=300, time=3000, phase="-t"))
    read = run.operations["READ"]
    assert (run.format, run.version, run.complete) == ("thumbtack", "0.1.4", True)
    assert (read.count, read.returns, read.extra, read.percentiles_us) == (300, {"0": 300}, {"Retries": "2"}, {})
    assert [(point.at_ms, point.mean_us, point.rate_ops_s) for point in read.series] == [
        (0, 9195.5, 510), (100, 17000, 900), (200, 7000.5, 860),
    ]  # fmt: skip
    assert run.process == {"OVERALL Reconnections": 3, "OVERALL Operations": 300}


def test_trailing_totals_of_a_fork_belong_to_the_run_before():
    run = one(metric("READ", 500) + "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 500.0\n")
    assert (run.runtime_ms, run.operations["READ"].count, run.complete) == (1000, 500, True)


def test_fragments_are_runs():
    """One client states each number once: with another value the next run begins."""
    runs = read_text(metric("READ", 500) + "\n# another\n" + metric("READ", 600, mean=7.5))
    assert [(run.runtime_ms, run.complete, run.operations["READ"].count) for run in runs] == [
        (None, False, 500), (None, False, 600),
    ]  # fmt: skip
    assert [run.operations["READ"].mean_us for run in runs] == [500, 7.5]


def test_a_fragment_before_a_summary_is_a_run_of_its_own():
    fragment, run = read_text(metric("READ", 500) + summary(READ=600))
    assert (fragment.complete, run.complete, run.operations["READ"].count) == (False, True, 600)


# --- several writers in one file ---------------------------------------------------------------------------------


def shipped(front: str, text: str) -> list[str]:
    return [front + line + "\n" for line in text.splitlines()]


@pytest.mark.parametrize(
    "front",
    [
        "2024-05-01T10:00:00.123456Z ",
        "2024-05-01 10:00:00,123 stdout: ",
        "2024-05-01T10:00:00.123456789Z stdout F ",
        "client-1  | ",
        "2024-05-01 pod/x | ",
        "[pod/ycsb-0/client] ",
        "    ",
        "\t",
        "> ",
        "ycsb_1 | 2024-05-01T10:00:00Z ",
    ],
)
def test_what_a_log_shipper_puts_in_front_changes_nothing(front):
    run, plain = one("".join(shipped(front, TEXT))), one(TEXT)
    assert run.operations == plain.operations
    assert list(run.status) == list(plain.status)
    assert (run.complete, run.version, run.phase, run.process) == (True, "0.17.0", "measure", plain.process)
    assert run.properties == plain.properties


@pytest.mark.parametrize(("first", "second"), [("client-1  | ", "client-2  | "), ("[pod/a/c] ", "[pod/b/c] ")])
def test_writers_are_told_apart_by_what_their_lines_begin_with(first, second):
    other = preamble() + statuses(10, "READ") + summary(READ=77)
    mixed = [line for pair in zip(shipped(first, TEXT), shipped(second, other), strict=False) for line in pair]
    mixed += shipped(first, TEXT)[len(other.splitlines()) :]
    one_client, other_client = read_text("".join(mixed))
    assert one_client.operations == one(TEXT).operations
    assert other_client.operations["READ"].count == 77
    assert [len(run.status) for run in (one_client, other_client)] == [11, 11]
    assert one_client.source != other_client.source and one_client.source in first


def test_a_bar_in_a_line_makes_no_writer():
    assert (
        one(TEXT.replace("Starting test.", "a | b\nStarting test.\nx | [Thread-1], 5, 6")).operations
        == one(TEXT).operations
    )
