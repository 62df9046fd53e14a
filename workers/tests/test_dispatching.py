"""One look at the queue: leases with the dispatch, loads before measurements, silent generators waited for."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from benchsite.accounts.models import new_id
from runs.models import Deployment, LoadGenerator, Run
from runs.models.run import Status
from runs.plans import submit
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import (
    claim_run,
    make_cluster,
    make_conductors,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_workload,
)
from workers.conductor import scheduling
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


def tick():
    """One look at the queue, on machines that all have a conductor with room."""
    make_conductors()
    return scheduling.tick()


def get_runs(matrix):
    return list(Run.objects.filter(matrix=matrix).order_by("position"))


def succeed(run):
    claim = claim_run(run.pk, "test")
    lifecycle.finish(run.pk, claim, Status.SUCCEEDED)
    scheduling.release([run.pk])


def loaded(run, **fields):
    return Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode=run.mode,
        **{"state": "up", "fingerprint": run.spec["dataset"]["fingerprint"], **fields},
    )  # fmt: skip


def test_it_dispatches_the_load_first_and_holds_its_machine(matrix):
    load, first, _ = get_runs(matrix)
    assert tick() == [load.pk]
    assert [lease.run_id for lease in Lease.objects.all()] == [load.pk]
    assert tick() == []
    succeed(load)
    loaded(load)
    assert tick() == [first.pk]


def test_a_machine_is_never_leased_twice(matrix):
    load, first, _ = get_runs(matrix)
    tick()
    with pytest.raises(IntegrityError), transaction.atomic():
        Lease.objects.create(machine=Lease.objects.get().machine, run=first)
    assert load.pk == Lease.objects.get().run_id


def test_it_waits_for_a_silent_load_generator(matrix):
    LoadGenerator.objects.filter(pk=matrix.load_generators.first().pk).update(last_seen_at=Now() - timedelta(minutes=1))
    assert tick() == []


def test_waits_for_active_run_of_cluster_with_other_nodes(matrix):
    """The node of a running cluster was replaced before that was refused: the queue waits, and nothing is raised."""
    Run.objects.filter(pk=get_runs(matrix)[1].pk).update(needs=None)
    tick()
    Lease.objects.update(machine=make_machine())
    assert tick() == []


REFUSE_TO_DISPATCH = """
SET CONSTRAINTS ALL IMMEDIATE;
CREATE FUNCTION refuse_to_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'not this run' USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER refuse_to_dispatch BEFORE UPDATE ON runs_run
    FOR EACH ROW WHEN (NEW.name = 'broken' AND NEW.status = 'dispatched') EXECUTE FUNCTION refuse_to_dispatch();
"""


def test_run_that_cannot_start_fails_alone():
    """PostgreSQL refuses to dispatch the first run of the queue; the others start in the same tick."""
    broken, *healthy = (make_run(make_sweep(), status="queued", name=name) for name in ("broken", "second", "third"))
    with connection.cursor() as cursor:
        cursor.execute(REFUSE_TO_DISPATCH)
    assert set(tick()) == {run.pk for run in healthy}
    broken.refresh_from_db()
    assert (broken.status, broken.reason) == (Status.FAILED, Reason.INTERNAL_ERROR)
    assert "IntegrityError: not this run" in broken.events.last().text
    assert not Lease.objects.filter(run=broken).exists()


def test_it_frees_the_machines_of_an_ended_run(matrix):
    load, *_ = get_runs(matrix)
    tick()
    claim = claim_run(load.pk, "test")
    lifecycle.finish(load.pk, claim, Status.SUCCEEDED)
    scheduling.reap()
    assert not Lease.objects.exists()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["lost", "gone", "never"])
def test_it_loads_anew_what_was_lost(matrix, state):
    load, first, second = get_runs(matrix)
    tick()
    succeed(load)
    if state != "never":
        loaded(load, **({"fingerprint": ""} if state == "lost" else {"state": "gone"}))
    assert tick() == []
    first.refresh_from_db()
    second.refresh_from_db()
    anew = first.needs
    assert anew.pk != load.pk
    assert second.needs_id == anew.pk
    assert (anew.status, anew.name) == (Status.QUEUED, "redis always load r2")
    assert tick() == [anew.pk]


def test_loads_anew_before_later_matrices_run(matrix):
    """The load of a lost data set is in the place of the run that waits for it, not behind the rest of the queue."""
    load, first, _ = get_runs(matrix)
    tick()
    succeed(load)
    other = make_matrix(
        team=matrix.team, entries=[(matrix.entries.get().database, "off")], workloads=list(matrix.workloads.all()),
        load_generators=list(matrix.load_generators.all()), submitted_at=None, rungs=[2],
    )  # fmt: skip
    submit(other, None)
    assert tick() == []
    first.refresh_from_db()
    assert tick() == [first.needs_id]


def test_load_of_a_retried_run_keeps_its_place(matrix):
    load, first, _ = get_runs(matrix)
    Run.objects.filter(pk=load.pk).update(status=Status.FAILED, reason=Reason.WORKER_LOST, finished_at=Now())
    Run.objects.filter(pk=first.pk).update(status=Status.FAILED, reason=Reason.WORKER_LOST, finished_at=Now())
    first.refresh_from_db()
    lifecycle.queue_retry(first)
    again = Run.objects.get(rerun_of=first)
    assert (again.created_at, again.position) == (first.created_at, first.position)
    assert (again.needs.rerun_of_id, again.needs.created_at, again.needs.position) == (load.pk, first.created_at, 0)


def test_row_of_another_release_stops_no_other_run():
    """A spec without what this release reads fails its own run, when its data set is looked for."""
    load = make_run(make_sweep(), phase="load", status="succeeded")
    spec = {**load.spec, "database": {"name": "redis"}}
    broken = make_run(make_sweep(matrix=load.matrix), status="queued", needs=load, spec=spec)
    healthy = make_run(make_sweep(), status="queued")
    assert healthy.pk in tick()
    broken.refresh_from_db()
    assert (broken.status, broken.reason) == (Status.FAILED, Reason.INTERNAL_ERROR)


def test_a_run_again_gets_the_next_repeat(matrix, user):
    load, first, _ = get_runs(matrix)
    tick()
    succeed(load)
    loaded(load)
    tick()
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
    load, first, second = get_runs(matrix)
    tick()
    succeed(load)
    loaded(load)
    tick()
    succeed(first)
    lifecycle.request_cancel(second, user)
    assert lifecycle.resume(matrix, user) == 1
    assert lifecycle.resume(matrix, user) == 0


def test_decision_takes_constant_queries(django_assert_max_num_queries):
    """Ten clusters with ten runs each, and one that lacks its data set: as many statements as for one cluster."""
    generator = make_load_generator()
    for _ in range(10):
        sweep = make_sweep()
        for number in range(10):
            make_run(sweep, status="queued", repeat=number + 1, position=number)
    make_run(make_sweep(), status="queued", generators=[generator])
    make_conductors()
    with django_assert_max_num_queries(29):
        assert len(scheduling.tick()) == 11


def test_finds_run_behind_long_blocked_queue():
    """Three hundred runs of one cluster wait for a silent load generator; another lane of that cluster does not."""
    sweep, silent = make_sweep(), make_load_generator(last_seen_at=None)
    first = make_run(sweep, status="queued", generators=[silent])
    copies = [
        Run(**{field.attname: getattr(first, field.attname) for field in Run._meta.concrete_fields}) for _ in range(300)
    ]
    for number, copy in enumerate(copies, start=2):
        copy.pk, copy.repeat, copy.position = new_id(), number, number
    Run.objects.bulk_create(copies)
    through = Run.load_generators.through
    through.objects.bulk_create(through(run=copy, loadgenerator=silent) for copy in copies)
    behind = make_run(sweep, status="queued", repeat=400, position=400, generators=[make_load_generator()])
    assert tick() == [behind.pk]


def test_wide_run_keeps_its_reservation_between_looks():
    """The reservation stands in the run's row; a run of one machine starts there only when the wide one has started."""
    near, far = make_machine(), make_machine()
    team = make_team()
    clusters = [make_cluster(team=team, machines=machines) for machines in ([near, far], [near], [far])]
    wide, busy, narrow = [
        make_run(make_sweep(database=make_database(cluster=cluster)), status="queued", position=n)
        for n, cluster in enumerate(clusters)
    ]
    Lease.objects.create(machine=near, run=busy)
    Run.objects.filter(pk=busy.pk).update(status="dispatched", expected_s=5)
    assert tick() == []
    wide.refresh_from_db()
    assert wide.reserved_at
    lifecycle.transition(busy.pk, Status.CANCELLED, actor="test", reason=Reason.CANCELLED_BY_USER)
    scheduling.release([busy.pk])
    assert tick() == [wide.pk]
    assert tick() == []
    assert Lease.objects.filter(run=wide).count() == 2
    assert Run.objects.get(pk=narrow.pk).status == Status.QUEUED


def test_load_keeps_its_cluster_until_it_has_succeeded():
    """The runs behind it would else wait for a server that another load has started."""
    database = make_database()
    sweep, other = make_sweep(database=database), make_sweep(database=database)
    load = make_run(sweep, phase="load", threads=8, status="running", stage="collecting")
    make_run(sweep, status="queued", position=1, needs=load)
    make_run(other, phase="load", status="queued", position=2)
    assert tick() == []


def test_cluster_of_merging_run_is_idle():
    """A run that merges its output elsewhere has given its machines back."""
    sweep = make_sweep()
    make_run(sweep, status="running", stage="collecting")
    following = make_run(sweep, status="queued", repeat=2)
    assert tick() == [following.pk]
