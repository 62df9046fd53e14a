"""Runs start only where a living conductor has room for them; the others hold no machine meanwhile."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from runs.models import Conductor, Deployment, LoadGenerator, Run
from runs.models.run import Status
from runs.plans import submit
from runs.queue import lifecycle
from runs.tests.factories import (
    make_cluster,
    make_conductor,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_workload,
)
from runs.tests.pages import get_text
from workers.conductor import scheduling
from workers.models import Lease

pytestmark = pytest.mark.django_db
DIGEST = {"redis": "d" * 64}


@pytest.fixture
def submitted(team):
    """Submits a matrix on a cluster of its own with a load generator of its own; answers its first run."""

    def make(host, provisioner="process"):
        cluster = make_cluster(team=team, machines=[make_machine(host_key=host)], provisioner=provisioner)
        redis = make_database(team=team, cluster=cluster)
        matrix = make_matrix(
            team=team, entries=[(redis, "always")], workloads=[make_workload(team=team)], rungs=[2], submitted_at=None,
            load_generators=[make_load_generator(bindings=DIGEST)],
        )  # fmt: skip
        LoadGenerator.objects.update(last_seen_at=Now())
        submit(matrix, None)
        return Run.objects.filter(matrix=matrix).order_by("position").first()

    return make


def claim(run, conductor):
    lifecycle.claim_first(Run.objects.filter(pk=run.pk), "test", conductor)


def silence(conductor):
    Conductor.objects.filter(pk=conductor.pk).update(last_seen_at=Now() - timedelta(minutes=1))


def test_run_waits_for_a_conductor_of_its_machine(submitted):
    run = submitted("lab-1")
    make_conductor("lab-2")
    assert scheduling.tick() == []
    assert not Lease.objects.exists()
    conductor = make_conductor("lab-1")
    silence(conductor)
    assert scheduling.tick() == []
    make_conductor("lab-1")
    assert scheduling.tick() == [run.pk]


def test_run_without_conductor_reserves_nothing(submitted):
    run = submitted("lab-1")
    make_conductor("lab-2")
    scheduling.tick()
    run.refresh_from_db()
    assert run.reserved_at is None


def test_no_more_runs_start_than_a_conductor_has_room_for(submitted):
    runs = [submitted("lab-1"), submitted("lab-2", "docker"), submitted("lab-3", "external")]
    first, second = make_conductor("lab-1"), make_conductor("lab-2")
    assert set(scheduling.tick()) == {run.pk for run in runs[:2]}  # the first of a fair turn take both slots
    assert scheduling.tick() == []
    claim(runs[0], first)
    claim(runs[1], second)
    assert scheduling.tick() == []  # A run that was claimed takes its slot until it ends.
    make_conductor("lab-9")
    assert scheduling.tick() == [runs[2].pk]


def test_machine_with_a_server_up_waits_for_its_own_conductor(submitted):
    """The other conductor of that host has room, but must leave the machine's runs to it."""
    busy, run = submitted("lab-3", "external"), submitted("lab-1")
    holder, _other = make_conductor("lab-1"), make_conductor("lab-1")
    Run.objects.filter(pk=busy.pk).update(status=Status.DISPATCHED)
    claim(busy, holder)
    Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode=run.mode, state="up", conductor=holder
    )
    assert scheduling.tick() == []
    Deployment.objects.update(conductor=None, state="down")
    assert scheduling.tick() == [run.pk]


def test_pages_say_that_no_conductor_runs(client_in, submitted, django_assert_max_num_queries):
    run = submitted("lab-1")
    text = "a conductor for its cluster"
    with django_assert_max_num_queries(30):
        assert f"{text}: no sign of life" in get_text(client_in.get(reverse("queue")))
    assert text in get_text(client_in.get(reverse("run", args=[run.pk])))
    assert text in get_text(client_in.get(reverse("matrix", args=[run.matrix_id])))
    make_conductor("lab-1")
    for page in (reverse("queue"), reverse("run", args=[run.pk]), reverse("matrix", args=[run.matrix_id])):
        assert text not in get_text(client_in.get(page))
    assert run.status == Status.QUEUED
