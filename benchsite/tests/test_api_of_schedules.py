"""Schedules made and looked after by programs, and run at once."""

import pytest

from benchsite.accounts.models import AuditEntry
from benchsite.tests.asking import make_program, problem
from runs.models import LoadGenerator, Matrix, Occasion, Run, Schedule
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_often_as_one_likes(settings):
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def matrix(team):
    machine = make_machine()
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), system="redis")
    generators = [make_load_generator(machine=machine, bindings={"redis": "d" * 64})]
    return make_matrix(
        team=team, name="Checkout", entries=[(redis, "always")], workloads=[make_workload(team=team)],
        load_generators=generators, rungs=[2, 4],
    )  # fmt: skip


@pytest.fixture
def program(team):
    return make_program(team, "schedules:write")


def made(program, matrix, **more):
    answer = program.ask("POST", "/schedules", {"matrix": str(matrix.pk), **more})
    assert answer.status_code == 201, answer.content
    assert answer["Location"] == f"/api/v1/schedules/{answer.json()['id']}"
    return answer.json()


def test_it_is_made_and_read(program, matrix):
    said = made(program, matrix, every="week", at="02:30", days=["friday", "monday"])
    assert said["when"] == "on Mondays and Fridays at 02:30 UTC"
    assert (said["name"], said["days"], said["is_active"]) == ("Checkout", ["monday", "friday"], True)
    assert said["next_at"]
    assert program.said(f"/schedules/{said['id']}") == said
    assert program.said("/schedules")["items"] == [said]
    assert AuditEntry.objects.get(kind="schedule_made").text == said["when"]


@pytest.mark.parametrize(
    ("plan", "pointer"),
    [
        ({"every": "week"}, "#/days"),
        ({"every": "year"}, "#/every"),
        ({"at": "24:00"}, "#/at"),
        ({"every": "hours", "hours": 5}, "#/hours"),
        ({"days": ["someday"]}, "#/days/0"),
        ({"name": ""}, "#/name"),
    ],
)
def test_nonsense_is_refused_at_its_field(program, matrix, plan, pointer):
    answer = program.ask("POST", "/schedules", {"matrix": str(matrix.pk), **plan})
    assert problem(answer, 400, "validation-error")["errors"][0]["pointer"] == pointer
    assert not Schedule.objects.exists()


def test_another_teams_matrix_is_not_there(program):
    theirs = make_matrix(team=make_team(name="Elsewhere"))
    problem(program.ask("POST", "/schedules", {"matrix": str(theirs.pk)}), 404, "not-found")


def test_it_is_changed_paused_and_switched_on(program, matrix):
    own = f"/schedules/{made(program, matrix)['id']}"
    changed = program.ask("PATCH", own, {"every": "hours", "hours": 12}).json()
    assert changed["when"] == "every 12 hours, at 03:00 and 15:00 UTC"
    assert program.ask("PATCH", own, {"is_active": False}).json()["next_at"] is None
    again = {"is_active": True, "name": "Noon", "every": "day", "at": "12:00"}
    assert program.ask("PATCH", own, again).json()["next_at"]
    problem(program.ask("PATCH", own, {"every": "week", "is_active": False}), 400, "validation-error")
    assert program.said(own)["is_active"]
    kinds = AuditEntry.objects.filter(kind__startswith="schedule").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["schedule_made", "schedule_changed", "schedule_off", "schedule_changed", "schedule_on"]


def test_it_runs_now_and_its_times_stay(program, matrix):
    before = made(program, matrix)
    own = f"/schedules/{before['id']}"
    done = program.ask("POST", f"{own}/run").json()
    assert (done["outcome"], done["reason"][:13]) == ("submitted", "Asked for by ")
    assert Run.objects.filter(matrix=done["matrix"], status="queued").exists()
    assert program.said(f"{own}/occasions")["items"] == [done]
    assert program.said(own) == before
    assert "has not finished" in problem(program.ask("POST", f"{own}/run"), 409, "conflict")["detail"]
    assert AuditEntry.objects.get(kind="schedule_run").subject == "Checkout"


def test_a_plan_that_cannot_run_leaves_nothing(program, matrix):
    own = f"/schedules/{made(program, matrix)['id']}"
    LoadGenerator.objects.update(bindings={})
    assert problem(program.ask("POST", f"{own}/run"), 422, "plan-refused")["errors"]
    assert not Occasion.objects.exists()
    assert Matrix.objects.count() == 1
    assert program.said(own)["failures"] == 0


def test_who_may_submit_may_run_it_and_who_reads_may_read(team, program, matrix):
    own = f"/schedules/{made(program, matrix)['id']}"
    assert make_program(team, "matrices:run").ask("POST", f"{own}/run").status_code == 200
    reader = make_program(team, "runs:read", role="viewer")
    assert reader.get(own).status_code == 200
    for method, where in (("PATCH", own), ("DELETE", own), ("POST", f"{own}/run")):
        problem(reader.ask(method, where, {}), 403, "insufficient-scope")


def test_it_is_deleted_and_what_it_submitted_stays(program, matrix):
    own = f"/schedules/{made(program, matrix)['id']}"
    program.ask("POST", f"{own}/run")
    assert program.ask("DELETE", own).status_code == 204
    problem(program.get(own), 404, "not-found")
    assert Matrix.objects.count() == 2


def test_refuses_unknown_field_and_changes_nothing(program, matrix):
    own = f"/schedules/{made(program, matrix)['id']}"
    for refused in (
        program.ask("PATCH", own, {"active": False}),
        program.ask("POST", "/schedules", {"matrix": str(matrix.pk), "evry": "week"}),
    ):
        assert problem(refused, 400, "validation-error")["errors"][0]["pointer"] in ("#/active", "#/evry")
    assert program.said(own)["is_active"] and Schedule.objects.count() == 1
