"""Runs of which only summaries exist."""

import numpy as np
import pytest

from runs.ycsb.bounds import Bounds
from runs.ycsb.merged import Window
from runs.ycsb.operation import Bucket, ReadOperation, SeriesPoint
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.status import StatusLine, StatusOperation
from runs.ycsb.summary_client import SummaryClient
from runs.ycsb.summary_run import summarise
from runs.ycsb.tests.samples import get_operation

T0 = 1_700_000_000.0


def operation(count, mean=1000.0, low=100.0, high=5000.0, *, p99=4000.0, **more):
    return ReadOperation(count=count, mean_us=mean, min_us=low, max_us=high, percentiles_us={"99": p99}, **more)


def run(operations, *, throughput=None, phase="measure", **more):
    return ReadRun(
        format=more.pop("format", "ycsb-text"),
        phase=phase,
        operations=operations,
        throughput_ops_s=throughput,
        complete=True,
        **more,
    )


def steady(start_s, seconds, per_second, **parts):
    """Status lines of a client that does the same every second."""
    lines = [StatusLine(0, 0, None, at_s=start_s)]
    for second in range(1, seconds + 1):
        told = {name: StatusOperation(**part) for name, part in parts.items()}
        lines.append(StatusLine(second, second * per_second, float(per_second), told, at_s=start_s + second))
    return tuple(lines)


def of(*runs, **more):
    return summarise([SummaryClient(number, run) for number, run in enumerate(runs)], **more)


def test_it_adds_counts_returns_and_extremes():
    result = of(
        run({"READ": operation(300, 1000.0, 90.0, 5000.0, returns={"OK": 300})}, throughput=30.0),
        run({"READ": operation(100, 3000.0, 110.0, 9000.0, returns={"OK": 100}, p99=8000.0)}, throughput=10.0),
    )
    read = get_operation(result, "READ")
    assert (read.ok, read.failed, dict(read.returns)) == (400, 0, {"OK": 400})
    assert (read.mean_us, read.min_us, read.max_us) == (1500.0, 90.0, 9000.0)
    assert read.percentiles_us == {"99": Bounds(4000.0, 8000.0)}
    assert (result.total_operations, result.ok_operations, result.failed_operations) == (400, 400, 0)
    assert (result.clients_merged, result.clients_expected) == (2, 2)
    assert (result.throughput_ops_s, result.basis) == (40.0, "sum")


def test_a_client_without_values_does_not_move_minimum_and_mean():
    result = of(run({"READ": operation(10, 500.0)}), run({"READ": ReadOperation(count=0, max_us=0.0)}))
    assert (get_operation(result, "READ").min_us, get_operation(result, "READ").mean_us) == (100.0, 500.0)


def test_it_pools_the_variance():
    values = [np.array([1.0, 2.0, 6.0]), np.array([10.0, 14.0])]
    parts = [run({"READ": ReadOperation(count=v.size, mean_us=v.mean(), variance_us2=v.var())}) for v in values]
    assert get_operation(of(*parts), "READ").variance_us2 == pytest.approx(np.concatenate(values).var())


def test_it_keeps_failed_operations_apart():
    result = of(
        run({"READ": operation(90, returns={"OK": 90, "ERROR": 10}), "READ-FAILED": operation(10, 9.0)}, throughput=50)
    )
    read = get_operation(result, "READ")
    assert (read.ok, read.failed, dict(read.failures)) == (90, 10, {"FAILED": 10})
    assert (read.mean_us, read.failed_mean_us) == (1000.0, 9.0)
    assert (result.total_operations, result.failed_operations) == (100, 10)
    assert result.throughput_ops_s == 45.0, "of 50 operations per second a tenth failed"
    assert result.throughput_sum_ops_s == 50.0


def test_it_knows_statuses_by_name():
    result = of(run({"READ": operation(90), "READ-NOT_FOUND": operation(7), "READ-ERROR": operation(3)}))
    assert dict(get_operation(result, "READ").failures) == {"NOT_FOUND": 7, "ERROR": 3}
    assert result.failed_operations == 10


def test_recognises_failures_that_old_versions_count_as_ok():
    """Return=-1 for every read of a published output, with a perfect-looking latency."""
    result = of(run({"READ": operation(100, returns={"0": 4, "-1": 96})}, throughput=1000.0))
    read = get_operation(result, "READ")
    assert (read.ok, read.failed, dict(read.failures)) == (4, 96, {"-1": 96})
    assert result.throughput_ops_s == 40.0


def test_what_is_accepted_into_a_batch_has_not_failed():
    """0.10 and 0.11 count BATCHED_OK as failed."""
    result = of(
        run(
            {
                "INSERT": operation(10, 500.0, returns={"OK": 10, "BATCHED_OK": 90}),
                "INSERT-FAILED": operation(90, 10.0, low=1.0),
            },
            phase="load",
            throughput=100.0,
        )
    )
    insert = get_operation(result, "INSERT")
    assert (insert.ok, insert.failed, insert.mean_us, insert.min_us) == (100, 0, 59.0, 1.0)
    assert result.throughput_ops_s == 100.0


def test_failed_inserts_of_a_load_are_not_in_its_throughput():
    result = of(
        run({"INSERT": operation(90, returns={"OK": 90, "ERROR": 10}), "INSERT-FAILED": operation(10)},
            phase="load", throughput=9.0)
    )  # fmt: skip
    assert (result.throughput_ops_s, result.total_operations, result.ok_operations) == (9.0, 100, 90)


def test_a_read_modify_write_is_counted_once():
    result = of(
        run(
            {"READ": operation(100), "UPDATE": operation(50), "READ-MODIFY-WRITE": operation(50),
             "CLEANUP": operation(4), "VERIFY": operation(100), "SCAN-LATENCY-PER-RECORD": operation(3)},
            throughput=10.0,
        )
    )  # fmt: skip
    assert result.total_operations == 100
    assert [entry.operation for entry in result.operations] == ["READ", "READ-MODIFY-WRITE", "UPDATE"]
    assert result.clients[0].cleanup_s == 0.005
    assert result.clients[0].busy_us == 150 * 1000.0


def test_the_same_values_measured_twice_are_counted_once():
    result = of(
        run({"HdrREAD": operation(100, returns={"OK": 100}),
             "BucketREAD": operation(100, p99=3000.0, resolution_us=1e3),
             "HdrIntended-READ": operation(100), "BucketIntended-READ": operation(100)})
    )  # fmt: skip
    assert result.total_operations == 100
    assert [(entry.operation, entry.kind) for entry in result.operations] == [("READ", "service"), ("READ", "response")]
    assert get_operation(result, "READ").percentiles_us == {"99": Bounds(4000.0, 4000.0)}
    assert dict(get_operation(result, "READ").returns) == {"OK": 100}


def test_plain_names_are_response_times_if_nothing_else_exists():
    result = of(run({"READ": operation(100)}, properties={"measurement.interval": "intended"}, throughput=10.0))
    assert get_operation(result, "READ") is None
    assert get_operation(result, "READ", "response").ok == 100
    assert (result.total_operations, result.throughput_ops_s) == (100, 10.0)
    assert result.clients[0].busy_us is None, "waiting for the schedule is not waiting for the database"


def test_go_ycsb_counts_only_successes_in_its_total():
    result = of(
        run({"READ": operation(100), "UPDATE": operation(50), "READ_MODIFY_WRITE": operation(50),
             "UPDATE_ERROR": operation(10), "TOTAL": operation(150)}, format="go-ycsb", throughput=300.0)
    )  # fmt: skip
    assert (result.total_operations, result.ok_operations, result.failed_operations) == (110, 100, 10)
    assert get_operation(result, "UPDATE").failed == 10
    assert result.throughput_ops_s == 200.0, "both halves of a read-modify-write are in go-ycsb's total"


# The example of analysis.md: 100 operations a second each, A from 0 to 100 s, B from 10 to 110 s.
A = run({"READ": operation(10_000)}, throughput=100.0, status=steady(T0, 100, 100))
B = run({"READ": operation(10_000)}, throughput=100.0, status=steady(T0 + 10, 100, 100))


def test_throughput_is_that_of_the_common_window():
    result = of(A, B)
    assert result.window == Window(T0 + 10, T0 + 100)
    assert (result.throughput_ops_s, result.basis) == (pytest.approx(200.0), "window")
    assert result.throughput_sum_ops_s == 200.0
    assert result.throughput_wall_ops_s == pytest.approx(181.8, abs=0.1)
    assert result.overlap == pytest.approx(90 / 110)


def test_clocks_are_set_by_their_offsets():
    clients = [SummaryClient(0, A), SummaryClient(1, B, clock_offset_s=-10.0)]
    assert summarise(clients).overlap == 1.0


def test_window_throughput_is_counted_not_taken_as_stated():
    """The last ten seconds of B are slower, and A has ended by then."""
    slowing = (*steady(T0 + 10, 90, 100), StatusLine(100, 9010, 1.0, at_s=T0 + 110))
    result = of(A, run({"READ": operation(9010)}, throughput=90.1, status=slowing))
    assert result.throughput_ops_s == pytest.approx(200.0)
    assert result.throughput_sum_ops_s == pytest.approx(190.1)


def test_window_throughput_leaves_out_failed_operations():
    failing = run({"READ": operation(5000), "READ-FAILED": operation(5000)}, throughput=100.0, status=A.status)
    assert of(failing, B).throughput_ops_s == pytest.approx(150.0)


def test_clients_that_never_worked_together_have_no_window():
    apart = run({"READ": operation(1000)}, throughput=100.0, status=steady(T0 + 500, 10, 100))
    result = of(A, apart)
    assert (result.window, result.overlap, result.basis) == (None, 0.0, "sum")


def test_a_single_client_states_its_own_throughput():
    result = of(A)
    assert (result.throughput_ops_s, result.basis, result.overlap) == (100.0, "stated", 1.0)


def test_undated_lines_align_nothing():
    undated = tuple(StatusLine(second, second * 10, 10.0) for second in range(10))
    result = of(
        run({"READ": operation(90)}, throughput=10.0, status=undated),
        run({"READ": operation(90)}, throughput=10.0, status=undated),
    )
    assert (result.window, result.overlap, result.basis) == (None, None, "sum")
    assert result.throughput_ops_s == 20.0


def test_a_killed_client_counts_by_its_status_lines():
    said = {"count": 100, "avg": 250.0, "min": 10.0, "max": 800.0, "p99": 700.0}
    killed = run({}, status=steady(T0, 100, 100, READ=said))
    result = of(killed, B)
    assert (result.clients_merged, result.total_operations, result.ok_operations) == (2, 20_000, 20_000)
    assert get_operation(result, "READ").mean_us == (250.0 + 1000.0) / 2
    # Of the killed client only the extremes are known: all of its values may be small ones.
    assert get_operation(result, "READ").percentiles_us["99"] == Bounds(100.0, 4000.0)
    assert result.basis == "window"


def test_a_client_that_left_nothing_is_missing():
    result = of(A, run({}))
    assert (result.clients_merged, result.clients_expected) == (1, 2)
    assert result.missing[0].number == 1
    assert "neither a result nor a status line" in result.missing[0].reason


def test_counts_that_a_client_does_not_state_stay_unknown():
    result = of(run({"READ": ReadOperation(mean_us=5.0)}, throughput=10.0), run({"READ": operation(5)}, throughput=1.0))
    assert (result.total_operations, get_operation(result, "READ").mean_us) == (None, None)
    assert result.throughput_ops_s == 11.0


def test_no_client_at_all_gives_nothing_and_raises_nothing():
    summary = summarise([])
    assert (summary.clients_expected, summary.throughput_ops_s, summary.operations, summary.series) == (0, None, (), ())


# --- Series ---


def test_a_series_adds_the_clients_of_each_second():
    samples = steady(T0, 5, 100, READ={"count": 100, "avg": 200.0, "max": 900.0, "p99": 800.0})
    other = steady(T0 + 0.25, 5, 50, READ={"count": 50, "avg": 500.0, "max": 700.0, "p99": 600.0})
    (series,) = of(run({}, status=samples), run({}, status=other)).series
    assert (series.operation, series.kind, series.base_s, series.interval_s) == ("READ", "service", T0, 1)
    assert series.points["count"].tolist() == [150] * 5
    assert series.points["rate_ops_s"].tolist() == pytest.approx([150.0] * 5)
    assert series.points["mean_us"].tolist() == pytest.approx([300.0] * 5)
    assert series.points["max_us"].tolist() == [900.0] * 5
    assert np.isnan(series.points["p99_us"]).all(), "two clients' percentiles are never averaged"


def test_a_single_clients_percentiles_are_shown():
    lines = steady(T0, 3, 10, READ={"count": 10, "avg": 5.0, "p50": 4.0, "p99": 9.0, "max": 9.0})
    (series,) = of(run({}, status=lines)).series
    assert series.points["p99_us"].tolist() == [9.0] * 3
    assert series.points["p50_us"].tolist() == [4.0] * 3
    assert np.isnan(series.points["p95_us"]).all()


def test_a_long_interval_covers_its_seconds():
    lines = [StatusLine(at, at * 10, 10.0, {"READ": StatusOperation(count=at and 100, avg=7.0, p99=8.0)}, at_s=T0 + at)
             for at in (0, 10, 20)]  # fmt: skip
    series, tens = of(run({}, status=tuple(lines))).series
    assert series.points["second"].tolist() == list(range(20))
    assert series.points["count"].sum() == 200
    assert series.points["mean_us"].tolist() == [7.0] * 20
    assert (tens.interval_s, tens.points["count"].tolist()) == (10, [100, 100])
    assert tens.points["p99_us"].tolist() == [8.0, 8.0], "each is what its line states"


def test_coarser_levels_do_not_average_percentiles():
    lines = steady(T0, 30, 10, READ={"count": 10, "avg": 5.0, "p99": 9.0, "max": 20.0})
    seconds, tens = of(run({}, status=lines)).series
    assert (seconds.interval_s, tens.interval_s) == (1, 10)
    assert np.isnan(tens.points["p99_us"]).all()
    assert (tens.points["mean_us"].tolist(), tens.points["max_us"].tolist()) == ([5.0] * 3, [20.0] * 3)
    assert (tens.points["count"].tolist(), tens.points["rate_ops_s"].tolist()) == ([100] * 3, [10.0] * 3)


def test_values_measured_twice_are_shown_once():
    lines = steady(T0, 3, 10, HdrREAD={"count": 10, "avg": 5.0}, BucketREAD={"avg": 4.0})
    (series,) = of(run({}, status=lines)).series
    assert (series.operation, series.points["count"].tolist()) == ("READ", [10] * 3)


def test_a_single_line_at_the_very_start_gives_no_series():
    line = StatusLine(0, 1000, 1.0, {"READ": StatusOperation(count=1000, avg=5.0)})
    assert of(run({"READ": operation(1000)}, throughput=9.0, status=(line,))).series == ()


def test_operations_that_took_no_time_have_no_rate_of_it():
    line = StatusLine(0, 5, None, at_s=T0)
    result = of(run({"READ": operation(5)}, throughput=2.0, status=(line,)))
    assert (result.throughput_ops_s, result.throughput_wall_ops_s, result.overlap) == (2.0, None, None)


@pytest.mark.parametrize(("at_s", "elapsed_s"), [(253_402_300_799.0, 1), (-62_135_596_800.0, 1), (T0, 10**14)])
def test_dates_without_a_year_of_four_digits_tell_no_time(at_s, elapsed_s):
    line = StatusLine(elapsed_s, 5, None, at_s=at_s)
    result = of(run({"READ": operation(5)}, throughput=2.0, status=(line,)))
    assert (result.window, result.overlap, result.clients[0].started_s) == (None, None, None)


def test_dates_that_cannot_be_give_no_series():
    lines = (*steady(T0, 3, 10, READ={"count": 10, "avg": 5.0}), StatusLine(4, 40, 1.0, at_s=T0 + 9e8))
    result = of(run({"READ": operation(40)}, throughput=10.0, status=lines))
    assert (result.series, result.throughput_ops_s) == ((), 10.0)
    assert "lie more than" in result.notes[0]


def test_failed_operations_have_their_own_column():
    lines = steady(T0, 3, 10, **{"READ": {"count": 8, "avg": 5.0}, "READ-FAILED": {"count": 2, "avg": 1.0}})
    (series,) = of(run({}, status=lines)).series
    assert (series.points["count"].tolist(), series.points["failed"].tolist()) == ([8] * 3, [2] * 3)
    assert series.points["mean_us"].tolist() == [5.0] * 3


def test_lines_that_tell_no_operation_apart_give_the_rate_of_all():
    (series,) = of(run({"READ": operation(50)}, status=steady(T0, 5, 10))).series
    assert (series.operation, series.points["rate_ops_s"].tolist()) == ("TOTAL", [10.0] * 5)


def test_printed_time_series_are_shown_as_they_are():
    points = tuple(SeriesPoint(at * 1000.0, 100.0 + at, 50.0) for at in range(4))
    (series,) = of(run({"READ": ReadOperation(count=200, mean_us=1.0, series=points)})).series
    assert series.points["mean_us"].tolist() == [100.0, 101.0, 102.0, 103.0]
    assert series.points["rate_ops_s"].tolist() == [50.0] * 4


def test_printed_means_of_several_clients_need_counts():
    points = tuple(SeriesPoint(at * 1000.0, 100.0) for at in range(4))
    row = run({"READ": ReadOperation(count=200, mean_us=1.0, series=points)})
    (series,) = of(row, row).series
    assert np.isnan(series.points["mean_us"]).all()
    assert np.isnan(series.points["rate_ops_s"]).all()


def test_notes_a_stated_percentile_that_counts_contradict():
    buckets = (Bucket(0.0, 1000.0, 90), Bucket(1000.0, 2000.0, 10))
    agrees = of(run({"READ": operation(100, buckets=buckets, p99=1500.0)}))
    contradicts = of(run({"READ": operation(100, buckets=buckets, p99=4000.0)}))
    assert agrees.notes == ()
    assert get_operation(contradicts, "READ").percentiles_us["99"] == Bounds(1000.0, 2000.0)
    (note,) = contradicts.notes
    assert note.startswith("READ: p99 4.00") and "outside of the buckets" in note
