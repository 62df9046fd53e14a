"""Webhooks made and looked after by programs: what pages do, for tokens of admins alone."""

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.accounts import tokens
from benchsite.accounts.models import AuditEntry, Role, Scope, Webhook
from benchsite.notifications import webhooks
from benchsite.notifications.tests.receivers import receiving
from benchsite.tests.asking import make_program, problem
from runs.tests.factories import make_user

pytestmark = pytest.mark.django_db
PLAN = {"name": "chat", "url": "http://127.0.0.1:9/hook", "kinds": ["matrix_finished"]}


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def program(team):
    return make_program(team, "webhooks:write")


def made(program, **more):
    answer = program.ask("POST", "/webhooks", {**PLAN, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_it_is_made_and_its_secret_is_said_once(program):
    said = made(program)
    own = f"/webhooks/{said['webhook']['id']}"
    [secret] = webhooks.get_secrets(Webhook.objects.get())
    assert said["secret"] == secret
    assert program.said(own) == said["webhook"]
    assert secret not in str(program.said("/webhooks")) + str(program.said(own))
    assert {key: program.said(own)[key] for key in PLAN} == PLAN
    entry = AuditEntry.objects.get(kind="webhook_made")
    assert (entry.subject, secret in entry.text) == ("chat", False)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"url": "https://169.254.169.254/"}, "#/url"),
        ({"url": "https://[::1]/"}, "#/url"),
        ({"url": "ftp://127.0.0.1/"}, "#/url"),
        ({"url": "http://127.0.0.1:9/\0"}, "#/url"),
        ({"kinds": []}, "#/kinds"),
        ({"kinds": ["weather"]}, "#/kinds/0"),
        ({"name": "  "}, "#/name"),
    ],
)
def test_what_pages_refuse_it_refuses(program, change, pointer):
    refusal = problem(program.ask("POST", "/webhooks", {**PLAN, **change}), 400, "validation-error")
    assert refusal["errors"][0]["pointer"] == pointer
    assert not Webhook.objects.exists()


def test_a_team_has_no_more_than_it_may(program, monkeypatch):
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    made(program)
    assert "at most 1" in problem(program.ask("POST", "/webhooks", PLAN), 409, "conflict")["detail"]


def test_a_kind_named_twice_is_kept_once(program):
    twice = {"kinds": ["regression", "matrix_finished", "regression"]}
    own = f"/webhooks/{made(program, **twice)['webhook']['id']}"
    assert program.said(own)["kinds"] == ["matrix_finished", "regression"]
    assert program.ask("PATCH", own, {"kinds": ["regression", "regression"]}).json()["kinds"] == ["regression"]


def test_it_is_changed_paused_and_switched_on(program):
    own = f"/webhooks/{made(program)['webhook']['id']}"
    changed = program.ask("PATCH", own, {"name": "pager", "is_active": False}).json()
    assert (changed["name"], changed["url"], changed["is_active"]) == ("pager", PLAN["url"], False)
    assert program.ask("PATCH", own, {"is_active": True}).json()["is_active"]
    kinds = AuditEntry.objects.filter(kind__startswith="webhook").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["webhook_made", "webhook_changed", "webhook_off", "webhook_on"]
    wrong = {"url": "https://10.0.0.1/", "is_active": False}
    refused = problem(program.ask("PATCH", own, wrong), 400, "validation-error")
    assert refused["errors"][0]["pointer"] == "#/url"
    assert program.said(own)["is_active"]


def test_another_secret_is_said_once_and_the_old_one_overlaps(program):
    first = made(program)
    own = f"/webhooks/{first['webhook']['id']}"
    second = program.ask("POST", f"{own}/secret").json()
    assert webhooks.get_secrets(Webhook.objects.get()) == [second["secret"], first["secret"]]
    assert program.said(own)["old_secret_until"]


def test_a_test_says_what_came_of_it_and_stands_in_the_log(program):
    with receiving() as receiver:
        own = f"/webhooks/{made(program, url=receiver.url)['webhook']['id']}"
        done = program.ask("POST", f"{own}/test").json()
        receiver.status = 500
        failed = program.ask("POST", f"{own}/test").json()
    assert (done["state"], done["status_code"], done["kind"]) == ("delivered", 200, "test")
    assert (failed["state"], failed["error"]) == ("given_up", "It answered 500 Internal Server Error.")
    assert [item["id"] for item in program.said(f"{own}/deliveries")["items"]] == [failed["id"], done["id"]]
    assert len(program.said(f"{own}/deliveries?limit=1")["items"]) == 1


def test_it_is_deleted(program):
    own = f"/webhooks/{made(program)['webhook']['id']}"
    assert program.ask("DELETE", own).status_code == 204
    problem(program.get(own), 404, "not-found")
    assert AuditEntry.objects.filter(kind="webhook_deleted", subject="chat").exists()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_only_admins_give_the_scope(team, role):
    with pytest.raises(tokens.TokenRefused, match="webhooks:write"):
        tokens.make(team, make_user(team=team, role=role), name="x", scopes=["webhooks:write"])


def test_tokens_of_before_may_not(team):
    before = set(Scope.values) - {"webhooks:write", "schedules:write"}
    problem(make_program(team, *before).get("/webhooks"), 403, "insufficient-scope")


def test_a_field_that_nobody_knows_is_refused(program):
    refused = problem(program.ask("POST", "/webhooks", {**PLAN, "secret": "mine"}), 400, "validation-error")
    assert refused["errors"][0]["pointer"] == "#/secret"
    assert program.said("/webhooks")["items"] == []


def test_page_and_api_choose_the_shape(team):
    admin = make_user(team=team, role=Role.ADMIN, username="ada")
    client = Client()
    client.force_login(admin)
    with receiving() as receiver:
        sent = {"name": "chat", "url": receiver.url, "kinds": ["matrix_finished"]}
        assert client.post(reverse("webhook-add"), {**sent, "shape": "slack"}).status_code == 200
        hook = Webhook.objects.get()
        assert hook.shape == "slack"
        program = make_program(team, "webhooks:write")
        changed = program.ask("PATCH", f"/webhooks/{hook.pk}", {"shape": "teams"})
        assert (changed.status_code, changed.json()["shape"]) == (200, "teams")
        assert program.ask("POST", "/webhooks", {**sent, "shape": "smoke signals"}).status_code == 400
        # What says nothing of the shape leaves it, or gets every field.
        assert program.ask("PATCH", f"/webhooks/{hook.pk}", {"name": "talk"}).json()["shape"] == "teams"
        assert program.ask("POST", "/webhooks", sent).json()["webhook"]["shape"] == "plain"
