"""The last sign of life of a worker that was stopped seconds ago says nothing of the one that starts."""

import pytest

from benchsite.local.preparation import generator_environment
from runs.models.run import Status
from runs.queue import lifecycle
from runs.tests.factories import make_conductor, make_load_generator, make_run, make_sweep
from workers.conductor import conductor_identity, scheduling
from workers.generator.registration import note_presence

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return make_run(make_sweep(), status=Status.QUEUED, generators=[make_load_generator(name="lab-1")])


@pytest.fixture
def conductor(run):
    return make_conductor(run.cluster.nodes.get().machine.host_key)


def start_generator():
    generator_environment("lab-1", "http://127.0.0.1:1")


def test_no_run_is_dispatched_before_they_register(run, conductor):
    start_generator()
    assert scheduling.tick() == []
    note_presence("lab-1")
    assert scheduling.tick() == [run.pk]


def test_no_dispatched_run_is_claimed_before_they_register(run, conductor):
    """It was dispatched while the site was being stopped; the conductor is up before its load generators."""
    lifecycle.dispatch([run.pk])
    start_generator()
    assert conductor_identity.claim_run(conductor) is None
    note_presence("lab-1")
    claimed, _ = conductor_identity.claim_run(conductor)
    assert claimed == run.pk
