"""A YCSB process that somebody else killed is the infrastructure's failure, so its run is retried."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from runs.queue.lifecycle import INFRASTRUCTURE
from runs.queue.reasons import Reason
from workers.generator.client import Client
from workers.processes.process import run_process

pytestmark = pytest.mark.slow


@pytest.fixture
def conclude(tmp_path):
    """The result of a client whose process is struck as soon as it runs."""

    def run(program, strike=lambda running: None):
        argv = [sys.executable, "-I", "-S", "-c", program]
        ended = run_process(argv, registry=tmp_path / "registry", label="test", on_started=strike)
        claimed = {"order": {"deadline_s": 60, "binding": "redis", "properties": {}}, "window": {}, "label": "test"}
        client = Client(None, claimed, SimpleNamespace(path=tmp_path), None)
        client.begun = True
        return client._conclude(ended)

    return run


def test_killed_process_is_retried(conclude):
    result = conclude("import time; time.sleep(300)", lambda running: os.kill(running.pid, signal.SIGKILL))
    assert result.reason == Reason.WORKER_LOST and result.reason in INFRASTRUCTURE
    assert "Signal 9 from outside Benchsite" in result.reason_detail


def test_killed_guardian_is_retried(conclude):
    def strike(running):
        os.kill(running.guardian_pid, signal.SIGKILL)

    result = conclude("import time; time.sleep(300)", strike)
    assert result.reason == Reason.WORKER_LOST and "guardian" in result.reason_detail


def test_process_that_fails_by_itself_is_not_retried(conclude):
    result = conclude("raise SystemExit(3)")
    assert result.reason == Reason.CLIENT_FAILED and "exit code 3" in result.reason_detail
