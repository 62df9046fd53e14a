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
        "[OVERALL], Timeouts, 30000",
        "[OVERALL], aborted, 30000",
        "[OVERALL], Success rate(%), 75",
        "[OVERALL], SuccessRatio, 0.75",
        "30,000 of 120,000 operations failed",
        "30000 requests timed out.",
        "30000 errors",
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
        "panic: runtime error: index out of range [5]",
        "fatal error: all goroutines are asleep - deadlock!",
        "thread 'main' panicked at src/main.rs:10:5: connection reset",
        "thread 4711 panic: reached unreachable code",
        "error: ConnectionRefused",
        "terminate called after throwing an instance of 'std::runtime_error'",
        "Segmentation fault (core dumped)",
        "==7==ERROR: AddressSanitizer: heap-use-after-free",
        "Traceback (most recent call last):",
    ],
)
def test_warns_of_crashes_of_ports(line: str):
    """Go, Rust, Zig, C++, Python."""
    run = judge_run(f"{_RUN}{line}\n")

    assert "V29" in run.checks("warn")
    assert line.split()[0] in run.findings["V29"].message


@pytest.mark.parametrize(
    "line",
    [
        "[OVERALL], Errors, 0",
        "[OVERALL], ErrorLatency(us), 4000",
        "[READ], Retries, 30000",
        "Failed operations: 0",
        "12:00:01 ERROR: 30000 is no port",
        "[OVERALL], Timeout(ms), 30000",
        "[OVERALL], Success rate(%), 100",
        "[OVERALL], Successful operations, 120000",
        "0 errors",
        "0 of 120,000 operations failed",
    ],
)
def test_leaves_healthy_runs_alone(line: str):
    run = judge_run(f"{_RUN}{line}\n")

    assert run.merged.failed_operations == 0
    assert not run.checks("reject")
