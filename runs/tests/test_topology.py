"""The servers of a database are drawn from its cluster, its settings and its system."""

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.catalog.topology import MAX_BOXES, build_topology
from runs.models import Provisioner
from runs.tests.factories import make_cluster, make_database, make_machine

pytestmark = pytest.mark.django_db


def make_topology(team, system="redis", machines=1, provisioner=Provisioner.PROCESS, **fields):
    cluster = make_cluster(
        team=team, machines=[make_machine(name=f"m{number}") for number in range(machines)], provisioner=provisioner
    )
    database = make_database(team=team, cluster=cluster, system=system, **fields)
    return build_topology(database, load_catalog().system(system))


def test_replicas_are_copied_from_the_primary(team):
    topology = make_topology(team, settings={"nodes": "3"}, replication_factor=3)

    assert [box.role for box in topology.boxes] == ["primary", "replica", "replica"]
    assert [box.is_asked for box in topology.boxes] == [True, False, False]
    assert (topology.servers, topology.replication_factor) == (3, 3)


def test_equal_nodes_are_all_asked(team):
    topology = make_topology(team, "cassandra", settings={"nodes": "3"}, replication_factor=2)

    assert {box.role for box in topology.boxes} == {""} and all(box.is_asked for box in topology.boxes)
    assert {box.machine for box in topology.boxes} == {"m0"}


def test_external_servers_stand_on_their_machines(team):
    topology = make_topology(team, machines=3, provisioner=Provisioner.EXTERNAL)

    assert [box.machine for box in topology.boxes] == ["m0", "m1", "m2"]
    assert [box.left for box in topology.boxes] == [0, 170, 340]


def test_many_servers_are_counted(team):
    topology = make_topology(team, machines=MAX_BOXES + 4, provisioner=Provisioner.EXTERNAL)

    assert len(topology.boxes) == MAX_BOXES
    assert topology.servers == 20


def test_cluster_without_nodes_has_no_drawing(team):
    assert make_topology(team, machines=0, provisioner=Provisioner.EXTERNAL) is None


@pytest.mark.slow
def test_page_of_a_database_has_it(client_in, team):
    cluster = make_cluster(team=team, machines=[make_machine(name="<b>m</b>")])
    database = make_database(team=team, cluster=cluster, settings={"nodes": "2"})

    page = client_in.get(reverse("database", args=[database.pk])).content.decode()

    assert "&lt;b&gt;m" in page and "dashed: copied from the primary" in page
    assert "are drawn" not in page


@pytest.mark.slow
def test_page_counts_the_servers_that_are_not_drawn(client_in, team):
    machines = [make_machine(name=f"m{number}") for number in range(MAX_BOXES + 4)]
    cluster = make_cluster(team=team, machines=machines, provisioner=Provisioner.EXTERNAL)
    database = make_database(team=team, cluster=cluster, replication_factor=3)

    page = " ".join(client_in.get(reverse("database", args=[database.pk])).content.decode().split())

    assert "20 servers, copies of each record: 3; the first 16 are drawn" in page
