"""Everything of one team becomes another's: nothing is forgotten, nothing is mixed up, nobody else can do it."""

import pytest
from django.apps import apps
from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import AuditEntry, Membership, Role, Team
from benchsite.team_transfer import WAYS, HandOverRefused, hand_over, stays
from reports.models import History
from runs.data_confirmations import confirm, confirmation_of
from runs.models import Run
from runs.tests.factories import make_cluster, make_database, make_run, make_sweep, make_team, make_user, make_workload
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def new():
    return make_team(name="Newer")


@pytest.fixture
def both(team, new):
    """An admin of both teams."""
    user = make_user(team=team, role=Role.ADMIN, username="both")
    Membership.objects.create(user=user, team=new, role=Role.ADMIN)
    return user


def owned():
    """Every model with a team of its own."""
    for model in apps.get_models():
        for field in model._meta.fields:
            if field.name == "team" and field.related_model is Team:
                yield model._meta.label


def test_it_forgets_no_model():
    assert set(WAYS) == set(owned())


def test_everything_moves(team, new, both):
    world = make_world(team, name="thing")
    world.run.refresh_from_db()
    Run.objects.filter(pk=world.run.pk).exclude(status="succeeded").update(
        status="cancelled", finished_at="2026-01-01T00:00Z"
    )
    hand_over(team, new, both)
    for label, way in WAYS.items():
        model = apps.get_model(label)
        if way is not stays:
            assert not model._default_manager.filter(team=team).exists(), label
    assert world.machine.teams.filter(pk=new.pk).exists()
    client = Client()
    client.force_login(both)
    client.post("/team/", {"team": str(new.pk)})
    assert client.get(f"/runs/{world.run.pk}/").status_code == 200
    assert set(AuditEntry.objects.filter(kind__in=["handed_over", "taken_over"]).values_list("team", flat=True)) == {
        team.pk,
        new.pk,
    }


def test_names_that_are_taken_say_where_they_come_from(team, new, both):
    for one in (team, new):
        cluster = make_cluster(team=one, name="lab")
        make_database(team=one, cluster=cluster, name="x" * 80)
        make_workload(team=one, name="A")
    team.name = "Old & gold"
    team.save()
    hand_over(team, new, both)
    assert sorted(new.workloads.values_list("name", flat=True)) == ["A", "A (Old & gold)"]
    assert sorted(new.clusters.values_list("name", flat=True)) == ["lab", "lab (Old & gold)"]
    names = sorted(new.databases.values_list("name", flat=True))
    assert len(set(names)) == 2 and all(len(name) <= 80 for name in names)


def test_confirmations_move_with_their_cluster(team, new, both):
    cluster = make_cluster(team=team, provisioner="external")
    confirm(cluster, "db.example:6379, database 0", both)
    hand_over(team, new, both)
    assert confirmation_of(new.clusters.get(), "db.example:6379, database 0")


def test_histories_of_one_test_add_up(team, new, both):
    first = make_run(make_sweep(team=team), threads=4, throughput=100.0)
    second = make_run(make_sweep(team=new), threads=4, throughput=100.0)
    Run.objects.filter(pk=first.pk).update(config_key=second.config_key)
    History.objects.filter(team=team).update(config_key=second.config_key)
    hand_over(team, new, both)
    assert History.objects.get(team=new, config_key=second.config_key).runs == 2
    assert not History.objects.filter(team=team).exists()


def test_members_and_tokens_stay(team, new, both):
    tokens.make(team, both, name="ci", scopes=["runs:read"])
    hand_over(team, new, both)
    assert team.tokens.count() == 1 and new.tokens.count() == 0
    assert team.memberships.filter(user=both).exists()


def test_it_waits_for_runs_that_go(team, new, both):
    make_run(make_sweep(team=team), status="queued")
    with pytest.raises(HandOverRefused, match="queued or going"):
        hand_over(team, new, both)
    assert team.runs.count() == 1 and new.runs.count() == 0


def test_nobody_but_an_admin_of_both_can(team, new):
    make_sweep(team=team)
    mine = make_user(team=team, role=Role.ADMIN, username="mine")
    Membership.objects.create(user=mine, team=new, role=Role.RUNNER)
    with pytest.raises(HandOverRefused, match="admin of both"):
        hand_over(team, new, mine)
    client = Client()
    client.force_login(mine)
    client.post("/team/", {"team": str(team.pk)})
    response = client.post("/team/hand-over/", {"to": str(new.pk), "sure": "1"})
    assert response.status_code == 422 and team.sweeps.count() == 1


def test_the_page_asks_twice(team, new, both):
    make_sweep(team=team)
    client = Client()
    client.force_login(both)
    client.post("/team/", {"team": str(team.pk)})
    assert "Newer" in client.get("/team/hand-over/").content.decode()
    assert client.post("/team/hand-over/", {"to": str(new.pk)}).status_code == 422
    assert team.sweeps.count() == 1
    assert client.post("/team/hand-over/", {"to": str(new.pk), "sure": "1"}).status_code == 302
    assert new.sweeps.count() == 1
