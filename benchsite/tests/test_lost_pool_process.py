"""A pool process of a load generator that an operator or the kernel ends: the run names the cause at once."""

import os
import signal

import psutil
import pytest

from benchsite.tests.live_site import GENERATORS, LiveSite, site
from runs.models import ClientRun, Run
from runs.models.run import Stage, Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason

__all__ = ["site"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def working_process(site: LiveSite, name: str) -> int:
    """The pool process of a load generator that has started a JVM."""
    for process in psutil.Process(site.pid(name)).children():
        if process.children():
            return process.pid
    raise AssertionError(f"no process of {name} runs a client")


def test_names_the_signal_and_keeps_the_output(site):
    matrix = site.submit(("redis", "off"), rungs=[4], measure_s=60)
    run = Run.objects.get(matrix=matrix, phase="measure")
    site.until_stage(run, Stage.MEASURING)
    os.kill(working_process(site, GENERATORS[0]), signal.SIGTERM)
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 60, "the run to fail")
    run.refresh_from_db()
    assert run.reason == Reason.INTERRUPTED
    assert (
        f"The process of {GENERATORS[0]} that ran this client was stopped by an operator (SIGTERM)" in run.reason_detail
    )
    client = ClientRun.objects.get(run=run, load_generator__name=GENERATORS[0])
    assert client.reason == Reason.INTERRUPTED
    assert {"stdout", "stderr"} <= set(client.artifacts.values_list("kind", flat=True))
    lifecycle.request_cancel_matrix(matrix, matrix.created_by)  # Its retry waits.
    site.until_ended(matrix)
