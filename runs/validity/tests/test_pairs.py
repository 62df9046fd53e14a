"""Two sides of a comparison: what makes them differ beside what is compared, and what nobody knows of them."""

from dataclasses import replace
from typing import Any

import pytest

from runs.catalog.durability import Durability
from runs.validity import ClusterFacts, SideFacts, judge_pair, profile
from runs.validity.pairs import fit_of, memory_ratio, waits_for

MEASURED = profile("measured")
DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
MEMORY = {**DISK, "ack": "memory", "loss_window_s": None}
GB = 1_000_000_000
NODE: dict[str, object] = {
    "memory_bytes": {"value": 64 * GB, "how": "observed"},
    "cores": {"value": 8, "how": "stated"},
}


def cluster(nodes: int = 1, **changes: Any) -> ClusterFacts:
    return replace(ClusterFacts(nodes=nodes, replication_factor=1, machines=(NODE,) * nodes), **changes)


SIDE = SideFacts(
    label="A",
    system="redis",
    version="7.0",
    client_version="ycsb 0.17.0",
    durability=DISK,
    cluster=cluster(),
    records=1_000_000,
    record_bytes=1000.0,
    client_on_database_host=False,
    hit_ratio=0.99,
    hit_ratio_trend=0.0,
)


def severities(a: SideFacts, b: SideFacts, purpose: str = "measured") -> dict[str, str]:
    return {finding.check_id: finding.severity for finding in judge_pair(a, b, profile(purpose))}


def test_equal_sides_pass():
    results = judge_pair(SIDE, replace(SIDE, label="B"), MEASURED)
    assert [(result.check_id, result.severity) for result in results] == [
        ("V17", "pass"), ("V18", "pass"), ("V20", "pass"), ("V24", "pass"),
    ]  # fmt: skip


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("V17", {"records": 60_000_000}, "warn"),
    ("V17", {"records": 200_000_000}, "warn"),
    ("V17", {"records": 40_000_000}, "pass"),
    ("V17", {"records": None}, "not_assessed"),
    ("V17", {"cluster": ClusterFacts(nodes=1, machines=({"cores": 8},))}, "not_assessed"),
    ("V17", {"cluster": ClusterFacts(nodes=1, machines=({**NODE, "cache_bytes": GB // 2},))}, "warn"),
    ("V18", {"hit_ratio": 0.94}, "pass"),
    ("V18", {"hit_ratio": 0.93}, "warn"),
    ("V18", {"hit_ratio_trend": -0.06}, "warn"),
    ("V18", {"hit_ratio": None}, "not_assessed"),
    ("V20", {"durability": MEMORY}, "warn"),
    ("V20", {"durability": {**DISK, "replicas_acked": 1, "replica_ack": "memory"}}, "warn"),
    ("V20", {"durability": {**DISK, "reads": "any_copy"}}, "pass"),
    ("V20", {"durability": {}}, "not_assessed"),
    ("V20", {"durability": {"ack": "much"}}, "not_assessed"),
    ("V24", {"version": "7.2"}, "warn"),
    ("V24", {"system": "postgresql", "version": "15"}, "pass"),
    ("V24", {"version": ""}, "not_assessed"),
    ("V24", {"client_version": "ycsb 0.12.0"}, "warn"),
    ("V24", {"client_on_database_host": True}, "warn"),
    ("V24", {"client_on_database_host": None}, "not_assessed"),
    ("V24", {"cluster": cluster(2)}, "warn"),
    ("V24", {"cluster": ClusterFacts(nodes=1, machines=({**NODE, "cores": 4},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(nodes=1, machines=({},))}, "not_assessed"),
    ("V24", {"cluster": cluster(replication_factor=3)}, "warn"),
]


@pytest.mark.parametrize(("check_id", "changes", "expected"), CASES)
def test_it_judges_two_sides(check_id, changes, expected):
    other = replace(SIDE, **{"label": "B", **changes})
    for a, b in ((SIDE, other), (other, SIDE)):
        finding = next(finding for finding in judge_pair(a, b, MEASURED) if finding.check_id == check_id)
        assert finding.severity == expected, finding
        assert finding.message.endswith(".") and finding.threshold and len(finding.measured) <= 120
        assert bool(finding.remedy) == (expected == "warn")


def test_unknown_never_equals_unknown():
    unknown = SideFacts("B")
    assert set(severities(unknown, replace(unknown, label="C")).values()) == {"not_assessed"}


def test_unacknowledged_writes_warn_even_beside_each_other():
    silent = replace(SIDE, durability={**MEMORY, "ack": "none"})
    assert severities(silent, silent)["V20"] == "warn"


def test_a_demonstration_only_hears_of_its_machine():
    shared = replace(SIDE, label="B", client_on_database_host=True)
    assert severities(SIDE, shared, "demo")["V24"] == "info"


# 500 million records of 120 bytes, two copies, on four machines of 31 GB: on the border, and with keys still.
@pytest.mark.parametrize(("record_bytes", "ratio"), [(120 - 23, 0.97), (120, 1.15)])
def test_it_agrees_with_a_published_cluster(record_bytes, ratio):
    four = ClusterFacts(nodes=4, replication_factor=2, machines=({"memory_bytes": 31 * GB},) * 4)
    side = SideFacts("study", cluster=four, records=500_000_000, record_bytes=record_bytes)
    found = memory_ratio(side)
    assert found == pytest.approx(ratio, abs=0.005)
    assert found is not None and fit_of(found, MEASURED) == "borders on memory"


def told(record):
    return waits_for(Durability.from_dict(record))


def test_a_mode_is_told_in_words():
    assert told(DISK) == "the disk"
    assert told(MEMORY) == "the server's memory (may lose any)"
    assert told({**MEMORY, "loss_window_s": 1.0}) == "the server's memory (may lose the last seconds)"
    copies = {**DISK, "replicas_acked": "quorum", "replica_ack": "disk"}
    assert told(copies) == "the disk, quorum of the copies (the disk)"
