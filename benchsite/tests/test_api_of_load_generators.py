"""Programs calibrate and release load generators and confirm external data, with the rights that the pages ask for."""

import time

import pytest
from django.utils import timezone

from benchsite.accounts import tokens
from benchsite.accounts.models import AuditEntry
from benchsite.tests.asking import Program, make_program, problem
from runs.catalog.data_confirmations import find_confirmation
from runs.models import DataConfirmation, LoadGenerator, Node
from runs.results import pushed_metrics
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_team, make_user

pytestmark = pytest.mark.django_db
TARGET = {"target": "10.1.2.3:6379, database 3"}


@pytest.fixture(autouse=True)
def as_often_as_one_likes(settings):
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def operator(team):
    return Program(
        tokens.make(team, make_user(team=team, role="admin", is_staff=True), name="ci", scopes=["matrices:run"])
    )


def test_operator_calibrates(operator):
    make_load_generator(name="lab-1")
    first = operator.ask("POST", "/load-generators/lab-1/calibration")
    assert first.status_code == 202
    assert first.json()["calibration_requested_at"] is not None
    again = operator.ask("POST", "/load-generators/lab-1/calibration")
    assert again.json() == first.json()
    LoadGenerator.objects.update(last_seen_at=None)
    answer = operator.ask("POST", "/load-generators/lab-1/calibration")
    assert "lab-1 gives no sign of life" in problem(answer, 409, "conflict")["detail"]


def test_operator_releases(operator):
    make_load_generator(name="lab-1", quarantined_at=timezone.now(), quarantine_reason="It did not start a client.")
    for _ in range(2):
        answer = operator.ask("DELETE", "/load-generators/lab-1/quarantine")
        assert (answer.status_code, answer.json()["quarantined_at"], answer.json()["quarantine_reason"]) == (
            200,
            None,
            "",
        )
    assert AuditEntry.objects.get(kind="generator_released").subject == "lab-1"


@pytest.mark.parametrize(("method", "what"), [("POST", "calibration"), ("DELETE", "quarantine")])
def test_only_operators_reach_load_generators(team, operator, method, what):
    make_load_generator(name="lab-1", quarantined_at=timezone.now())
    problem(make_program(team).ask(method, f"/load-generators/lab-1/{what}"), 403, "insufficient-scope")
    problem(operator.ask(method, f"/load-generators/lab-2/{what}"), 404, "not-found")
    generator = LoadGenerator.objects.get()
    assert generator.quarantined_at is not None and generator.calibration_requested_at is None


def external_cluster(team):
    cluster = make_cluster(team=team, provisioner="external", machines=[])
    Node.objects.create(cluster=cluster, machine=make_machine(), address="10.1.2.3:6379")
    make_database(team=team, cluster=cluster, binding_properties={"redis.database": "3"})
    return cluster


def test_admin_confirms(team):
    cluster = external_cluster(team)
    where = f"/clusters/{cluster.pk}/data-confirmations"
    for _ in range(2):
        answer = make_program(team).ask("POST", where, TARGET)
        assert (answer.status_code, answer.json()["target"]) == (200, TARGET["target"])
    assert find_confirmation(cluster, TARGET["target"])
    assert AuditEntry.objects.filter(kind="data_confirmed").count() == 1
    answer = make_program(team).ask("POST", where, {"target": "10.1.2.3:6379, database 0"})
    assert TARGET["target"] in problem(answer, 404, "not-found")["detail"]


def test_runner_pushes_metrics_of_a_node(team):
    cluster = external_cluster(team)
    machine = cluster.nodes.get().machine
    where = f"/clusters/{cluster.pk}/metrics"
    program = make_program(team, "runs:write", role="runner")
    assert program.ask("PUT", where, {"machine": machine.name, "text": "up 1"}).status_code == 204
    at_s, text = pushed_metrics.read(cluster.pk, machine.pk)
    assert text == "up 1" and at_s == pytest.approx(time.time(), abs=5)
    assert pushed_metrics.find_pushing(cluster.pk, [machine.pk, cluster.pk]) == [machine.pk]
    problem(program.ask("PUT", where, {"machine": "db9", "text": "up 1"}), 404, "not-found")
    problem(program.ask("PUT", where, {"machine": machine.name, "text": "x" * 200_001}), 400, "validation-error")
    problem(make_program(team, "runs:read").ask("PUT", where, {"machine": "m", "text": ""}), 403, "insufficient-scope")


def test_runners_and_other_teams_confirm_nothing(team):
    where = f"/clusters/{external_cluster(team).pk}/data-confirmations"
    problem(make_program(team, "matrices:run", role="runner").ask("POST", where, TARGET), 403, "insufficient-scope")
    problem(make_program(make_team()).ask("POST", where, TARGET), 404, "not-found")
    assert not DataConfirmation.objects.exists()
