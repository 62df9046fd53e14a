"""Invitations: made by admins, used once, never by two."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts import membership
from benchsite.accounts.models import AuditEntry, Invitation, Membership, Role, User
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PASSWORD = "a horse, correct, with a battery"


@pytest.fixture
def admin_in(admin):
    client = Client()
    client.force_login(admin)
    return client


def link_from(client, **fields):
    made = client.post(reverse("invite"), {"note": "Grace", "role": "runner", **fields})
    response = client.get(made["Location"])
    return re.search(r'<code id="link">http://testserver([^<]+)</code>', response.content.decode())[1]


def signed_up(client, link, **changes):
    fields = {"username": "grace", "email": "", "password1": PASSWORD, "password2": PASSWORD, **changes}
    return client.post(link, fields)


def test_page_of_a_new_link_can_be_loaded_again(admin_in, team):
    """Until the link is used or an hour is over; the database has no copy that lets somebody in."""
    link = link_from(admin_in)
    token = link.rpartition("/")[2]
    assert admin_in.get(reverse("invite"))["Location"] == reverse("members")
    assert link in admin_in.get(reverse("members")).content.decode()
    assert token not in str(dict(admin_in.session))

    Invitation.objects.update(created_at=timezone.now() - timedelta(minutes=61))
    assert link not in admin_in.get(reverse("members")).content.decode()


def test_new_link_is_gone_once_it_is_used(admin_in):
    link = link_from(admin_in)
    signed_up(Client(), link)
    assert link not in admin_in.get(reverse("members")).content.decode()


def test_somebody_without_an_account_makes_one_and_joins(admin_in, team):
    link, grace = link_from(admin_in), Client()
    assert team.name in grace.get(link).content.decode()
    assert signed_up(grace, link)["Location"] == "/"
    assert get_user(grace).username == "grace"
    assert Membership.objects.get(user__username="grace").role == "runner"
    assert list(team.audit.values_list("kind", "actor_name")) == [("joined", "grace"), ("invited", "ada")]


def test_somebody_with_an_account_joins_with_it(admin_in, team):
    link, other = link_from(admin_in), Client()
    other.force_login(make_user(team=make_team(), username="grace"))
    assert other.post(link)["Location"] == "/"
    assert other.session["team"] == str(team.pk)


def test_it_works_once(admin_in):
    link = link_from(admin_in)
    signed_up(Client(), link)
    assert Client().get(link).status_code == 410
    assert signed_up(Client(), link, username="eve").status_code == 410
    assert not User.objects.filter(username="eve").exists()


def test_it_ends_after_a_week_or_when_it_is_withdrawn(admin_in, team):
    old, gone = link_from(admin_in), link_from(admin_in)
    first, second = Invitation.objects.order_by("created_at")
    Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    admin_in.post(reverse("invitation-withdraw", args=[second.pk]))
    for link in (old, gone, reverse("invited", args=["made-up"])):
        assert Client().get(link).status_code == 410


@pytest.mark.parametrize(
    "bad", [{"password2": "another"}, {"username": ""}, {"password1": "123", "password2": "123"}, {"username": "ada"}]
)
def test_a_bad_form_makes_nothing_and_keeps_the_invitation(admin_in, bad):
    link = link_from(admin_in)
    assert signed_up(Client(), link, **bad).status_code == 422
    assert User.objects.count() == 1
    assert Client().get(link).status_code == 200


def test_member_keeps_role_and_invitation_stays_valid(admin_in):
    link = link_from(admin_in)
    response = admin_in.post(link)
    assert response.status_code == 422 and b"member of" in response.content
    assert Membership.objects.get(user__username="ada").role == "admin"
    assert Client().get(link).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_two_at_the_same_moment_one_joins(race, team):
    token = membership.invite(team, make_user(team=team, role=Role.ADMIN), role="viewer")
    people = iter([make_user(), make_user()])

    def join():
        try:
            return membership.accept(token, next(people))
        except membership.MembershipRefused:
            return None

    assert [bool(result) for result in sorted(race(join), key=bool)] == [False, True]


def test_only_admins_invite_and_see_the_audit_log(client_in, team):
    assert client_in.post(reverse("invite"), {"role": "admin"}).status_code == 403
    assert client_in.get(reverse("audit")).status_code == 403
    assert b"Invite somebody" not in client_in.get(reverse("members")).content
    assert not Invitation.objects.exists()


def test_the_token_is_kept_nowhere_and_masked_in_logs(admin_in):
    from benchsite.core.logs import mask

    link = link_from(admin_in)
    token = link.rstrip("/").rsplit("/", 1)[1]
    assert token not in "".join(str(value) for row in Invitation.objects.values() for value in row.values())
    assert token not in mask(f"GET {link} 200")
    assert not AuditEntry.objects.filter(text__contains=token).exists()


def test_a_new_team_has_its_maker_as_admin():
    client = Client()
    client.force_login(make_user(username="lone"))
    assert reverse("team-add") in client.get(reverse("account")).content.decode(), "the menu leads there"
    assert client.post(reverse("team-add"), {"name": "Storage & Co"})["Location"] == reverse("members")
    made = Membership.objects.get(user__username="lone")
    assert (made.role, made.team.slug) == ("admin", "storage-co")
    membership.make_team("Storage & Co", made.user)
    assert Membership.objects.filter(user=made.user, team__slug="storage-co-2").exists()
    assert client.post(reverse("team-add"), {"name": ""}).status_code == 422
