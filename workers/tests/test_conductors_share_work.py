"""Several conductors take dispatched runs from the rows: each run once, and servers where they are started."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from runs.models import Conductor, Deployment, Run
from runs.models.run import Status
from runs.tests.factories import make_cluster, make_conductor, make_database, make_machine, make_run, make_sweep
from workers.conductor import conductor_identity


def dispatched(host, provisioner="process", address=""):
    machine = make_machine(host_key=f"{host}", name=host) if host else make_machine()
    cluster = make_cluster(machines=[machine], provisioner=provisioner)
    cluster.nodes.update(address=address)
    sweep = make_sweep(database=make_database(cluster=cluster))
    return make_run(sweep, status=Status.DISPATCHED)


def claimed_by(conductor):
    claimed = conductor_identity.claim_run(conductor)
    return claimed[0] if claimed else None


@pytest.mark.django_db
@pytest.mark.parametrize("provisioner", ["process", "docker"])
def test_servers_are_started_on_their_own_machine_only(provisioner):
    run = dispatched("lab-1", provisioner)
    assert claimed_by(make_conductor("lab-2")) is None
    mine = make_conductor("lab-1")
    assert claimed_by(mine) == run.pk
    run.refresh_from_db()
    assert (run.status, run.conductor) == (Status.RUNNING, mine)


@pytest.mark.django_db
def test_external_servers_are_for_any_conductor():
    run = dispatched("", "external")
    assert claimed_by(make_conductor("lab-2")) == run.pk


@pytest.mark.django_db
def test_nodes_of_load_generators_are_for_any_conductor():
    run, conductor = dispatched("lab-1", address="10.0.0.1"), make_conductor("lab-2")
    assert claimed_by(conductor) == run.pk

    deployment = Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode="off"
    )
    Run.objects.filter(pk=run.pk).delete()
    assert conductor_identity.deployments_to_tidy(conductor) == [deployment.pk]


@pytest.mark.django_db
def test_machine_stays_with_the_process_whose_server_is_up():
    run = dispatched("lab-1")
    first, second = make_conductor("lab-1"), make_conductor("lab-1")
    Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode="off", state="up", conductor=first
    )
    assert claimed_by(second) is None
    # A process that gives no sign of life holds nothing.
    Conductor.objects.filter(pk=first.pk).update(last_seen_at=Now() - timedelta(minutes=1))
    assert claimed_by(second) == run.pk


@pytest.mark.django_db
def test_servers_are_removed_by_their_own_conductor():
    run = dispatched("lab-1")
    first, second, elsewhere = make_conductor("lab-1"), make_conductor("lab-1"), make_conductor("lab-2")
    deployment = Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode="off", state="up", conductor=first
    )
    Run.objects.filter(pk=run.pk).delete()
    assert conductor_identity.deployments_to_tidy(second) == conductor_identity.deployments_to_tidy(elsewhere) == []
    assert conductor_identity.deployments_to_tidy(first) == [deployment.pk]
    Deployment.objects.update(state="down", conductor=None)
    assert conductor_identity.deployments_to_tidy(second) == [deployment.pk]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_run_that_another_conductor_is_claiming_is_passed_over():
    first, second = dispatched("", "external"), dispatched("", "external")
    taken = []

    def claim() -> None:
        try:
            taken.append(claimed_by(make_conductor("lab-2")))
        finally:
            connection.close()

    with transaction.atomic():
        taken.append(claimed_by(make_conductor("lab-1")))
        thread = threading.Thread(target=claim)
        thread.start()
        thread.join(30)  # It does not wait for this transaction.
        assert not thread.is_alive()
    assert set(taken) == {first.pk, second.pk}
