"""Two conductors of one machine; the one that carries out a run is killed."""

import os
import signal

import pytest

from benchsite.local import components
from benchsite.tests.live_site import servers_and_clients, site
from runs.models import Conductor, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def test_the_other_conductor_carries_out_what_a_killed_one_left(site):
    original = Conductor.objects.get()
    site.parts["conductor-2"] = components.conductor("conductor-2")
    site.start("conductor-2")
    assert Conductor.objects.count() == 2
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=6)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    run.refresh_from_db()
    first = run.conductor
    os.kill(site.pid("conductor" if first == original else "conductor-2"), signal.SIGKILL)

    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 20, "the run to be ended")
    ended = {ended.pk: ended for ended in site.until_ended(matrix)}
    assert ended[run.pk].reason == Reason.WORKER_LOST
    again = ended[run.reruns.get().pk]
    assert (again.is_retry, again.status) == (True, Status.SUCCEEDED), again.reason_detail
    assert again.conductor != first
    # Nothing was done twice.
    assert Run.objects.filter(matrix=matrix).count() == 4  # Load and run, both again: the data went with the server.
    site.until(lambda: servers_and_clients() == [], 30, "servers and clients to be gone")
