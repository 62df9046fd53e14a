"""Failures that a client states elsewhere than among its operations count as failed operations."""

import pytest

from runs.tests.judged_files import JudgedRun, judge_files

_TOTALS = "[OVERALL], RunTime(ms), 120000\n[OVERALL], Throughput(ops/sec), 1000.0\n"
_OPERATIONS = "".join(
    f"[{name}], Operations, 60000\n[{name}], AverageLatency(us), 7900.0\n[{name}], MinLatency(us), 100\n"
    f"[{name}], MaxLatency(us), 99000\n[{name}], 95thPercentileLatency(us), 12000\n"
    f"[{name}], 99thPercentileLatency(us), 13000\n"
    for name in ("READ", "UPDATE")
)
_RUN = _TOTALS + _OPERATIONS


def judge_run(text: str) -> JudgedRun:
    (run,) = judge_files({"run.txt": text.encode()}, purpose="measured", threads=8).runs
    return run


@pytest.mark.parametrize(
    "line",
    [
        "[OVERALL], Errors, 30000",
        "[OVERALL], Failed Operations, 30000",
        "[OVERALL], FailedOperations, 30000",
        "[OVERALL], total_failures, 30000",
        "[OVERALL], Return=ERROR, 30000",
        "[OVERALL], ErrorRate(%), 25.0",
        "[OVERALL], Error ratio, 0.25",
        "[READ], Errors, 30000",
        "[READ], Failed, 30000",
        "[READ], Return=OK, 60000\n[READ], Return=ERROR, 30000",
        "[ERROR], Operations, 30000",
        "[READ_ERROR], Operations, 30000",
        "[FAILED-READ], Operations, 30000",
        "Failed operations: 30000 (20.0%)",
        "Total errors: 30,000",
        "failures = 30000",
    ],
)
def test_counts_stated_failures(line: str):
    run = judge_run(f"{_RUN}{line}\n")

    assert run.merged.failed_operations == 30_000
    assert "V07" in run.checks("reject")


def test_counts_failures_stated_twice_once():
    failed = "[READ-FAILED], Operations, 20000\n[READ-FAILED], AverageLatency(us), 900.0\n"

    run = judge_run(f"{_RUN}{failed}[OVERALL], Errors, 30000\nFailed operations: 30000\n")

    assert run.merged.failed_operations == 30_000


@pytest.mark.parametrize(
    "line",
    [
        "[OVERALL], Errors, 0",
        "[OVERALL], ErrorLatency(us), 4000",
        "[READ], Retries, 30000",
        "Failed operations: 0",
        "12:00:01 ERROR: 30000 is no port",
    ],
)
def test_leaves_healthy_runs_alone(line: str):
    run = judge_run(f"{_RUN}{line}\n")

    assert run.merged.failed_operations == 0
    assert not run.checks("reject")
