"""Machines are free before merging where the conductor's host holds no lease."""

import uuid

import pytest
from django.utils import timezone

from runs.models import Run
from runs.models.run import Stage, Status
from runs.queue.reasons import Reason
from runs.tests.factories import make_machine, make_run
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run
from workers.conductor.conductor import Conductor
from workers.conductor.heartbeat import Heartbeat
from workers.generator.host_identity import host_key
from workers.models import Lease

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def run(team, artifact_folder):
    """Its clients have stored their output; it holds its cluster's machine."""
    run = recorded_run(team)
    Run.objects.filter(pk=run.pk).update(
        status=Status.RUNNING, stage=Stage.MEASURING, finished_at=None, claim=uuid.uuid4(), heartbeat_at=timezone.now()
    )
    run.refresh_from_db()
    Lease.objects.create(machine=run.cluster.nodes.get().machine, run=run)
    return run


def collect(run):
    Conductor(run, run.claim, Heartbeat(run.pk, run.claim))._collect()


def test_machines_are_free_while_another_host_merges(run):
    collect(run)
    assert not Lease.objects.exists()
    # The next run may use the cluster already.
    make_run(run.sweep, threads=64, status=Status.DISPATCHED)


def test_machines_stay_held_where_merging_would_disturb(run):
    here = make_machine(host_key=host_key())
    Lease.objects.create(machine=here, run=run)
    collect(run)
    assert Lease.objects.filter(run=run).count() == 2


@pytest.mark.parametrize("stage", [Stage.COLLECTING, Stage.JUDGING])
def test_server_is_left_alone_once_its_machines_are_free(run, stage):
    conductor = Conductor(run, run.claim, Heartbeat(run.pk, run.claim))
    conductor._standing = object()  # Any use of the server fails.
    run.stage, run.starts_at = stage, timezone.now()
    conductor._end(Status.FAILED, Reason.INTERRUPTED, "Stopped by an operator.")
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.INTERRUPTED)
    assert not run.events.filter(text__contains="could not be stored").exists()
