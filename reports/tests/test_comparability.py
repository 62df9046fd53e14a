"""What shuts the gate of a comparison, what the declared axis opens it for, and what a selection is about."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from reports.compare.analysis.comparability import VARIES, gate, implied_axes
from reports.compare.curves import Setup
from reports.tests.curves import curve, operation, point
from runs.checks import CheckResult, SideFacts, judge_pair, profile
from runs.checks.facts import ClusterFacts

DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
MEMORY = {**DISK, "ack": "memory", "loss_window_s": None}
MIX = {"readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian", "recordcount": "1000"}
SETUP = Setup(
    version="7.0", replication_factor=1, records=40_000_000, record_bytes=1000, workload_properties=MIX, nodes=4
)
NODE = {"memory_bytes": 64 * 10**9, "cores": 8}


def side(database="Redis 7", mode="always", setup: dict[str, Any] | None = None, **changes: Any):
    return curve(database, mode, setup=replace(SETUP, **(setup or {})), **{"rungs": (2, 4, 8, 16, 32), **changes})


def facts(label="A", **changes):
    nodes = changes.pop("nodes", 4)
    cluster = changes.pop("cluster", ClusterFacts(nodes=nodes, replication_factor=1, machines=(NODE,) * nodes))
    base = SideFacts(
        label=label, system="redis", version="7.0", client_version="ycsb 0.17.0", durability=DISK, cluster=cluster,
        records=40_000_000, record_bytes=1000.0, client_on_database_host=False, hit_ratio=0.99,
    )  # fmt: skip
    return replace(base, **changes)


def findings(**changes) -> list[CheckResult]:
    purpose = changes.pop("purpose", "measured")
    return judge_pair(facts("A"), facts("B", **changes), profile(purpose))


A = side()


def test_searched_ladders_need_no_common_load():
    a, b = (side(matrix_id=uuid.uuid4(), repeats=0, rungs=rungs) for rungs in ((2, 4), (64, 128)))
    assert gate(a, b, findings(), ()).comparable


def test_equal_sides_are_comparable():
    reasons = gate(A, side(), findings(), ())
    assert reasons.comparable and not reasons.stops and not reasons.ignored and not reasons.unknown


# What differs on the other side, the axis that implies it, and a word of the sentence.
CASES: list[tuple[Any, str, str]] = [
    (side(mode="off"), "mode", "durability modes"),
    (side("Memcached", system="memcached", system_name="Memcached"), "database", "databases differ"),
    (side(setup={"groups": {"scans": "Scans, 4 threads"}}), "groups", "none and scans"),
    (side(setup={"nodes": 6}), "nodes", "number of nodes"),
    (side(setup={"nodes": 6, "records": 60_000_000}), "nodes", "number of records"),
    (side(setup={"version": "7.4"}), "version", "versions differ"),
    (side("Redis 7.4", setup={"version": "7.4"}), "version", "databases differ"),
    (side(setup={"records": 80_000_000}), "data", "number of records"),
    (side(setup={"record_bytes": 100}), "data", "size of a record"),
    (side(setup={"generators": ("one", "two"), "processes": 2}), "generators", "number of clients"),
    (side(setup={"server_settings": {"maxmemory": "1gb"}}), "database", "settings differ"),
    (side(setup={"replication_factor": 3}), "mode", "copies"),
]


@pytest.mark.parametrize(("other", "axis", "word"), CASES)
def test_an_axis_implies_its_own_and_nothing_else(other, axis, word):
    shut = gate(A, other, findings(), ())
    assert not shut.comparable and word in " ".join(shut.stops)
    opened = gate(A, other, findings(), (axis,))
    assert opened.comparable and word in " ".join(opened.ignored)
    others = set(VARIES) - {axis} - ({"database"} if axis == "version" else set())
    assert not gate(A, other, findings(), others).comparable
    assert all(text.endswith(".") for text in (*shut.stops, *opened.ignored))


def test_records_that_do_not_grow_with_the_nodes_shut_it():
    reasons = gate(A, side(setup={"nodes": 6, "records": 80_000_000}), findings(), ("nodes",))
    assert not reasons.comparable and "number of records" in reasons.stops[0] and "nodes" in reasons.ignored[0]


UNIFORM = {**MIX, "requestdistribution": "uniform"}


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (side(setup={"workload_properties": UNIFORM}), "requestdistribution (zipfian and uniform)"),
        (side(setup={"workload_properties": {}}, workload="Workload B"), "Workload A and Workload B"),
        (side(ladder="target"), "target throughputs"),
        (side(rungs=(64, 128)), "no number of threads in common"),
        (side(purpose="demo"), "demo run"),
        (side(phase="load"), "loads its data"),
        (side(points=[point(2, 100.0, operations=(operation("READ", 9, kind="response"),))]), "response times only"),
    ],
)
def test_no_axis_implies_another_test(other, word):
    reasons = gate(A, other, findings(), VARIES)
    assert not reasons.comparable and any(word in text for text in reasons.stops)


def test_targets_offered_by_other_threads_are_another_test():
    a, b, unknown = (
        side(ladder="target", rungs=(100,), points=[point(n, 100.0, target_ops_s=100)]) for n in (8, 16, 0)
    )
    assert gate(a, a, findings(), ()).comparable and gate(a, unknown, findings(), ()).comparable
    assert "offered by 8 and by 16 threads" in gate(a, b, findings(), VARIES).stops[0]


def test_the_same_workload_written_otherwise_is_the_same():
    other = {**MIX, "readproportion": "0.50", "insertproportion": "0", "operationcount": "5", "recordcount": "1000"}
    assert gate(A, side(setup={"workload_properties": other}, workload="Renamed"), findings(), ()).comparable


@pytest.mark.parametrize(
    ("changes", "axis", "word"),
    [
        ({"durability": MEMORY}, "mode", "write waits"),
        ({"records": 200_000_000}, "data", "memory"),
        ({"hit_ratio": 0.5}, "nodes", "Memory answered"),
        ({"client_on_database_host": True}, "generators", "shared its machine"),
        ({"client_version": "ycsb 0.18.0"}, "", "YCSB client"),
        ({"cluster": ClusterFacts(4, 1, ({**NODE, "cores": 16},) * 4)}, "", "hardware"),
    ],
)
def test_the_checks_of_pairs_shut_it(changes, axis, word):
    shut = gate(A, side(), findings(**changes), ())
    assert not shut.comparable and word in shut.stops[0]
    assert gate(A, side(), findings(**changes), VARIES).comparable is bool(axis)
    if axis:
        assert gate(A, side(), findings(**changes), (axis,)).comparable


def test_more_nodes_of_one_kind_are_no_other_hardware():
    assert gate(A, side(setup={"nodes": 6}), findings(nodes=6, records=60_000_000), ("nodes",)).comparable


def test_shared_warning_is_no_difference_and_demo_is_lenient():
    swapping = ClusterFacts(1, 1, ({**NODE, "swap_bytes": 5},))
    both = judge_pair(facts("A", cluster=swapping), facts("B", cluster=swapping), profile("measured"))
    assert any(one.severity == "warn" for one in both) and gate(A, side(), both, ()).comparable
    assert gate(A, side(), findings(client_version="ycsb 0.18.0", purpose="demo"), ()).comparable


def test_what_nobody_knows_shuts_nothing_and_is_said():
    other = side(setup={"records": None, "nodes": None, "workload_properties": {}})
    reasons = gate(A, other, findings(durability={}, records=None), ())
    assert reasons.comparable and "number of records" in reasons.unknown[0] and len(reasons.unknown) == 3


def test_undeclared_selection_stops_unlike_durability():
    """Across systems only: modes of the same system are comparable."""
    other, unlike = side("Memcached", "none", system="memcached"), findings(durability=MEMORY)
    assert gate(A, other, unlike, ("mode", "database")).comparable
    reasons = gate(A, other, unlike, ("mode", "database"), declared=False)
    assert not reasons.comparable and "write waits" in reasons.stops[0]
    assert gate(A, side(mode="off"), unlike, ("mode", "database"), declared=False).comparable


@pytest.mark.parametrize(
    ("curves", "axes"),
    [
        ([], ()),
        ([A], ()),
        ([A, side(mode="off")], ("mode",)),
        ([A, side("Memcached", "none", system="memcached")], ("database",)),
        ([A, side(mode="off"), side("M", "none", system="memcached")], ("mode", "database")),
        ([A, side(setup={"nodes": 6, "records": 60_000_000})], ("nodes",)),
        ([A, side("M", "none", system="memcached", setup={"nodes": 6})], ("database",)),
        ([A, side("Redis 7.4", setup={"version": "7.4"})], ("database", "version")),
        ([A, side(setup={"records": 5})], ("data",)),
        ([A, side(setup={"processes": 3})], ("generators",)),
        ([A, side(setup={"processes": 3, "version": "7.4"})], ()),
    ],
)
def test_what_a_selection_is_about(curves, axes):
    assert implied_axes(curves) == axes
