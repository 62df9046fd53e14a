"""A server that goes away in the middle of a run."""

import time

import pytest

from runs.ycsb.tests.hdrlogs import each_interval
from workers.tests.bindings.clients import StartedClient
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
RETRIES = {"benchsite.retries.read": "1", "benchsite.retries.update": "1"}


def test_operations_without_server_fail_and_run_ends_in_time(mortal_target: Target):
    mortal_target.load()
    client = mortal_target.start({"maxexecutiontime": "3", "dataintegrity": "false"})
    client.go()
    client.wait_for("BENCHSITE STARTED")
    wait_for_operations(client)
    mortal_target.server.kill()
    ended = client.end()
    failed = sum(codes.get("ERROR", 0) for codes in ended.returns.values())
    assert failed > 2
    assert all(codes["OK"] > 0 for codes in ended.returns.values())
    assert set().union(*ended.returns.values()) == {"OK", "ERROR"}
    assert ended.lines("BENCHSITE ERROR ")
    counted = sum(int(line.rsplit(" ", 1)[1]) for line in ended.lines("BENCHSITE ERRORS "))
    assert counted == failed
    # Refused connections are waited for, so that they do not look like thousands of quick operations.
    assert failed < 200


def test_it_reconnects_to_a_server_that_comes_back(mortal_target: Target):
    mortal_target.load()
    client = mortal_target.start({"maxexecutiontime": "5", "dataintegrity": "false", **RETRIES})
    client.go()
    client.wait_for("BENCHSITE STARTED")
    wait_for_operations(client)
    mortal_target.server.kill()
    client.wait_for("BENCHSITE ERROR")
    mortal_target.server.start()
    ended = client.end()
    assert ended.lines("BENCHSITE RECONNECTIONS ") == ["2"]
    assert ended.lines("BENCHSITE RETRIES ")
    last = [interval for interval in each_interval(ended.log("UPDATE")) if interval.length_s > 0.5][-1]
    assert last.histogram.count > 10


def wait_for_operations(client: StartedClient) -> None:
    """Until a status line tells of operations."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if any(" current ops/sec" in line and "[READ: Count=" in line for line in client.output["stderr"]):
            return
        time.sleep(0.02)
    raise AssertionError("".join(client.output["stderr"]))
