"""Deleting asks, names the thing, and explains what keeps it."""

import pytest
from django.urls import reverse

from runs.models import Cluster, Database, Machine, Workload
from runs.tests.factories import make_cluster, make_database, make_machine, make_workload
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_it_asks_first_and_names_the_thing(operator, team):
    database = make_database(team=team, name="Old Redis")
    page = operator.get(reverse("database-delete", args=[database.pk])).content.decode()
    assert "Delete the database “Old Redis”?" in page
    assert Database.objects.exists()


@pytest.mark.parametrize(
    ("model", "name", "make"),
    [
        (Database, "database", lambda team: make_database(team=team)),
        (Workload, "workload", lambda team: make_workload(team=team)),
        (Cluster, "cluster", lambda team: make_cluster(team=team)),
        (Machine, "machine", lambda team: make_machine()),
    ],
)
def test_it_deletes_what_nothing_needs(operator, team, model, name, make):
    thing = make(team)
    response = operator.post(reverse(f"{name}-delete", args=[thing.pk]), follow=True)
    assert not model.objects.filter(pk=thing.pk).exists()
    assert f"The {name} “{thing}” was deleted." in response.content.decode()
    assert team.audit.values_list("kind", "subject", "text").get() == ("thing_deleted", str(thing), name)


@pytest.mark.parametrize(
    ("name", "blocker"),
    [("database", "1 matrix: study"), ("workload", "1 matrix: study"), ("cluster", "1 database: study"),
     ("machine", "1 load generator: ")],
)  # fmt: skip
def test_it_explains_what_needs_a_thing_and_keeps_it(operator, team, name, blocker):
    thing = getattr(make_world(team, name="study"), name)
    address = reverse(f"{name}-delete", args=[thing.pk])
    response = operator.get(address)
    assert blocker in response.content.decode()
    assert b"<button" not in response.content.partition(b"<main")[2].partition(b"</main")[0]
    assert operator.post(address).status_code == 409
    assert type(thing).objects.filter(pk=thing.pk).exists()


def test_explains_blockers_that_appear_during_deletion(operator, team, monkeypatch):
    world = make_world(team, name="study")
    from runs.results.views import deletion

    monkeypatch.setattr(deletion.Selection, "protected", property(lambda selection: []))
    response = operator.post(reverse("database-delete", args=[world.database.pk]))
    assert response.status_code == 409
    assert "is needed by what was added just now" in response.content.decode()
    assert Database.objects.filter(pk=world.database.pk).exists()
