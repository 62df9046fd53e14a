"""Acknowledged writes against what was read after a fault."""

import pytest

from workers.durability.ledger import ABSENT, DAMAGED, UNREADABLE, Write, classify, parse_ledger

FAULT_US = 10_000_000


def write(key: str, version: int, sent_s: float, acknowledged_s: float) -> Write:
    return Write(key, version, round(sent_s * 1e6), round(acknowledged_s * 1e6))


# Two writes of `a`, then one of `b`.
WRITES = [write("a", 1, 1, 2), write("a", 2, 3, 4), write("b", 3, 5, 6)]


def test_reads_the_lines_of_a_ledger():
    assert parse_ledger(["user1 7 100 200\n"]) == [Write("user1", 7, 100, 200)]
    with pytest.raises(ValueError):
        parse_ledger(["user1 7"])


def test_everything_present_is_no_loss():
    loss = classify(WRITES, {"a": 2, "b": 3}, FAULT_US)
    assert (loss.acknowledged, loss.lost, loss.present, loss.oldest_lost_s, loss.holes) == (3, 0, 2, 0, 0)


def test_older_version_loses_the_later_writes():
    loss = classify(WRITES, {"a": 1, "b": ABSENT}, FAULT_US)
    assert (loss.lost, loss.older, loss.absent) == (2, 1, 1)
    assert loss.oldest_lost_s == 6  # the second write of `a`
    assert loss.holes == 0


def test_survivor_sent_after_a_lost_write_is_a_hole():
    loss = classify(WRITES, {"a": ABSENT, "b": 3}, FAULT_US)
    assert (loss.lost, loss.holes, loss.oldest_lost_s) == (2, 2, 8)


@pytest.mark.parametrize(("version", "name"), [(DAMAGED, "damaged"), (UNREADABLE, "unreadable"), (ABSENT, "absent")])
def test_key_without_a_version_loses_all_its_writes(version, name):
    loss = classify(WRITES, {"a": version, "b": 3}, FAULT_US)
    assert (loss.lost, getattr(loss, name)) == (2, 1)


def test_unacknowledged_version_is_counted_and_no_loss():
    loss = classify(WRITES, {"a": 99, "b": 3}, FAULT_US)
    assert (loss.lost, loss.unacknowledged, loss.present) == (0, 1, 1)


def test_write_acknowledged_after_the_fault_does_not_count():
    late = [*WRITES, write("a", 4, 9, 11), write("c", 5, 9, 11)]
    for versions in ({"a": 2, "b": 3}, {"a": 4, "b": 3}):
        loss = classify(late, versions, FAULT_US)
        assert (loss.acknowledged, loss.lost, loss.present) == (3, 0, 2)


def test_overlapping_writes_survive_in_either_order():
    overlapping = [write("a", 1, 1, 4), write("a", 2, 2, 3)]
    for version in (1, 2):
        assert classify(overlapping, {"a": version}, FAULT_US).lost == 0


def test_deleted_key_is_present_when_absent():
    deleted = [write("a", 1, 1, 2), write("a", 0, 3, 4)]
    assert classify(deleted, {"a": ABSENT}, FAULT_US).lost == 0
    assert classify(deleted, {"a": 1}, FAULT_US).older == 1
