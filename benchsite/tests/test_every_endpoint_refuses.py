"""Whoever may not ask is told so by every endpoint of the description, and finds nothing that is another team's."""

import datetime as dt
import uuid

import pytest
from django.utils import timezone

from benchsite.accounts import tokens
from benchsite.accounts.models import ApiToken, Membership, Role, Scope, Webhook
from benchsite.tests.asking import Program, described, make_program, problem
from reports.models import Report
from runs.models import Upload
from runs.tests.factories import make_matrix, make_run, make_schedule, make_sweep, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ENDPOINTS = described()
# What everybody may read; badges have secret addresses of their own.
PUBLIC = {"list_formats", "report_badge", "verdict_badge", "history_sparkline"}
GUARDED = [endpoint for endpoint in ENDPOINTS if endpoint[2]["operationId"] not in PUBLIC]
# Parameters that name rows of a team, and bodies that are valid where a body is asked for.
OF_A_TEAM = ("run_id", "matrix_id", "sweep_id", "upload_id", "report_id", "webhook_id", "schedule_id", "cluster_id")
BODIES = {
    "revise_report": None,
    "change_report_access": {"access": "private"},
    "confirm_data": {"target": "cache"},
    "push_metrics": {"machine": "db1", "text": "up 1"},
    "add_repeats": {"look": 3},
    "apply_file": {"file": ""},
}


def names(endpoints):
    return [said["operationId"] for _, _, said in endpoints]


@pytest.fixture(autouse=True)
def as_often_as_one_likes(settings):
    settings.API_REQUESTS_PER_MINUTE = settings.API_UPLOADS_PER_MINUTE = 0


@pytest.fixture
def foreign():
    """Rows of a team, by the parameter that names them."""
    other = make_team(name="Elsewhere")
    run = make_run(make_sweep(team=other))
    return {
        "run_id": run.pk,
        "sweep_id": run.sweep_id,
        "matrix_id": make_matrix(team=other).pk,
        "upload_id": Upload.objects.create(team=other).pk,
        "report_id": Report.objects.create(team=other, title="Secret").pk,
        "webhook_id": Webhook.objects.create(team=other, name="Secret", url="https://a.example", kinds=["test"]).pk,
        "schedule_id": make_schedule(other).pk,
        "cluster_id": run.cluster_id,
    }


def filled(path, keys):
    said = {name: str(uuid.uuid4()) for name in OF_A_TEAM} | {name: str(key) for name, key in keys.items()}
    return path.format(operation="READ", sha256="ab" * 32, key="ci:1", name="nightly", token="x" * 22, **said)


def bodies(said):
    """A body that says nothing wrong, as far as one is asked for."""
    content = said.get("requestBody", {}).get("content", {})
    return BODIES.get(said["operationId"], {}) if "application/json" in content else None


def test_the_public_endpoints_are_those():
    assert {said["operationId"] for _, _, said in ENDPOINTS if not said.get("security")} == PUBLIC


@pytest.mark.parametrize(("method", "path", "said"), GUARDED, ids=names(GUARDED))
def test_without_a_token_it_is_refused(method, path, said):
    answer = Program(None).ask(method, filled(path, {}), bodies(said))
    problem(answer, 401, "unauthenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path", "said"), GUARDED, ids=names(GUARDED))
def test_a_session_counts_for_nothing(client_in, method, path, said):
    answer = client_in.generic(method.upper(), filled(path, {}), b"{}", content_type="application/json")
    problem(answer, 401, "unauthenticated")


@pytest.mark.parametrize(("method", "path", "said"), GUARDED, ids=names(GUARDED))
def test_a_token_without_its_scope_is_refused(team, method, path, said):
    needed = {scope for one in said["security"] for scope in one["Token"]}
    others = sorted(set(Scope.values) - needed)
    answer = make_program(team, *others).ask(method, filled(path, {}), bodies(said))
    assert any(scope in problem(answer, 403, "insufficient-scope")["detail"] for scope in needed)


OWNED = [path for path in GUARDED if any(f"{{{name}}}" in path[1] for name in OF_A_TEAM)]


@pytest.mark.parametrize(("method", "path", "said"), OWNED, ids=names(OWNED))
def test_what_is_another_teams_is_not_there(team, foreign, method, path, said):
    program = make_program(team)
    if said["operationId"] in ("revise_report", "change_report_access") and bodies(said) is None:
        pytest.skip("tried where reports are tried: what it takes is made of a comparison")
    theirs, nowhere = (program.ask(method, filled(path, keys), bodies(said)) for keys in (foreign, {}))
    problem(theirs, 404, "not-found")
    problem(nowhere, 404, "not-found")


LISTS = [
    "/runs?phase=any", "/matrices", "/sweeps?phase=any", "/baselines", "/reports", "/webhooks", "/schedules",
    "/clusters", "/databases", "/workloads",
]  # fmt: skip


@pytest.mark.parametrize("where", LISTS)
def test_lists_hold_nothing_of_another_team(team, foreign, where):
    answer = make_program(team).get(where)
    if answer.status_code in (404, 405):
        pytest.skip("there is no such list")
    assert answer.json()["items"] == []


@pytest.mark.parametrize("how", ["expired", "revoked", "left", "inactive", "cut", "mistyped", "unknown", "empty"])
def test_a_token_that_has_ended_is_refused(team, how):
    maker = make_user(team=team, role=Role.ADMIN)
    text = tokens.make(team, maker, name="nightly", scopes=["runs:read"])
    row = ApiToken.objects.get()
    if how == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    elif how == "revoked":
        tokens.revoke(row, maker)
    elif how == "left":
        Membership.objects.filter(user=maker).delete()
    elif how == "inactive":
        maker.is_active = False
        maker.save()
    text = {
        "cut": text[:-1],
        "mistyped": text.swapcase(),
        "unknown": "bs_" + "a" * 8 + "_" + "b" * 38,
        "empty": " ",
    }.get(how, text)
    problem(Program(text).get("/runs"), 401, "unauthenticated")


def test_a_token_loses_what_its_makers_role_lost(team):
    maker = make_user(team=team, role=Role.ADMIN)
    program = Program(tokens.make(team, maker, name="nightly", scopes=["runs:read", "runs:delete"]))
    run = make_run(make_sweep(team=team))
    Membership.objects.filter(user=maker).update(role=Role.VIEWER)
    problem(program.ask("DELETE", f"/runs/{run.pk}"), 403, "insufficient-scope")
    assert program.get("/runs").status_code == 200


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("GET", "/runs/"), ("POST", "/v2/runs")])
def test_an_address_that_is_none_is_a_problem_document(team, method, path):
    problem(make_program(team).ask(method, path), 404, "not-found")


def test_a_method_that_is_none_is_a_problem_document(team):
    answer = make_program(team).ask("PUT", "/runs")
    problem(answer, 405, "method-not-allowed")
    assert "GET" in answer["Allow"]


@pytest.mark.parametrize(
    "body", [b"{", b"[1]", b"\xff\xfe", b"null", b'{"labels": "\\ud800"}', b'{"labels": 5}', b"[" * 100_000]
)
def test_a_body_that_cannot_be_read_is_a_problem_document(team, body):
    run = make_run(make_sweep(team=team))
    problem(make_program(team).ask("PATCH", f"/runs/{run.pk}", body), 400, "validation-error")


def test_internal_error_is_problem_document_without_details(team, monkeypatch):
    monkeypatch.setattr("runs.catalog.api.systems.load_catalog", lambda: 1 / 0)
    refusal = problem(make_program(team).get("/systems"), 500, "internal-error")
    assert "ZeroDivision" not in str(refusal)
