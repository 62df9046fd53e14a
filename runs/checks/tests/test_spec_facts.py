"""What a run's spec says of its nodes, of who shared a machine, and of a side of a comparison."""

from typing import Any

import pytest

from runs.checks import ClusterFacts, SideFacts
from runs.checks.spec_facts import cluster_facts, shared_machine, side_facts

RECORD = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}


def machine(number: int, **facts: object) -> dict[str, Any]:
    return {"id": f"m{number}", "name": f"machine {number}", "facts": {"cores": number, **facts}}


def spec(machines: int = 1, provisioner: str = "external", **changes: Any) -> Any:
    """A spec with as much as its facts are made of."""
    usual: dict[str, Any] = {
        "system": "redis",
        "database": {"version": "7.2", "replication_factor": 2, "settings": {}},
        "mode": {"record": RECORD},
        "dataset": {"records": 1_000, "record_bytes": 500},
        "load": {"threads": 1, "target_ops_s": None, "processes": 1},
        "client": {"flavour": "ycsb", "ycsb_version": "0.17.0"},
        "cluster": {"provisioner": provisioner, "machines": [machine(number) for number in range(1, machines + 1)]},
        "generators": [{"machine": machine(9)}],
    }
    return {**usual, **changes}


@pytest.mark.parametrize(
    ("machines", "provisioner", "system", "settings", "nodes"),
    [
        (3, "external", "redis", {}, 3),
        (0, "external", "redis", {}, None),
        (1, "external", "redis-cluster", {"nodes": "6"}, 1),
        (1, "local", "redis-cluster", {}, 3),  # the catalog's number
        (1, "local", "redis-cluster", {"nodes": "6"}, 6),
        (7, "local", "redis-cluster", {"nodes": "6"}, 7),
        (0, "local", "cassandra", {}, None),  # its process has no setting of nodes
        (0, "local", "mongodb", {}, None),  # Benchsite starts no process of it
        (2, "local", "mongodb", {}, 2),
        (2, "local", "unknown", {}, 2),
        (1, "local", "unknown", {"nodes": "2"}, 2),
    ],
)
def test_counts_nodes_by_machines_or_settings(machines, provisioner, system, settings, nodes):
    database = {"version": "7.2", "replication_factor": 2, "settings": settings}
    facts = cluster_facts(spec(machines, provisioner, system=system, database=database))
    machine_facts = tuple({"cores": number} for number in range(1, machines + 1))
    assert facts == ClusterFacts(nodes=nodes, replication_factor=2, machines=machine_facts)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, False),
        ({"generators": [{"machine": machine(9)}, {"machine": machine(1)}]}, True),
        ({"generators": []}, None),
        ({"cluster": {"provisioner": "external", "machines": []}}, None),
        ({"stated": {"client_on_database_host": True}}, True),
        ({"stated": {"client_on_database_host": False}, "generators": [{"machine": machine(1)}]}, False),
        ({"stated": {"client_on_database_host": None}}, None),
    ],
)
def test_knows_whether_clients_shared_a_machine(changes, expected):
    assert shared_machine(spec(**changes)) is expected


def test_a_side_has_the_facts_of_its_spec():
    assert side_facts("A", spec()) == SideFacts(
        label="A",
        system="redis",
        version="7.2",
        client_version="ycsb 0.17.0",
        durability=RECORD,
        cluster=ClusterFacts(nodes=1, replication_factor=2, machines=({"cores": 1},)),
        records=1_000,
        record_bytes=500,
        client_on_database_host=False,
    )


def test_a_side_prefers_what_its_server_reports():
    unknown_client = {"flavour": "ycsb", "ycsb_version": ""}
    side = side_facts("A", spec(client=unknown_client), "7.4", server_use={"hit_ratio": 0.9, "hit_ratio_trend": -0.1})
    assert (side.version, side.client_version) == ("7.4", "")
    assert (side.hit_ratio, side.hit_ratio_trend) == (0.9, -0.1)
