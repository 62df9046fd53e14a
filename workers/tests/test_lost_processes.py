"""The cause that a load generator gives for a client whose pool process ended."""

import pytest

from runs.queue.reasons import Reason
from workers.generator import outbox


@pytest.mark.parametrize(
    ("exit_status", "reason", "cause"),
    [
        ("Worker exited prematurely: signal 15 (SIGTERM) Job: 2.", Reason.INTERRUPTED, "stopped by an operator"),
        ("Worker exited prematurely: signal 9 (SIGKILL) Job: 2.", Reason.WORKER_LOST, "kernel for lack of memory"),
        ("Worker exited prematurely: signal 11 (SIGSEGV) Job: 2.", Reason.WORKER_LOST, "signal 11 (SIGSEGV)"),
        ("", Reason.WORKER_LOST, "was killed;"),
    ],
    ids=["SIGTERM", "SIGKILL", "another signal", "with its worker"],
)
def test_names_how_the_process_ended(exit_status, reason, cause):
    result = outbox._lost_result("lab-1", exit_status)
    assert result.reason == reason
    assert cause in result.reason_detail
    assert "lab-1" in result.reason_detail
