"""Who may change whose role, and that a team never loses its last admin."""

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.accounts import membership
from benchsite.accounts.models import Membership, Role
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


def change(client, user, team, **fields):
    pk = Membership.objects.get(user=user, team=team).pk
    return client.post(reverse("member-change", args=[pk]), fields)


def get_role(user, team):
    return Membership.objects.filter(user=user, team=team).values_list("role", flat=True).first()


def test_an_admin_changes_roles_and_removes(team):
    ada, grace = make_user(team=team, role=Role.ADMIN), make_user(team=team, role=Role.VIEWER)
    client = signed_in(ada)
    change(client, grace, team, role="runner")
    assert get_role(grace, team) == "runner"
    change(client, grace, team, role="emperor")
    assert get_role(grace, team) == "runner"
    change(client, grace, team, remove="1")
    assert get_role(grace, team) is None
    assert list(team.audit.values_list("kind", flat=True)) == ["removed", "role_changed"]


def test_the_last_admin_stays(team):
    ada = make_user(team=team, role=Role.ADMIN)
    client = signed_in(ada)
    assert b"only admin" in client.get(change(client, ada, team, role="viewer")["Location"]).content
    change(client, ada, team, remove="1")
    assert get_role(ada, team) == "admin"


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_remove_each_other_leave_one(race, team):
    ada, grace = (make_user(team=team, role=Role.ADMIN) for _ in range(2))
    turns = iter([(ada, grace), (grace, ada)])

    def act():
        by, whom = next(turns)
        try:
            membership.remove(Membership.objects.select_related("team", "user").get(user=whom, team=team), by)
        except (membership.MembershipRefused, Membership.DoesNotExist):
            return False
        return True

    race(act)
    assert Membership.objects.filter(team=team, role=Role.ADMIN).count() == 1


def test_everybody_may_leave_and_only_admins_do_the_rest(team):
    make_user(team=team, role=Role.ADMIN, username="ada")
    runner, other = make_user(team=team), make_user(team=team)
    client = signed_in(runner)
    assert change(client, other, team, remove="1").status_code == 403
    assert change(client, runner, team, role="admin").status_code == 403
    assert change(client, runner, team, remove="1")["Location"] == "/"
    assert get_role(runner, team) is None and get_role(other, team) == "runner"


def test_another_teams_members_are_not_there(stranger, team):
    grace = make_user(team=team)
    pk = Membership.objects.get(user=grace).pk
    assert stranger.post(reverse("member-change", args=[pk]), {"remove": "1"}).status_code == 404
    assert grace.username not in stranger.get(reverse("members")).content.decode()
    assert make_team().memberships.count() == 0
