"""A signal that asks a site to stop is not lost, whatever Python does when it comes."""

import subprocess
import sys

import pytest

from workers.tests.trees import ROOT

pytestmark = pytest.mark.slow
# Python only prints what is raised in a callback of a fork.
PROGRAM = """
import os, signal, time
from benchsite.local.supervisor import STOP_SIGNALS, interrupt

for stop_signal in STOP_SIGNALS:
    signal.signal(stop_signal, interrupt)
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.{name}))
try:
    if os.fork() == 0:
        os._exit(0)
    time.sleep(20)
    print("missed")
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_in_a_callback_of_a_fork_stops_the_site(name):
    program = PROGRAM.format(name=name)

    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert ran.stdout == "stopped\n", ran.stderr
    assert "Exception ignored" in ran.stderr
