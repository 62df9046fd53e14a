"""A conductor that is killed while a planned fault stops its server."""

import os
import signal
import time

import psutil
import pytest

from benchsite.tests.live_site import get_servers, servers_and_clients, site  # noqa: F401
from benchsite.tests.test_runs_with_faults import PAUSE, PLAN
from runs.models import Run
from runs.models.run import Phase

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]


def test_no_stopped_process_outlives_its_conductor(site):  # noqa: F811
    pause = {**PAUSE, "duration_s": 100.0}
    matrix = site.submit(("redis", "always"), measure_s=110, **PLAN, faults=[pause])
    site.until(lambda: Run.objects.filter(matrix=matrix, phase=Phase.MEASURE).exists(), 60, "the run")
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until(lambda: run.events.filter(text__startswith="Fault 1 began").exists(), 90, "the pause")
    (server,) = [process for process in get_servers(matrix) if "redis-server" in process.name()]
    assert server.status() == psutil.STATUS_STOPPED
    os.kill(site.pid("conductor"), signal.SIGKILL)
    end = time.monotonic() + 90
    while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the stopped server is still there"
        time.sleep(0.2)
    assert [process for process in servers_and_clients() if process.status() == psutil.STATUS_STOPPED] == []
