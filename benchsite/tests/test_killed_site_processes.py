"""Parts of a live site are killed or stopped while a run measures; each test has a site of its own."""

import os
import signal
import time

import psutil
import pytest
from django.conf import settings

from benchsite.tests.live_site import find_processes, servers_and_clients, site
from runs.models import ClientRun, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason
from workers.models import Lease

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.mark.long
def test_killed_generator_fails_its_run_and_the_site_continues(site):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=4)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    assert len(find_processes(str(settings.WORK_DIR))) >= 2
    os.kill(site.pid("generator-1"), signal.SIGKILL)
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 90, "the run to fail")
    run.refresh_from_db()
    assert run.reason == Reason.WORKER_LOST
    assert "generator-1" in run.reason_detail
    assert find_processes(str(settings.WORK_DIR)) == []
    site.start("generator-1")
    stored = run.client_runs.get(number=0).artifacts.filter(kind="stderr")
    site.until(stored.exists, 30, "the killed client's output to be stored")
    runs = site.until_ended(matrix)
    site.until(lambda: list(settings.WORK_DIR.iterdir()) == [], 10, "the clients' folders to be removed")
    assert runs[-1].pk == run.reruns.get(is_retry=True).pk
    assert runs[-1].status == Status.SUCCEEDED, runs[-1].reason_detail


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(["conductor"], id="conductor", marks=pytest.mark.long),
        pytest.param(["scheduler", "conductor", "generator-1", "generator-2"], id="everything", marks=pytest.mark.long),
    ],
)
def test_restarted_processes_end_interrupted_runs_at_once(site, parts):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=6)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    for part in parts:
        os.kill(site.pid(part), signal.SIGKILL)
    site.until(lambda: servers_and_clients() == [], 30, "servers and clients to be gone")
    site.start(*parts)
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 5, "the run to be ended")
    run.refresh_from_db()
    assert (run.reason, run.reason_detail) == (Reason.WORKER_LOST, "The process of its conductor ended.")
    runs = {ended.pk: ended for ended in site.until_ended(matrix)}
    again = runs[run.reruns.get().pk]
    # The data set went with the server, so it was loaded anew.
    assert again.needs_id != run.needs_id
    assert (again.is_retry, again.status) == (True, Status.SUCCEEDED), again.reason_detail


@pytest.mark.long
def test_conductor_that_is_stopped_interrupts_its_run(site):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=20)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_measured(run)
    site.parts["conductor"].guarded.stop()
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.INTERRUPTED)
    assert "stopped by an operator" in run.reason_detail and "measuring" in run.reason_detail
    assert run.artifacts.filter(kind="hdr").exists()
    assert servers_and_clients() == []
    assert not Lease.objects.filter(run=run).exists()
    again = run.reruns.get()
    assert (again.is_retry, again.created_at) == (True, run.created_at)
    assert again.status in (Status.QUEUED, Status.DISPATCHED)


@pytest.mark.long
def test_web_server_is_killed_while_a_run_measures(site):
    """Load generators reach the site by it alone, and try again until it is back."""
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=3)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    measuring = ClientRun.objects.filter(run=run, state=ClientRun.State.RUNNING)
    site.until(lambda: measuring.count() == 2, 60, "both clients to measure")
    web = psutil.Process(site.pid("web"))
    for process in (web, *web.children(recursive=True)):
        process.kill()
    site.until(lambda: site.parts["web"].died, 20, "the web server to be gone")
    site.until(lambda: find_processes(str(settings.WORK_DIR)) == [], 30, "the clients to end")
    time.sleep(2)  # They try to store their output.
    assert ClientRun.objects.filter(run=run).exclude(output_stored_at=None).count() == 0
    site.start("web")
    runs = site.until_ended(matrix)
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    assert runs[1].measurement_sets.get().clients_merged == 2
