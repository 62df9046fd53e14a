"""New records of a run against what its clients were told, and the keys of clients that insert together."""

import pytest

from runs.checks import InsertedRecords
from runs.checks.tests.test_checks import both, client, facts, result, severity
from runs.ycsb.evidence import ClientEvidence

INSERTS = {"proportions": {"READ": 0.95, "INSERT": 0.05}}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (InsertedRecords((1000, 1016), (0, 0), 1000), "pass"),
        (InsertedRecords((1000, 1016), (0, 0), 1016), "pass"),
        (InsertedRecords((1000, 1016), (0, 0), 999), "reject"),
        (InsertedRecords((1000, 1016), (0, 0), 1017), "warn"),
        (InsertedRecords((1000, 1016), (400, 410), 590), "pass"),
        (InsertedRecords((1000, 1016), (400, 410), 616), "pass"),
        (InsertedRecords((1000, 1016), (400, 410), 589), "reject"),
    ],
)
def test_new_records_are_the_acknowledged_inserts(counts, expected):
    assert severity("V39", facts(inserted_records=counts, **INSERTS)) == expected


def test_lost_inserts_are_named():
    finding = result("V39", facts(inserted_records=InsertedRecords((1000, 1016), (400, 410), 500), **INSERTS))
    assert finding is not None
    assert finding.message == (
        "After 1,000 acknowledged inserts and 400 deletes there are 500 new records: acknowledged inserts are lost, or "
        "clients overwrote each other's."
    )


def test_uncounted_records_are_not_assessed():
    assert severity("V39", facts(**INSERTS)) == "not_assessed"
    assert severity("V39", facts()) is None
    assert severity("V39", facts(**INSERTS, made_elsewhere=True)) is None


def inserting(*properties):
    """An upload whose clients inserted 100 records each."""
    clients = [
        client(number, printed_counts={"INSERT": 100}, evidence=ClientEvidence({"recordcount": "1000", **each}))
        for number, each in enumerate(properties)
    ]
    return facts(clients=tuple(clients), clients_expected=len(clients), made_elsewhere=True)


def test_every_nth_key_is_of_one_client():
    numbered = [{"client.number": str(number), "client.count": "3"} for number in range(3)]
    finding = result("V32", inserting(*numbered))
    assert finding is not None and (finding.severity, finding.measured) == ("pass", "300 keys")
    twice = result("V32", inserting(numbered[0], numbered[1], numbered[1]))
    assert twice is not None
    assert (twice.severity, twice.measured) == ("warn", "200 different keys in 300 inserts")
    stock = result("V32", inserting({}, {}))
    assert stock is not None and stock.measured == "100 different keys in 200 inserts"


def test_reads_that_find_nothing_are_judged():
    returns = {"OK": 570_000, "NOT_FOUND": 10_000}
    clients = both(printed_counts=None)
    missing = facts(clients=clients, failed_operations=10_000, ok_operations=570_000, returns=returns, **INSERTS)
    finding = result("V07", missing)
    assert finding is not None and finding.severity == "reject"
    assert "acknowledged to them: see V39" in finding.remedy
