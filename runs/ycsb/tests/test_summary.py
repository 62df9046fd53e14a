"""Summaries are read to the last digit; unknown lines are kept; nothing at all is said to be nothing."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from runs.ycsb.errors import SummaryMissing
from runs.ycsb.operation import parse_name
from runs.ycsb.summary import parse_summary
from runs.ycsb.tests.samples import DATA, corpus

LINES = (DATA / "target/0/summary.txt").read_text().splitlines()
CLIENTS = ["two_clients/0", "two_clients/1", "load/0", "load/1", "target/0", "not_loaded/0", "stock_v1/0"]


@pytest.mark.parametrize("name", CLIENTS)
def test_it_reads_a_real_summary(name):
    text = (DATA / name / "summary.txt").read_text()
    summary = parse_summary(text)
    assert summary.runtime_ms and summary.throughput_ops_s
    # YCSB's own throughput is what it did over its run time, so it proves that all operations were understood.
    done = 0
    for name, count in summary.counts.items():
        parsed = parse_name(name)
        if parsed.is_operation and parsed.kind == "service":
            done += -count if parsed.is_composite else count
    assert done == round(summary.throughput_ops_s * summary.runtime_ms / 1000)
    for operation in summary.operations.values():
        assert set(operation.percentiles_us) == {"50", "90", "95", "99", "99.9", "99.99"}
    assert all("TOTAL_GC" in name for name in summary.process)
    assert len(summary.process) == text.count("TOTAL_GC")


def test_it_keeps_operations_with_hyphens_apart():
    operations = parse_summary((DATA / "target/0/summary.txt").read_text()).operations
    assert {"READ-MODIFY-WRITE", "Intended-READ-MODIFY-WRITE", "UPDATE", "CLEANUP"} <= set(operations)
    assert operations["READ-MODIFY-WRITE"].count == operations["UPDATE"].count


def test_it_keeps_failures_apart_from_successes():
    summary = parse_summary((DATA / "not_loaded/0/summary.txt").read_text())
    assert summary.operations["READ"].returns == {"OK": 6791, "NOT_FOUND": 940}
    assert (summary.operations["READ"].count, summary.operations["READ-FAILED"].count) == (6791, 940)
    assert summary.operations["UPDATE"].returns == {"OK": 7772}


def test_it_states_nothing_about_no_values():
    summary = parse_summary(
        "[READ], Operations, 0\n[READ], AverageLatency(us), NaN\n[READ], MinLatency(us), 9223372036854775807\n"
        "[READ], MaxLatency(us), 0\n[READ], 95thPercentileLatency(us), 0\n[READ], Return=NOT_FOUND, 1\n"
    )
    read = summary.operations["READ"]
    assert (read.count, read.mean_us, read.min_us, read.max_us, read.percentiles_us) == (0, None, None, None, {})
    assert read.returns == {"NOT_FOUND": 1}
    assert summary.throughput_ops_s is None


def test_it_reads_numbers_as_java_prints_them():
    summary = parse_summary(
        "[OVERALL], RunTime(ms), 1.2345678E7\r\n[OVERALL], Throughput(ops/sec), Infinity\r\n"
        "[READ], Operations, 1.0E7\r\n[READ], 99.9PercentileLatency(us), 4.6399487E7\r\n"
        "[READ], 99thPercentileLatency(ms), 3\r\n[READ], Return=OK, 4\r\n[READ], Return=OK, 5\r\n"
    )
    assert (summary.runtime_ms, summary.throughput_ops_s) == (12_345_678, None)
    read = summary.operations["READ"]
    assert read.count == 10_000_000
    assert read.percentiles_us == {"99.9": 46_399_487, "99": 3000}
    assert read.returns == {"OK": 9}


def test_it_says_when_there_is_no_summary():
    with pytest.raises(SummaryMissing, match="the file is empty"):
        parse_summary(" \n\n")
    with pytest.raises(SummaryMissing, match=r"comes closest: \[WARN\] no"):
        parse_summary("Starting test.\n[WARN] no\n")


@given(st.text())
def test_it_never_raises_anything_else(text):
    with contextlib.suppress(SummaryMissing):
        parse_summary(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from([*LINES, "noise", "", "[X], y, z"])))
def test_it_does_not_depend_on_line_ends_or_order_of_metrics(lines):
    try:
        expected = parse_summary("\n".join(lines))
    except SummaryMissing:
        return
    assert parse_summary("\r\n".join(lines)) == expected


@pytest.mark.parametrize(
    ("start", "runtime_ms", "throughput", "operation", "count", "mean", "p95", "p99"),
    [
        ("012", 10018, 1666.8995807546416, "READ", 16699, 3981.7847775315886, 6171, 10215),
        ("015", 47614, 2100.2226235981016, "UPDATE-FAILED", 1, 2558976.0, 2559999, 2559999),
        ("019", 45798, 109175.07314729902, "INSERT", 5000000, 69.1919156, 88, 543),
        ("024", 10291, 9717.22864639005, "READ-MODIFY-WRITE", 50174, 1254.0605293578346, 3579, 11847),
        ("027", -5731, -0.17448961786773687, "READ-FAILED", 1, 45968.0, 45983, 45983),
        ("031", None, None, "SCAN", None, None, None, None),
    ],
)
def test_it_reads_what_others_published(start, runtime_ms, throughput, operation, count, mean, p95, p99):
    summary = parse_summary(next(corpus().glob(f"{start}_*")).read_text(errors="replace"))
    found = summary.operations[operation]
    if runtime_ms is not None:
        assert (summary.runtime_ms, summary.throughput_ops_s) == (runtime_ms, throughput)
        assert (found.count, found.mean_us) == (count, mean)
        assert (found.percentiles_us["95"], found.percentiles_us["99"]) == (p95, p99)


def test_it_finds_no_summary_in_stack_traces():
    with pytest.raises(SummaryMissing):
        parse_summary(next(corpus().glob("009_*")).read_text(errors="replace"))
