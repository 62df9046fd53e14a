"""A refused sign-in leaves an audit entry, which counts and cannot be made to fill the log, and tells no password."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from benchsite.accounts.models import AuditEntry, Membership, Role
from conftest import signed_in
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def person(team):
    return make_user(team=team, username="ada", is_staff=True, is_superuser=True)


def tried(name, *, password="not the password", address="192.0.2.7"):
    return Client(REMOTE_ADDR=address).post("/sign-in/", {"username": name, "password": password})


def refused():
    return AuditEntry.objects.filter(kind="sign_in_refused")


def test_an_account_has_one_entry_an_hour_and_it_counts(person):
    for _ in range(3):
        tried("ada")
    tried("ada", address="192.0.2.8")
    entry = refused().get()
    assert (entry.subject, entry.times, entry.actor, entry.actor_name) == ("ada", 4, None, "somebody")
    assert "from 192.0.2.8." in entry.text
    refused().update(at=timezone.now() - timedelta(minutes=61))
    tried("ada")
    assert sorted(refused().values_list("times", flat=True)) == [1, 4]


def test_stores_no_passwords_and_no_unknown_user_names(person):
    tried("hunter2-in-the-wrong-field", password="correct horse battery")
    tried("ada", password="correct horse battery")
    for n in range(30):
        tried(f"name {n}", address=f"192.0.2.{n}")
    assert {entry.subject: entry.times for entry in refused()} == {"": 31, "ada": 1}
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(teams_auditentry::text, '') FROM teams_auditentry")
        kept = cursor.fetchone()[0]
    for text in ("hunter2", "correct horse", "name 3"):
        assert text not in kept


def test_admins_of_the_persons_teams_see_it_and_nobody_else(team, person):
    other, foreign = make_team(name="Other"), make_team(name="Foreign")
    Membership.objects.create(user=person, team=other, role=Role.VIEWER)
    tried("ada")
    tried("ada")
    tried("nobody")
    for reader_team, sees in ((team, True), (other, True), (foreign, False)):
        admin = signed_in(make_user(team=reader_team, role=Role.ADMIN))
        page = admin.get("/team/audit/").content.decode()
        assert ("was refused at signing in as" in page, "2 times." in page) == (sees, sees)
        assert "A name that no account has" not in page
    everything = signed_in(person).get("/admin/teams/auditentry/").content.decode()
    assert "A name that no account has" in everything


def test_the_operator_cannot_rewrite_it(person):
    tried("ada")
    operator, entry = signed_in(person), refused().get()
    assert operator.get(f"/admin/teams/auditentry/{entry.pk}/change/").status_code == 200
    assert operator.post(f"/admin/teams/auditentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert operator.get("/admin/teams/auditentry/add/").status_code == 403


def test_signing_out_and_a_new_password_are_noted(user):
    user.set_unusable_password()
    user.save()
    client = signed_in(user)
    client.post("/account/", {"new_password1": "a long new one 77", "new_password2": "a long new one 77"})
    client.post("/sign-out/")
    kinds = AuditEntry.objects.filter(actor=user, team=None).order_by("id").values_list("kind", flat=True)
    assert list(kinds)[-2:] == ["password_changed", "sign_out"]
