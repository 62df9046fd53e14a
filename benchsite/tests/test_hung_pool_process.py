"""The pool processes of a load generator hang: one run fails, the others wait until they answer again."""

import os
import signal

import psutil
import pytest

from benchsite.tests.live_site import site
from runs.models import LoadGenerator, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason

__all__ = ["site"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def test_hung_pool_processes_fail_one_run(site):
    hung = psutil.Process(site.pid("generator-1")).children()
    assert len(hung) == 2
    for process in hung:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        matrix = site.submit(("redis", "off"), rungs=[2, 4, 8], measure_s=1)
        failed = Run.objects.filter(matrix=matrix, status=Status.FAILED)
        site.until(failed.exists, 60, "the first run to fail")
        run = failed.get()
        assert (run.phase, run.reason) == (Phase.LOAD, Reason.LOAD_GENERATOR_SILENT)
        generator = LoadGenerator.objects.get(name="generator-1")
        assert generator.quarantined_at is not None
        assert run.name in generator.quarantine_reason
    finally:
        for process in hung:
            os.kill(process.pid, signal.SIGCONT)
    released = LoadGenerator.objects.filter(name="generator-1", quarantined_at__isnull=True)
    site.until(released.exists, 60, "the generator to answer a probe")
