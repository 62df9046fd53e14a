"""Runs that are queued after a correction sign in as the database says now; what is measured stays as it was."""

import pytest
from django.urls import reverse

from runs.models import Cluster, Matrix, MatrixEntry, Run
from runs.models.run import Status
from runs.plans.schedules import run_now
from runs.queue import lifecycle
from runs.queue.spec_corrections import list_lasting_changes
from runs.tests.factories import (
    make_database,
    make_load_generator,
    make_run,
    make_schedule,
    make_sweep,
    make_user,
    make_workload,
)

pytestmark = pytest.mark.django_db
BEFORE = {"postgresql.user": "ycbs", "postgresql.autocommit": "true"}
AFTER = {
    "postgresql.user": "ycsb", "postgresql.password": "secret", "postgresql.ssl": "require",
    "postgresql.autocommit": "false",
}  # fmt: skip


@pytest.fixture
def failed(team):
    database = make_database(team=team, system="postgresql", binding_properties=BEFORE)
    run = make_run(make_sweep(team=team, database=database), status=Status.FAILED, reason="server_did_not_start")
    run.spec["database"] |= {"id": str(database.pk), "binding_properties": BEFORE}
    run.save(update_fields=["spec"])
    database.binding_properties = AFTER
    database.save()
    return run


def resume(run, team):
    assert lifecycle.resume(run.matrix, make_user(team=team)) == 1
    return Run.objects.get(rerun_of=run)


def test_resumed_runs_take_credentials_and_tls(failed, team):
    properties = resume(failed, team).spec["database"]["binding_properties"]

    assert properties == {"postgresql.user": "ycsb", "postgresql.ssl": "require", "postgresql.autocommit": "true"}


def test_repeated_matrix_takes_what_is_corrected(failed, team):
    """It is a matrix of its own, so it takes everything that the database has now."""
    failed.matrix.workloads.set([make_workload(team=team)])
    failed.matrix.load_generators.set([make_load_generator(bindings={"postgresql": "1" * 64})])
    Cluster.objects.filter(databases=failed.sweep.database).update(provisioner="external")
    MatrixEntry.objects.create(matrix=failed.matrix, database=failed.sweep.database, mode="on", position=0)
    user = make_user(team=team)

    repeated = run_now(make_schedule(team, failed.matrix, created_by=user), user).matrix

    stated = {name: text for name, text in AFTER.items() if name != "postgresql.password"}
    specs = list(Run.objects.filter(matrix=repeated).values_list("spec", flat=True))
    assert specs and all(spec["database"]["binding_properties"] == stated for spec in specs)


def test_tls_stays_once_the_sweep_has_a_result(failed, team):
    measured = make_run(failed.sweep, repeat=2, spec=failed.spec)

    properties = resume(failed, team).spec["database"]["binding_properties"]
    again = lifecycle.run_again(measured, make_user(team=team)).spec["database"]["binding_properties"]

    assert properties == again == {"postgresql.user": "ycsb", "postgresql.autocommit": "true"}


def test_failed_run_offers_new_matrix_for_what_it_keeps(failed, team, client_in):
    Cluster.objects.filter(databases=failed.sweep.database).update(provisioner="external")
    failed.matrix.workloads.set([make_workload(team=team)])
    generators = [make_load_generator(bindings={"postgresql": "1" * 64}) for _ in range(2)]
    failed.matrix.load_generators.set(generators)
    MatrixEntry.objects.create(matrix=failed.matrix, database=failed.sweep.database, mode="on", position=0)
    page = client_in.get(reverse("run", args=[failed.pk])).content.decode()
    answer = client_in.post(reverse("matrix-replace", args=[failed.matrix_id]))

    assert "postgresql.autocommit" in page and reverse("matrix-replace", args=[failed.matrix_id]) in page
    new = Matrix.objects.exclude(pk=failed.matrix_id).get()
    assert answer.url == reverse("matrix", args=[new.pk]) and new.submitted_at
    for address in (reverse("run", args=[failed.pk]), reverse("matrix", args=[failed.matrix_id])):
        page = client_in.get(address).content.decode()
        assert answer.url in page and "Replaced" in page and "matrix-replace" not in page


def test_corrected_credentials_need_no_new_matrix(failed):
    failed.spec["database"]["binding_properties"] = BEFORE | {"postgresql.autocommit": "false"}

    assert not list_lasting_changes(failed)
