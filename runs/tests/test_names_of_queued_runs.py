"""A corrected address or machine: what waits says the new one, what was measured keeps its names."""

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from runs.models import Run
from runs.models.run import Status
from runs.queue import lifecycle
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_cluster, make_database, make_machine, make_matrix, make_run, make_sweep, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WRONG, RIGHT = "10.1.2.3:6379", "10.1.2.4:6379"
NAMES = [f"Redis at {address}" for address in (WRONG, RIGHT)]


@pytest.fixture(autouse=True)
def networks(settings):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]


@pytest.fixture
def machine():
    return make_machine(name="10.1.2.3", host_key=None)


@pytest.fixture
def cluster(team, machine):
    cluster = make_cluster(team=team, machines=[machine], provisioner="external", name=NAMES[0])
    cluster.nodes.update(address=WRONG)
    return cluster


@pytest.fixture
def sweep(team, cluster):
    database = make_database(cluster=cluster, team=team, name=NAMES[0])
    matrix = make_matrix(team=team, entries=[], name=f"First curve of {NAMES[0]}")
    return make_sweep(team=team, database=database, matrix=matrix, name=f"{NAMES[0]} always A")


def correct(client, cluster, machine, address=RIGHT):
    cluster.refresh_from_db()
    data = {"name": cluster.name, "provisioner": "external", "node-0-machine": machine.pk, "node-0-address": address}
    answer = client.post(reverse("cluster-edit", args=[cluster.pk]), data, follow=True)
    assert answer.redirect_chain == [(reverse("cluster", args=[cluster.pk]), 302)]
    return answer.content.decode()


def read_names(run):
    """The names of a run in its spec, in its sweep's columns, and as people read them."""
    run = Run.objects.select_related("sweep").get(pk=run.pk)
    assert run.config_key == config_key(run.spec)
    cluster = run.spec["cluster"]
    stated = [run.spec["database"]["name"], cluster["name"]]
    assert [run.sweep.database_name, run.sweep.cluster_name] == stated
    return [run.name, run.sweep.name, *stated, *(machine["name"] for machine in cluster["machines"])]


def expect_names(name, machine):
    return [f"{name} always A 2t r1", f"{name} always A", name, name, machine]


def test_a_changed_address_is_offered_to_be_checked(operator, cluster, sweep, machine):
    check = f'href="{reverse("own-server-first", args=[sweep.database_id])}?again=1"'
    page = correct(operator, cluster, machine)
    assert "Nothing was tried at the new address yet." in page and page.count(check) == 2

    page = correct(operator, cluster, machine)
    assert "Nothing was tried" not in page and page.count(check) == 1


def test_queued_runs_get_the_corrected_names(operator, cluster, sweep, machine):
    make_run(sweep, repeat=2, status=Status.FAILED)
    queued = make_run(sweep, status=Status.QUEUED)

    correct(operator, cluster, machine)

    assert read_names(queued) == expect_names(NAMES[1], "10.1.2.4")
    for row in (cluster, sweep.database, sweep.matrix, machine):
        row.refresh_from_db()
    assert [cluster.name, sweep.database.name] == [NAMES[1]] * 2
    assert (sweep.matrix.name, machine.name) == (f"First curve of {NAMES[1]}", "10.1.2.4")


def test_queued_runs_get_the_corrected_machine(operator, cluster, sweep, machine):
    queued = make_run(sweep, status=Status.QUEUED)

    correct(operator, cluster, make_machine(name="bench-2"), WRONG)

    assert read_names(queued) == expect_names(NAMES[0], "bench-2")


def test_nothing_measured_is_renamed(operator, cluster, sweep, machine):
    measured = make_run(sweep, repeat=2)
    queued = make_run(sweep, status=Status.QUEUED)
    before = measured.spec

    correct(operator, cluster, machine)

    assert read_names(queued) == expect_names(NAMES[0], "10.1.2.3")
    for row in (cluster, sweep.database, sweep.matrix, machine, measured):
        row.refresh_from_db()
    assert measured.spec == before
    assert [cluster.name, sweep.database.name] == [NAMES[0]] * 2
    assert (sweep.matrix.name, machine.name) == (f"First curve of {NAMES[0]}", "10.1.2.3")


def test_machine_of_another_cluster_keeps_its_name(operator, team, cluster, sweep, machine):
    make_cluster(team=team, machines=[machine])

    correct(operator, cluster, machine)

    machine.refresh_from_db()
    assert machine.name == "10.1.2.3"


@pytest.mark.parametrize("is_measured", [False, True])
def test_resumed_runs_are_named_as_their_sweep(operator, team, cluster, sweep, machine, is_measured):
    failed = make_run(sweep, status=Status.FAILED, repeat=2)
    queued = make_run(sweep, status=Status.QUEUED)
    correct(operator, cluster, machine)
    if is_measured:
        Run.objects.filter(pk=queued.pk).update(status=Status.SUCCEEDED, finished_at=failed.finished_at)

    lifecycle.resume(sweep.matrix, make_user(team=team))

    again = Run.objects.get(rerun_of=failed)
    assert read_names(again)[1:] == expect_names(NAMES[1], "10.1.2.4")[1:]
    assert again.name == f"{NAMES[1]} always A 2t r3"


def test_renamed_machine_and_database_are_those_of_queued_runs(operator, sweep, machine):
    queued = make_run(sweep, status=Status.QUEUED)

    answer = operator.post(reverse("machine-edit", args=[machine.pk]), {"name": "bench-1", "host_key": "", "facts": ""})
    assert answer.status_code == 302
    database = sweep.database
    data = {"system": database.system, "cluster": database.cluster_id, "name": "Fast", "version": database.version,
            "replication_factor": "1", "settings": "", "binding_properties": ""}  # fmt: skip
    assert operator.post(reverse("database-edit", args=[database.pk]), data).status_code == 302

    assert read_names(queued) == ["Fast always A 2t r1", "Fast always A", "Fast", NAMES[0], "bench-1"]


@pytest.mark.parametrize("status", [Status.RUNNING, Status.SUCCEEDED])
def test_names_of_other_runs_never_change(sweep, status):
    run = make_run(sweep, status=status)
    spec = {**run.spec, "database": {**run.spec["database"], "name": "Other"}}
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(spec=spec)
