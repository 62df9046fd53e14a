"""Operators allow networks of external servers, team by team; each change is in the team's audit log."""

import pytest
from django.test import Client

from benchsite.accounts.models import Role
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def other():
    return make_team(name="Other")


@pytest.fixture
def operator(team):
    client = Client()
    client.force_login(make_user(team=team, is_staff=True))
    return client


def list_networks(team):
    team.refresh_from_db()
    return team.external_networks


def test_operator_allows_and_withdraws(operator, other):
    """Also of a team that the operator is no member of."""
    for network in ("10.9.0.0/16", "10.9.0.0/16", "192.168.7.4", "FD00::/8"):
        assert operator.post("/networks/", {"team": other.pk, "network": network}).status_code == 302
    assert list_networks(other) == ["10.9.0.0/16", "192.168.7.4/32", "fd00::/8"]
    page = operator.get("/networks/").content.decode()
    assert page.count("Other</th>") == 3
    assert "Withdraw 192.168.7.4/32 of Other" in page
    operator.post("/networks/withdraw/", {"team": other.slug, "network": "10.9.0.0/16"})
    assert list_networks(other) == ["192.168.7.4/32", "fd00::/8"]
    assert list(other.audit.values_list("kind", "subject")) == [
        ("network_withdrawn", "10.9.0.0/16"),
        ("network_allowed", "fd00::/8"),
        ("network_allowed", "192.168.7.4/32"),
        ("network_allowed", "10.9.0.0/16"),
    ]


@pytest.mark.parametrize("network", ["", "10.0.0.1/8", "db.example", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4"])
def test_refuses_what_no_server_may_lie_in(operator, team, network):
    response = operator.post("/networks/", {"team": team.pk, "network": network})
    assert response.status_code == 422
    assert list_networks(team) == []
    assert not team.audit.exists()


def test_a_team_has_a_limited_number_of_networks(operator, team):
    team.external_networks = [f"10.0.{number}.0/24" for number in range(100)]
    team.save()
    response = operator.post("/networks/", {"team": team.pk, "network": "10.1.0.0/16"})
    assert "at most 100 networks" in response.content.decode()


def test_networks_are_for_operators(team):
    client = Client()
    client.force_login(make_user(team=team, role=Role.ADMIN))
    assert client.get("/networks/").status_code == 403
    assert client.post("/networks/", {"team": team.pk, "network": "10.0.0.0/8"}).status_code == 403
    assert client.post("/networks/withdraw/", {"team": team.slug, "network": "10.0.0.0/8"}).status_code == 403
    assert list_networks(team) == []
    assert "Networks</a>" not in client.get("/").content.decode()
