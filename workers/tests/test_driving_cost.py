"""What driving a client costs: CPU of Benchsite's own processes within the measured window, by real processes."""

import subprocess
import sys
import time

import pytest

from workers.driving_cost import DrivingCost

pytestmark = pytest.mark.slow


def burn(seconds):
    """Use so much CPU time in this process."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def guardian():
    """A process in the guardian's place that uses CPU time all the time."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process
        process.kill()


@pytest.fixture
def idle_guardian():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_counts_only_the_measured_window(idle_guardian):
    cost = DrivingCost(idle_guardian.pid, begin_s=2, end_s=5)
    cost.sample(1)
    burn(0.3)  # warm-up
    cost.sample(2)
    burn(0.1)
    cost.sample(4)
    burn(0.3)  # tail
    cost.sample(6)
    facts = cost.facts()
    assert 0.08 <= facts["client_cpu_s"] <= 0.25
    assert facts["window_s"] >= 0.1


def test_counts_the_guardian(guardian):
    cost = DrivingCost(guardian.pid, begin_s=0, end_s=None)
    cost.sample(0)
    end = time.monotonic() + 30
    while time.monotonic() < end and cost.facts().get("client_cpu_s", 0) < 0.2:
        time.sleep(0.05)
        cost.sample(1)
    assert cost.facts()["client_cpu_s"] >= 0.2


def test_a_window_of_one_sample_says_nothing(idle_guardian):
    cost = DrivingCost(idle_guardian.pid, begin_s=0, end_s=1)
    cost.sample(0)
    assert cost.facts() == {}


def test_a_dead_guardian_keeps_earlier_samples(idle_guardian):
    cost = DrivingCost(idle_guardian.pid, begin_s=0, end_s=None)
    cost.sample(0)
    cost.sample(1)
    before = cost.facts()
    idle_guardian.kill()
    idle_guardian.wait()
    cost.sample(2)
    assert cost.facts() == before != {}
