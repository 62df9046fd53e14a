"""One look at the queue: leases with the dispatch, loads before measurements, silent generators waited for."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from runs import lifecycle
from runs.models import Deployment, LoadGenerator, Run
from runs.models.run import Status
from runs.planning import submit
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)
from workers import scheduling
from workers.models import Lease

pytestmark = pytest.mark.django_db
DIGEST = {"redis": "d" * 64}


@pytest.fixture
def matrix():
    team, machine = make_team(), make_machine()
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), system="redis")
    generators = [make_load_generator(machine=machine, bindings=DIGEST) for _ in range(2)]
    LoadGenerator.objects.update(last_seen_at=Now())
    made = make_matrix(
        team=team, entries=[(redis, "always")], workloads=[make_workload(team=team)], load_generators=generators,
        submitted_at=None, rungs=[2, 4],
    )  # fmt: skip
    submit(made, None)
    return made


def runs_of(matrix):
    return list(Run.objects.filter(matrix=matrix).order_by("position"))


def succeed(run):
    claim = lifecycle.claim(run.pk, "test")
    lifecycle.finish(run.pk, claim, Status.SUCCEEDED)
    scheduling.release([run.pk])


def loaded(run, **fields):
    return Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode=run.mode,
        **{"state": "up", "fingerprint": run.spec["dataset"]["fingerprint"], **fields},
    )  # fmt: skip


def test_it_dispatches_the_load_first_and_holds_its_machine(matrix):
    load, first, _ = runs_of(matrix)
    assert scheduling.tick() == [load.pk]
    assert [lease.run_id for lease in Lease.objects.all()] == [load.pk]
    assert scheduling.tick() == []
    succeed(load)
    loaded(load)
    assert scheduling.tick() == [first.pk]


def test_a_machine_is_never_leased_twice(matrix):
    load, first, _ = runs_of(matrix)
    scheduling.tick()
    with pytest.raises(IntegrityError), transaction.atomic():
        Lease.objects.create(machine=Lease.objects.get().machine, run=first)
    assert load.pk == Lease.objects.get().run_id


def test_it_waits_for_a_silent_load_generator(matrix):
    LoadGenerator.objects.filter(pk=matrix.load_generators.first().pk).update(last_seen_at=Now() - timedelta(minutes=1))
    assert scheduling.tick() == []


def test_it_frees_the_machines_of_an_ended_run(matrix):
    load, *_ = runs_of(matrix)
    scheduling.tick()
    claim = lifecycle.claim(load.pk, "test")
    lifecycle.finish(load.pk, claim, Status.SUCCEEDED)
    scheduling.reap()
    assert not Lease.objects.exists()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["lost", "gone", "never"])
def test_it_loads_anew_what_was_lost(matrix, state):
    load, first, second = runs_of(matrix)
    scheduling.tick()
    succeed(load)
    if state != "never":
        loaded(load, **({"fingerprint": ""} if state == "lost" else {"state": "gone"}))
    assert scheduling.tick() == []
    first.refresh_from_db()
    second.refresh_from_db()
    anew = first.needs
    assert anew.pk != load.pk
    assert second.needs_id == anew.pk
    assert (anew.status, anew.name) == (Status.QUEUED, "redis always load r2")
    assert scheduling.tick() == [anew.pk]


def test_a_run_again_gets_the_next_repeat(matrix, user):
    load, first, _ = runs_of(matrix)
    scheduling.tick()
    succeed(load)
    loaded(load)
    scheduling.tick()
    succeed(first)
    again = lifecycle.run_again(first, user)
    assert (again.name, again.rerun_of_id, again.spec) == ("redis always A 2t r2", first.pk, first.spec)
    assert again.load_generators.count() == 2


def test_runs_that_change_their_data_get_a_load_each(user):
    team, machine = make_team(), make_machine()
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), system="redis")
    mix = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0", "insertproportion": "0.5"}
    made = make_matrix(
        team=team, entries=[(redis, "always")], workloads=[make_workload(team=team, properties=mix)],
        load_generators=[make_load_generator(machine=machine, bindings=DIGEST)], submitted_at=None, rungs=[2, 4],
    )  # fmt: skip
    submit(made, None)
    lifecycle.request_cancel_matrix(made, user)
    assert lifecycle.resume(made, user) == 2
    again = Run.objects.filter(matrix=made, phase="measure", status=Status.QUEUED)
    assert len({run.needs_id for run in again}) == 2
    assert {run.needs.status for run in again} == {Status.QUEUED}


def test_resuming_repeats_only_what_is_missing(matrix, user):
    load, first, second = runs_of(matrix)
    scheduling.tick()
    succeed(load)
    loaded(load)
    scheduling.tick()
    succeed(first)
    lifecycle.request_cancel(second, user)
    assert lifecycle.resume(matrix, user) == 1
    assert lifecycle.resume(matrix, user) == 0
