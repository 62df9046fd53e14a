"""Own builds in plans: who may start them, what is refused, and that runs, histories and copies carry their code."""

import datetime as dt
import json

import pytest
from django.utils import timezone

from benchsite.accounts.models import Role
from runs.builds import is_same_commit, read_statement
from runs.models import Matrix, Run
from runs.plans import PlanError, submit
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import export_plan
from runs.plans.submission import clone
from runs.queue.lifecycle import run_again
from runs.tests.factories import make_user
from runs.tests.planning_world import a_matrix, list_refusals
from runs.tests.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROOT = "/api/v1"
NOTHING = dict.fromkeys(
    ("name", "folder", "image", "artifact", "version", "commit", "branch", "committed_at", "ci_url"), ""
)
PLAIN = {"overrides": [], "exclusions": [], "bracket": False, "looks": []}


def build(name="this", **stated):
    return {**NOTHING, "name": name, **stated}


THIS = build(folder="/srv/this", commit="abcd1234", branch="feature", committed_at="2026-03-01T12:00:00Z")
BASE = build("base", folder="/srv/base", commit="0123abcd", branch="main")


def with_builds(team, *builds, **fields) -> Matrix:
    return a_matrix(team, **{**PLAIN, "builds": list(builds), **fields})


@pytest.mark.parametrize(
    ("builds", "part"),
    [
        ([THIS, THIS], "different names"),
        ([build(folder="/srv/a", artifact="a:b:1")], "several sources"),
        ([THIS, build("base")], "“base” has no source"),
        ([build(image="redis:8")], "servers of a process cluster are started from a folder or an artifact"),
    ],
)
def test_refuses_builds_that_cannot_be(team, builds, part):
    assert any(part in message for message in list_refusals(with_builds(team, *builds), "builds"))


def test_refuses_machines_whose_operator_allows_none(team):
    matrix = with_builds(team, THIS)
    machine = matrix.entries.first().database.cluster.nodes.first().machine
    assert list_refusals(matrix, "builds") == []
    reason = "its machine starts no own builds; its operator sets BENCHSITE_OWN_BUILD_FOLDERS."
    machine.facts = {"own_build_folder": {"value": reason, "how": "observed"}}
    machine.save()

    assert any(reason in message for message in list_refusals(matrix, "builds"))


def test_refuses_sources_for_servers_of_others(team):
    matrix = with_builds(team, THIS)
    cluster = matrix.entries.first().database.cluster
    cluster.provisioner = "external"
    cluster.save()
    assert any("run already" in message for message in list_refusals(matrix, "builds"))

    Matrix.objects.filter(pk=matrix.pk).update(builds=[build("", commit="abcd1234", branch="main")])
    matrix.refresh_from_db()
    assert list_refusals(matrix, "builds") == []


def test_looks_are_refused_beside_several_builds(team):
    messages = list_refusals(with_builds(team, THIS, BASE, looks=[3, 5], repeats=3), "builds")

    assert any("leave the looks empty" in message for message in messages)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_only_builders_start_own_builds(team, role):
    matrix = with_builds(team, THIS)
    with pytest.raises(PlanError, match="role builder or admin"):
        submit(matrix, make_user(team=team, role=role))
    with pytest.raises(PlanError, match="role builder or admin"):
        submit(matrix, None)
    assert not Run.objects.exists()

    submit(matrix, make_user(team=team, role=Role.BUILDER))
    assert Run.objects.exists()


def test_stated_code_alone_needs_no_builder(team):
    submit(with_builds(team, build("", commit="abcd1234")), make_user(team=team, role=Role.RUNNER))

    assert set(Run.objects.values_list("commit", flat=True)) == {"abcd1234"}


def test_every_entry_is_measured_with_each_build(team):
    matrix = with_builds(team, THIS, BASE)
    user = make_user(team=team, role=Role.ADMIN)
    plain = clone(matrix, name="plain", by=user, builds=[])

    submit(matrix, user)
    submit(plain, user)

    runs = Run.objects.filter(matrix=matrix)
    assert runs.count() == 2 * Run.objects.filter(matrix=plain).count()
    first = runs.filter(phase="measure", spec__build__name="this").order_by("position").first()
    assert (first.commit, first.branch) == ("abcd1234", "feature")
    assert first.committed_at == dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    other = runs.get(
        sweep__database=first.sweep.database, mode=first.mode, threads=first.threads, repeat=first.repeat,
        workload_name=first.workload_name, phase="measure", spec__build__name="base",
    )  # fmt: skip
    assert other.config_key == first.config_key and other.sweep_id != first.sweep_id
    assert " this " in first.name and " base " in other.name
    # Each build has servers and data of its own.
    assert first.needs_id != other.needs_id and first.needs.spec["build"]["name"] == "this"


def test_copies_keep_the_code(team, user):
    admin = make_user(team=team, role=Role.ADMIN)
    matrix = with_builds(team, THIS)
    submit(matrix, admin)
    run = Run.objects.filter(matrix=matrix, phase="measure").first()
    Run.objects.filter(matrix=matrix).update(status="failed", reason="internal_error", finished_at=timezone.now())
    run.refresh_from_db()

    again = run_again(run, admin)

    assert (again.commit, again.branch, again.committed_at) == (run.commit, run.branch, run.committed_at)


def test_plan_file_of_roles_has_no_builds(team):
    with pytest.raises(PlanRefused, match="builds"):
        export_plan(with_builds(team, THIS))


def send(program, matrix, *builds):
    entry, workload = matrix.entries.first(), matrix.workloads.first()
    plan = {
        "entries": [{"database": entry.database.name, "mode": entry.mode}], "workloads": [workload.name],
        "rungs": [2], "load_generators": [row.name for row in matrix.load_generators.all()], "builds": list(builds),
    }  # fmt: skip
    return program.client.post(
        f"{ROOT}/matrices", json.dumps(plan), content_type="application/json", headers=program.headers()
    )


def test_tokens_need_their_own_scope(team):
    matrix = with_builds(team)
    own = {"name": "this", "folder": "/srv/this"}
    user = make_user(team=team, role=Role.BUILDER)
    runner = Program(team, user, "matrices:run")
    refused = send(runner, matrix, own)
    assert refused.status_code == 403 and "builds:run" in refused.json()["detail"]
    assert send(runner, matrix, {"commit": "abcd1234"}).status_code == 201

    builder = Program(team, user, "matrices:run", "builds:run")
    stored = send(builder, matrix, own)
    assert stored.status_code == 201 and stored.json()["builds"][0]["folder"] == "/srv/this"

    submitted = runner.client.post(f"{ROOT}/matrices/{stored.json()['id']}/submit", headers=runner.headers())
    assert submitted.status_code == 403
    body = json.dumps({"matrix": stored.json()["id"]})
    planner = Program(team, user, "schedules:write")
    scheduled = planner.client.post(
        f"{ROOT}/schedules", body, content_type="application/json", headers=planner.headers()
    )
    assert scheduled.status_code == 403 and "builds:run" in scheduled.json()["detail"]


@pytest.mark.parametrize(
    ("stated", "part"),
    [
        ({"commit": "no commit"}, "4 to 64 letters"),
        ({"committed_at": "yesterday"}, "with its zone"),
        ({"committed_at": "2026-03-01T12:00:00"}, "with its zone"),
        ({"folder": "relative"}, "pattern"),
        ({"artifact": "nonsense"}, "pattern"),
        ({"ci_url": "javascript:alert(1)"}, "https://"),
    ],
)
def test_nonsense_is_refused_at_its_place(team, stated, part):
    user = make_user(team=team, role=Role.ADMIN)
    refused = send(Program(team, user, "matrices:run", "builds:run"), with_builds(team), {"name": "this", **stated})

    (fault,) = refused.json()["errors"]
    assert refused.status_code in (400, 422) and part in fault["detail"]
    assert fault["pointer"].endswith(f"builds/0/{next(iter(stated))}")


@pytest.mark.parametrize(
    ("commit", "other", "same"), [("abcd", "ABCD1234", True), ("abcd1234", "abcd", True), ("abcd", "abce1234", False)]
)
def test_commit_may_be_the_beginning_of_another(commit, other, same):
    assert is_same_commit(commit, other) is same


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"commit": "!"}', b'{"committed_at": "soon"}', b'{"branch": 1}'])
def test_statement_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="benchsite-build"):
        read_statement(text)
