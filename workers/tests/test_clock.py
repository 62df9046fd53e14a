"""Time that is counted by the monotonic clock, and what happens to a client whose host's clock is set."""

import time
from types import SimpleNamespace

import pytest

from runs.queue.reasons import Reason
from workers.generator import clock
from workers.generator.client import Client
from workers.generator.clock import Clock


@pytest.fixture
def wall_clock(monkeypatch):
    """The host's clock minus the monotonic one, for a test to change."""
    state = SimpleNamespace(ahead_s=1_000.0)
    monkeypatch.setattr(clock, "_wall_clock_ahead_s", lambda: state.ahead_s)
    return state


@pytest.fixture
def client(tmp_path):
    """A client that was told when to start, and waits."""
    order = {"order": {"deadline_s": 60, "binding": "redis", "properties": {}}, "label": "test"}
    waiting = Client(None, order, SimpleNamespace(path=tmp_path), SimpleNamespace(lines=[], run_ended=False))
    waiting.begun, waiting.told_at_s = True, waiting.clock.local_s()
    return waiting


def test_steps_do_not_move_the_time(wall_clock):
    steady = Clock(offset_s=5.0)
    before_s = steady.now_s()

    wall_clock.ahead_s -= 3600.0

    assert 0 <= steady.now_s() - before_s < 60


def test_each_step_is_noted_once(wall_clock):
    steady = Clock()
    for by_s in (-2.0, 0.01, 60.2):
        wall_clock.ahead_s += by_s
        steady.stepped_s()
        steady.stepped_s()

    assert [by_s for _, by_s in steady.steps] == pytest.approx([-2.0, 60.21])


def test_a_host_that_is_left_alone_has_no_steps():
    steady = Clock()
    assert [steady.stepped_s() for _ in range(100)] == [0] * 100


@pytest.mark.parametrize("is_go", [False, True])
def test_client_ends_at_the_agreed_instant(client, is_go):
    """go-ycsb, which is told nothing, is stopped then."""
    lines = []
    client.running, client.is_go = SimpleNamespace(write_line=lines.append), is_go
    client.clock.offset_s = 5.0
    instant = client.clock.now_s() + 10

    client._end_at(instant)

    assert lines == [f"END {round((instant - 5) * 1000)}"]
    in_s = client.ends_at and client.ends_at - time.monotonic()
    assert in_s == (pytest.approx(10, abs=1) if is_go else None)


@pytest.mark.parametrize("by_s", [-30.0, 0.2])
def test_step_before_the_start_fails_the_client(wall_clock, client, by_s):
    """It would not begin with the others."""
    wall_clock.ahead_s += by_s

    client._read_line("BENCHSITE STARTED 1")

    assert client.failure[0] == Reason.CLOCK_STEPPED
    assert "while the client waited to start" in client.failure[1]


def test_step_after_the_start_is_only_noted(wall_clock, client):
    client._read_line("BENCHSITE STARTED 1")
    wall_clock.ahead_s -= 2.0

    client._check_start()

    assert client.failure is None
    assert [by_s for _, by_s in client.clock.steps] == [-2.0]
