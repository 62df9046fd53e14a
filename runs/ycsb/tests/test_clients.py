"""Which files are one client's, which clients are one run's, and their merge."""

import zlib
from dataclasses import replace

import pytest

from runs.ycsb.bounds import Bounds
from runs.ycsb.file_grouping import group
from runs.ycsb.merged import MergedRun
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.status import StatusLine
from runs.ycsb.summary_run import SummarisedRun
from runs.ycsb.tests.samples import get_operation, merge_files, steady_log

T0 = 1_700_000_000.0


def log(name, operation="READ", seconds=5, per_second=100, *, start_time_s=T0, latency_us=1000):
    # No two clients start in the same millisecond.
    start_time_s += zlib.crc32(name.encode()) % 1000 / 1e4
    made = replace(steady_log(operation, seconds, per_second, latency_us=latency_us), start_time_s=start_time_s)
    return ReadFile(name=name, format="hdr-log", runs=(ReadRun(format="hdr-log", logs=(made,)),))


def text(name, count=500, *, operation="READ", phase="measure", throughput=None, status=(), p99=1000.0, **more):
    return ReadFile(
        name=name, format="ycsb-text", runs=(one(count, operation, phase, throughput, status, p99, **more),)
    )


def one(count=500, operation="READ", phase="measure", throughput=None, status=(), p99=1000.0, **more):
    return ReadRun(
        format="ycsb-text",
        phase=phase,
        runtime_ms=5000.0,
        throughput_ops_s=count / 5 if throughput is None else throughput,
        complete=True,
        operations={operation: ReadOperation(count=count, mean_us=999.0, min_us=1.0, max_us=p99 * 2,
                                             percentiles_us={"99": p99})},
        status=status,
        **more,
    )  # fmt: skip


def lines(start_s, seconds=5, per_second=100):
    return tuple(StatusLine(at, at * per_second, 1.0, at_s=start_s + at) for at in range(seconds + 1))


def told(files):
    """For every run its phase and the files of every client."""
    return [(run.phase, [list(client.names) for client in run.clients]) for run in group(files)]


def test_folders_are_clients():
    files = [text("0/summary.txt"), log("0/READ.hdr"), log("0/UPDATE.hdr", "UPDATE"), text("1/summary.txt", 400),
             log("1/READ.hdr"), log("1/UPDATE.hdr", "UPDATE")]  # fmt: skip
    assert told(files) == [
        (
            "measure",
            [
                ["0/summary.txt", "0/READ.hdr", "0/UPDATE.hdr"],
                ["1/summary.txt", "1/READ.hdr", "1/UPDATE.hdr"],
            ],
        )
    ]


def test_common_stems_are_clients():
    files = [text("client-1.txt"), text("client-10.txt", 400), text("client-2.txt", 300), log("client-1.READ.hdr"),
             log("client-2-READ.hdr"), log("client-10_READ.hdr")]  # fmt: skip
    assert told(files) == [
        (
            "measure",
            [
                ["client-1.txt", "client-1.READ.hdr"],
                ["client-2.txt", "client-2-READ.hdr"],
                ["client-10.txt", "client-10_READ.hdr"],
            ],
        )
    ]


def test_members_of_an_archive_are_files_like_others():
    files = [text("results.zip/client-1.txt"), text("results.zip/client-2.txt", 400)]
    assert told(files) == [("measure", [["results.zip/client-1.txt"], ["results.zip/client-2.txt"]])]


def test_the_nth_file_of_a_name_is_the_nth_clients():
    files = [log("READ.hdr"), log("UPDATE.hdr", "UPDATE"), log("READ.hdr"), log("UPDATE.hdr", "UPDATE")]
    assert told(files) == [("measure", [["READ.hdr", "UPDATE.hdr"], ["READ.hdr", "UPDATE.hdr"]])]


def test_a_prefix_of_a_log_is_no_part_of_its_operation():
    files = [log("outREAD.hdr"), log("outREAD-MODIFY-WRITE.hdr", "READ-MODIFY-WRITE"), log("outIntended-READ.hdr",
             "Intended-READ"), log("outREAD-FAILED.hdr", "READ-FAILED")]  # fmt: skip
    assert [len(run.clients) for run in group(files)] == [1]


def test_what_a_browser_adds_to_a_name_is_a_client():
    assert told([log("READ.hdr"), log("READ (1).hdr")]) == [("measure", [["READ.hdr"], ["READ (1).hdr"]])]


def test_output_and_error_of_a_client_belong_together():
    status = ReadFile(
        "1/stderr.txt", runs=(ReadRun(format="ycsb-text", status=lines(T0), command="java", version="0.17.0"),)
    )
    (run,) = group([text("1/stdout.txt"), status])
    (client,) = run.clients
    assert len(client.summary.status) == 6
    assert (client.summary.version, client.summary.command) == ("0.17.0", "java")
    assert client.summary.operations["READ"].count == 500


def test_logs_go_to_the_summary_that_states_their_counts():
    """The names say nothing: workloada.txt and READ.hdr share no word."""
    files = [text("vm-a.txt", 500), text("vm-b.txt", 400), log("x/READ.hdr", per_second=80), log("y/READ.hdr")]
    assert told(files) == [("measure", [["vm-a.txt", "y/READ.hdr"], ["vm-b.txt", "x/READ.hdr"]])]


def test_logs_without_a_summary_are_separate_clients():
    assert told([log("a/READ.hdr"), log("b/READ.hdr")]) == [("measure", [["a/READ.hdr"], ["b/READ.hdr"]])]


def test_load_and_run_are_two_runs():
    both = ReadFile("out.txt", runs=(one(1000, "INSERT", "load"), one()))
    assert [(run.phase, len(run.clients)) for run in group([both])] == [("load", 1), ("measure", 1)]
    files = [text("load-1.txt", operation="INSERT", phase="load"), text("run-1.txt"),
             text("load-2.txt", 400, operation="INSERT", phase="load"), text("run-2.txt", 400)]  # fmt: skip
    assert told(files) == [
        ("load", [["load-1.txt"], ["load-2.txt"]]),
        ("measure", [["run-1.txt"], ["run-2.txt"]]),
    ]


def test_logs_of_a_load_are_not_those_of_the_run():
    files = [text("1/load.txt", operation="INSERT", phase="load"), text("1/run.txt"),
             log("1/load/INSERT.hdr", "INSERT"), log("1/READ.hdr")]  # fmt: skip
    found = {run.phase: run.clients[0].names for run in group(files)}
    assert found == {"load": ("1/load.txt", "1/load/INSERT.hdr"), "measure": ("1/run.txt", "1/READ.hdr")}


def test_several_runs_in_one_file_are_several_runs():
    file = ReadFile("history.txt", runs=(one(500), one(600), one(700)))
    assert [run.clients[0].summary.operations["READ"].count for run in group([file])] == [500, 600, 700]


def test_the_runs_of_two_clients_are_paired_in_order():
    files = [ReadFile("1.txt", runs=(one(500), one(600))), ReadFile("2.txt", runs=(one(501), one(601)))]
    found = [[client.summary.operations["READ"].count for client in run.clients] for run in group(files)]
    assert found == [[500, 501], [600, 601]]


def test_files_of_different_times_are_different_runs():
    files = [text("first.txt", 500, status=lines(T0)), text("second.txt", 501, status=lines(T0 + 3600)),
             text("third.txt", 502, status=lines(T0 + 1))]  # fmt: skip
    assert told(files) == [("measure", [["first.txt"], ["third.txt"]]), ("measure", [["second.txt"]])]


def test_different_clients_never_make_one_run():
    other = text("b.txt", 400)
    other = replace(other, runs=(replace(other.runs[0], format="go-ycsb"),))
    assert [len(run.clients) for run in group([text("a.txt"), other])] == [1, 1]
    as_json = replace(text("2.json", 300), runs=(replace(one(300), format="ycsb-json"),))
    assert [len(run.clients) for run in group([text("1.txt"), as_json, log("3/READ.hdr", per_second=7)])] == [3]


@pytest.mark.parametrize(
    ("names", "properties", "clients", "is_doubtful"),
    [
        (("redis.txt", "mongodb.txt"), ({}, {}), [1, 1], [False, False]),
        (("redis.txt", "mongodb.txt"), ({"recordcount": "9"}, {"recordcount": "9"}), [1, 1], [False, False]),
        (("lab/a.txt", "lab/b.txt"), ({"recordcount": "9"}, {"recordcount": "9"}), [2], [True]),
        (("run-1.txt", "run-2.txt"), ({}, {}), [2], [True]),
        (("run-1.txt", "run-2.txt"), ({"threadcount": "8"}, {"threadcount": "16"}), [1, 1], [False, False]),
        (("a-1-r2.txt", "a-2-r3.txt"), ({}, {}), [1, 1], [False, False]),
        (("client-1.txt", "client-2.txt"), ({}, {}), [2], [False]),
    ],
    ids=["nothing", "properties", "folder", "number", "threads", "numbers", "clients"],
)
def test_files_without_times_are_one_run_for_a_reason_only(names, properties, clients, is_doubtful):
    files = [text(name, 500 + n, properties=properties[n]) for n, name in enumerate(names)]

    runs = group(files)

    assert [len(run.clients) for run in runs] == clients
    assert [run.is_doubtful for run in runs] == is_doubtful


def test_files_of_one_time_are_not_doubtful():
    files = [text("first.txt", status=lines(T0)), text("second.txt", 501, status=lines(T0 + 1))]

    assert [run.is_doubtful for run in group(files)] == [False]
    assert [run.is_doubtful for run in group([text("run-1.txt"), text("run-2.txt", 7)], together=True)] == [False]


def load_part(name, start, count=1000, status=(), **properties):
    """A client's part of a load of 3,000 records."""
    stated = {"recordcount": "3000", "threadcount": "8", "insertstart": str(start), "insertcount": str(count)}
    text_of_part = {"operation": "INSERT", "phase": "load", "throughput": 1000 + len(name)}
    return text(name, count - len(name), status=status, properties=stated | properties, **text_of_part)


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        ([load_part("ada.txt", 0), load_part("grace.txt", 1000)], [["ada.txt", "grace.txt"]]),
        ([load_part("a/out.txt", 0), load_part("bb/out.txt", 1000)], [["a/out.txt", "bb/out.txt"]]),
        (
            [load_part("a.txt", 0), load_part("bb.txt", 2000), load_part("ccc.txt", 1000)],
            [["a.txt", "bb.txt", "ccc.txt"]],
        ),
        ([load_part("a.txt", 0), load_part("bb.txt", 0)], [["a.txt"], ["bb.txt"]]),
        ([load_part("a.txt", 0), load_part("bb.txt", 500)], [["a.txt"], ["bb.txt"]]),
        ([load_part("a.txt", 0), load_part("bb.txt", 2000)], [["a.txt"], ["bb.txt"]]),
        ([load_part("a.txt", 0), load_part("bb.txt", 1000, recordcount="2000")], [["a.txt"], ["bb.txt"]]),
        ([load_part("a.txt", 0), load_part("bb.txt", "x")], [["a.txt"], ["bb.txt"]]),
        (
            [load_part("a.txt", 0, status=lines(T0)), load_part("bb.txt", 1000, status=lines(T0 + 60))],
            [["a.txt"], ["bb.txt"]],
        ),
        (
            [load_part(name, start) for name, start in (("x/a", 0), ("x/bb", 0), ("x/ccc", 1000), ("x/dddd", 1000))],
            [["x/a", "x/ccc"], ["x/bb", "x/dddd"]],
        ),
        (
            [load_part(name, start) for name, start in (("x/a", 0), ("y/bb", 0), ("y/ccc", 1000), ("x/dddd", 1000))],
            [["x/a", "x/dddd"], ["y/bb", "y/ccc"]],
        ),
    ],
    ids=["names", "folders", "order", "equal", "overlap", "gap", "records", "text", "times", "repeats", "apart"],
)  # fmt: skip
def test_adjoining_key_ranges_are_of_one_load(files, runs):
    assert [list(run.names) for run in group(files)] == runs
    assert not any(run.is_doubtful for run in group(files))


def test_files_are_one_run_where_somebody_says_so():
    files = [text("first.txt", 500, status=lines(T0)), text("second.txt", 501, status=lines(T0 + 3600))]
    assert [len(run.clients) for run in group(files, together=True)] == [2]


def test_files_of_different_operations_are_different_runs():
    files = [text("workloadc.txt"), text("workloade.txt", 400, operation="SCAN")]
    assert [len(run.clients) for run in group(files)] == [1, 1]


def test_output_brought_twice_counts_once():
    (run,) = group([text("client1/out.txt"), text("client1/results.zip/out.txt")])
    assert len(run.clients) == 1
    assert [str(note) for note in run.notes] == [
        "client1/results.zip/out.txt states exactly what client1/out.txt states: it is counted once."
    ]


def test_log_brought_twice_counts_once():
    same = log("a/READ.hdr")
    (run,) = group([same, replace(same, name="a/hdr/READ.hdr")])
    assert len(run.clients) == 1
    assert run.notes[0].code == "copied_by_client"


@pytest.mark.parametrize("together", [False, True])
def test_output_as_that_of_another_client_stays_a_client(together):
    (run,) = group([text("client1/out.txt"), text("client2/out.txt")], together=together)
    assert len(run.clients) == 2
    assert [note.code for note in run.notes] == ["copied"]


def test_refused_files_are_left_out():
    assert group([ReadFile("photo.jpg", error="This is no output of YCSB.")]) == ()


# --- Merging ---


def test_it_adds_histograms_where_every_client_has_them():
    (merged,) = merge_files([log("a/READ.hdr"), log("b/READ.hdr", latency_us=3000)])
    assert isinstance(merged, MergedRun)
    assert (merged.clients_merged, merged.phase) == (2, "measure")
    assert get_operation(merged, "READ").ok == 1000
    assert get_operation(merged, "READ").histogram.percentile(99) == 3001


def test_it_merges_all_of_it_also_where_clients_start_apart():
    (merged,) = merge_files([log("a/READ.hdr"), log("b/READ.hdr", start_time_s=T0 + 2)])
    assert get_operation(merged, "READ").ok == 1000


def test_it_gives_bounds_where_a_client_left_no_histograms():
    files = [text("1/out.txt"), log("1/READ.hdr"), text("2/out.txt", 400, p99=3000.0)]
    (merged,) = merge_files(files)
    assert isinstance(merged, SummarisedRun)
    assert get_operation(merged, "READ").percentiles_us == {"99": Bounds(1000.0, 3000.0)}
    assert merged.notes == ("The percentiles are bounds: client 1 left no histograms.",)


def test_it_gives_bounds_where_a_log_of_an_operation_is_missing():
    summary = one()
    summary = replace(summary, operations={**summary.operations, "UPDATE": ReadOperation(count=7)})
    (merged,) = merge_files([ReadFile("out.txt", runs=(summary,)), log("READ.hdr")])
    assert isinstance(merged, SummarisedRun)
    assert get_operation(merged, "UPDATE").ok == 7
    other = replace(text("2.txt", 3), runs=(replace(one(3), operations={"READ": ReadOperation(count=3)}),))
    (merged,) = merge_files([ReadFile("1/out.txt", runs=(summary,)), log("1/READ.hdr"), other])
    assert merged.notes == (
        "The percentiles are bounds: client 0 left no histograms of UPDATE; client 1 left no histograms.",
    )


def test_uses_killed_clients_histograms_beside_a_summary():
    (merged,) = merge_files([text("1.txt", p99=3000.0), log("2/READ.hdr", per_second=40)])
    assert isinstance(merged, SummarisedRun)
    assert get_operation(merged, "READ").ok == 700
    assert get_operation(merged, "READ").percentiles_us["99"] == Bounds(1000.0, 3000.0)


def test_clients_that_never_worked_together_are_two_runs():
    assert len(merge_files([log("a/READ.hdr"), log("b/READ.hdr", start_time_s=T0 + 60)])) == 2


def test_threads_are_taken_from_the_properties():
    (merged,) = merge_files([text("1.txt", properties={"threadcount": "8"})])
    assert merged.clients[0].threads == 8


def test_values_that_were_measured_twice_are_merged_once():
    """measurementtype=hdrhistogram+raw leaves HdrREAD.hdr and points named RawREAD."""
    points = steady_log("RawREAD", 5, 100)
    both = [log("HdrREAD.hdr", "HdrREAD"), ReadFile("points.txt", runs=(ReadRun(format="ycsb-raw", logs=(points,)),))]
    (merged,) = merge_files(both)
    assert isinstance(merged, MergedRun)
    assert (merged.total_operations, get_operation(merged, "READ").ok) == (500, 500)


def test_points_of_go_ycsb_are_operations_by_the_same_names():
    parts = tuple(steady_log(name, 5, 100) for name in ("READ", "READ_ERROR", "UPDATE", "READ_MODIFY_WRITE"))
    (merged,) = merge_files([ReadFile("points.csv", runs=(ReadRun(format="go-ycsb-csv", logs=parts),))])
    assert {(entry.operation, entry.ok, entry.failed) for entry in merged.operations} == {
        ("READ", 500, 500),
        ("UPDATE", 500, 0),
        ("READ-MODIFY-WRITE", 500, 0),
    }
    assert merged.total_operations == 1000


def test_plain_logs_of_intended_runs_are_response_times():
    (merged,) = merge_files([text("1.txt", properties={"measurement.interval": "intended"}), log("1/READ.hdr")])
    assert isinstance(merged, MergedRun)
    assert get_operation(merged, "READ", "response").ok == 500
    assert get_operation(merged, "READ") is None
