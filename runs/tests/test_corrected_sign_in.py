"""Runs that are queued after a correction sign in as the database says now; what is measured stays as it was."""

import pytest

from runs.models import Run
from runs.models.run import Status
from runs.queue import lifecycle
from runs.tests.factories import make_database, make_run, make_sweep, make_user

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


def test_tls_stays_once_the_sweep_has_a_result(failed, team):
    measured = make_run(failed.sweep, repeat=2, spec=failed.spec)

    properties = resume(failed, team).spec["database"]["binding_properties"]
    again = lifecycle.run_again(measured, make_user(team=team)).spec["database"]["binding_properties"]

    assert properties == again == {"postgresql.user": "ycsb", "postgresql.autocommit": "true"}
