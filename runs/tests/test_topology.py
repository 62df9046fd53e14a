"""The servers of a database are drawn from its cluster, its settings and its system."""

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.catalog.topology import MAX_BOXES, draw_servers
from runs.models import Provisioner
from runs.tests.factories import make_cluster, make_database, make_machine

pytestmark = pytest.mark.django_db


def draw(team, system="redis", machines=1, provisioner=Provisioner.PROCESS, **fields):
    cluster = make_cluster(
        team=team, machines=[make_machine(name=f"m{number}") for number in range(machines)], provisioner=provisioner
    )
    database = make_database(team=team, cluster=cluster, system=system, **fields)
    return draw_servers(database, load_catalog().system(system))


def test_replicas_are_copied_from_the_primary(team):
    boxes = draw(team, settings={"nodes": "3"}, replication_factor=3)

    assert [box["role"] for box in boxes] == ["primary", "replica", "replica"]
    assert [box["is_asked"] for box in boxes] == [True, False, False]


def test_equal_nodes_are_all_asked(team):
    boxes = draw(team, "cassandra", settings={"nodes": "3"}, replication_factor=2)

    assert {box["role"] for box in boxes} == {""} and all(box["is_asked"] for box in boxes)
    assert {box["machine"] for box in boxes} == {"m0"}


def test_external_servers_stand_on_their_machines(team):
    boxes = draw(team, machines=3, provisioner=Provisioner.EXTERNAL)

    assert [box["machine"] for box in boxes] == ["m0", "m1", "m2"]
    assert [box["left"] for box in boxes] == [0, 170, 340]


def test_many_servers_are_not_all_drawn(team):
    boxes = draw(team, machines=MAX_BOXES + 4, provisioner=Provisioner.EXTERNAL)

    assert len(boxes) == MAX_BOXES


def test_cluster_without_nodes_has_no_drawing(team):
    assert draw(team, machines=0, provisioner=Provisioner.EXTERNAL) == []


@pytest.mark.slow
def test_page_of_a_database_has_it(client_in, team):
    cluster = make_cluster(team=team, machines=[make_machine(name="<b>m</b>")])
    database = make_database(team=team, cluster=cluster, settings={"nodes": "2"})

    page = client_in.get(reverse("database", args=[database.pk])).content.decode()

    assert "&lt;b&gt;m" in page and "dashed: copied from the primary" in page
    assert "2 servers, copies of each record: 2;" in " ".join(page.split())
    assert "are drawn" not in page


@pytest.mark.slow
def test_page_counts_the_servers_that_are_not_drawn(client_in, team):
    machines = [make_machine(name=f"m{number}") for number in range(MAX_BOXES + 4)]
    cluster = make_cluster(team=team, machines=machines, provisioner=Provisioner.EXTERNAL)
    database = make_database(team=team, cluster=cluster, replication_factor=3)

    page = " ".join(client_in.get(reverse("database", args=[database.pk])).content.decode().split())

    assert "20 servers, copies of each record: 3; the first 16 are drawn" in page
