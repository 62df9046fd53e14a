"""The checks of every two sides of a comparison, gathered by check."""

from types import SimpleNamespace

from reports.compare.analysis.pairs import pair_findings
from reports.tests.curves import DISK, MEMORY
from runs.checks import ClusterFacts, SideFacts, profile

MEASURED = profile("measured")
NODE = {"memory_bytes": 10**10, "cores": 8}


def side(label, **changes):
    known = {
        "durability": DISK, "records": 1_000_000, "record_bytes": 1000.0, "client_on_database_host": False,
        "system": "redis", "version": "7.0", "client_version": "ycsb 0.17.0",
        "cluster": ClusterFacts(nodes=1, replication_factor=1, machines=(NODE,)),
    }  # fmt: skip
    return SideFacts(label, **{**known, **changes})


def by_id(*sides):
    return {finding["check_id"]: SimpleNamespace(**finding) for finding in pair_findings(sides, MEASURED)}


def test_equal_sides_may_be_compared():
    findings = by_id(side("a"), side("b"), side("c"))
    assert {check_id: finding.severity for check_id, finding in findings.items()} == {
        "V17": "pass", "V18": "not_assessed", "V20": "pass", "V24": "pass",
    }  # fmt: skip
    assert all(finding.of == finding.pairs == 3 and not finding.tells for finding in findings.values())


def test_counts_pairs_that_differ_and_lists_messages_once():
    V20 = by_id(side("a"), side("b"), side("c", durability=MEMORY))["V20"]
    assert (V20.severity, V20.pairs, V20.of, len(V20.messages)) == ("warn", 2, 3, 2)
    assert V20.tells and V20.remedy


def test_one_unknown_side_is_no_pass_and_hides_nothing():
    assert by_id(side("a"), side("b"), side("c", durability={}))["V20"].severity == "not_assessed"
    V20 = by_id(side("a"), side("b", durability=MEMORY), side("c", durability={}))["V20"]
    assert (V20.severity, V20.pairs) == ("warn", 1)


def test_one_side_is_compared_with_nothing():
    assert pair_findings([side("a")], MEASURED) == []
