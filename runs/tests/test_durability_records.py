"""Durability records: what follows from them, and which ones contradict themselves."""

import json

import pytest

from runs.catalog import Durability
from runs.catalog.durability import same_class


def record(**changes) -> Durability:
    plain = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
    return Durability.from_dict({**plain, **changes})


@pytest.mark.parametrize(
    ("changes", "process_crash", "node_loss", "power_loss"),
    [
        ({"ack": "none", "loss_window_s": None}, False, False, False),
        ({"ack": "memory", "loss_window_s": 0.6}, False, False, False),
        ({"ack": "os_buffer", "loss_window_s": 1.0}, True, False, False),
        ({}, True, False, True),
        ({"ack": "memory", "replicas_acked": 1, "replica_ack": "memory"}, True, True, False),
        ({"ack": "memory", "replicas_acked": "quorum", "replica_ack": "disk"}, True, True, True),
        ({"replicas_acked": 1, "replica_ack": "none"}, True, False, True),
    ],
)
def test_it_derives_what_a_write_survives(changes, process_crash, node_loss, power_loss):
    survives = {"process_crash": process_crash, "node_loss": node_loss, "power_loss": power_loss}
    assert record(**changes).survives == survives


@pytest.mark.parametrize("changes", [{}, {"loss_window_s": None}, {"replicas_acked": "all", "replica_ack": "disk"}])
def test_it_comes_back_from_json(changes):
    kept = record(**changes)
    assert Durability.from_dict(json.loads(json.dumps(kept.as_dict()))) == kept


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ack": "tape"}, "ack"),
        ({"reads": "lucky"}, "reads"),
        ({"replicas_acked": -1}, "replicas_acked"),
        ({"replicas_acked": "most"}, "a number, quorum or all"),
        ({"replicas_acked": True}, "a number, quorum or all"),
        ({"replica_ack": "disk"}, "No other copy has answered"),
        ({"loss_window_s": -1}, "loss_window_s"),
        ({"worst_loss_window_s": 3.9}, "Type more seconds than under"),
        ({"ack": "memory", "loss_window_s": 1.0, "worst_loss_window_s": 0.5}, "Type more seconds than under"),
        ({"loss_window_s": float("nan")}, "loss_window_s"),
        ({"ack": "memory"}, "neither the disk nor another copy has"),
    ],
)
def test_it_refuses_contradictions(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        record(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "forced to disk. A power failure of one node loses no acknowledged write."),
        ({"ack": "os_buffer", "loss_window_s": 1.0}, "may lose the last 1 s"),
        ({"ack": "os_buffer", "loss_window_s": 1.0, "worst_loss_window_s": 3.9}, "3.9 s where the disk is slow"),
        ({"ack": "memory", "loss_window_s": None}, "any number of acknowledged writes"),
        ({"replicas_acked": 1, "replica_ack": "os_buffer"}, "one other copy has handed it to its operating system"),
        ({"replicas_acked": "quorum", "replica_ack": "disk"}, "a quorum of the copies has forced it to its disk"),
    ],
)
def test_it_speaks_plainly(changes, words):
    assert words in record(**changes).sentence()


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"reads": "any_copy"}, True),
        ({"ack": "os_buffer", "loss_window_s": 1.0}, False),
        ({"loss_window_s": None}, False),
        ({"replicas_acked": 1, "replica_ack": "memory"}, False),
        ({"replicas_acked": "quorum", "replica_ack": "disk"}, False),
    ],
)
def test_it_tells_classes_of_writes_apart(changes, same):
    assert same_class(record(), record(**changes)) is same
    assert same_class(record(**changes), record()) is same


def test_it_puts_bounded_losses_of_any_length_in_one_class():
    one, ten = (record(ack="memory", loss_window_s=seconds) for seconds in (1.0, 10.0))
    assert same_class(one, ten) is True


def test_it_does_not_compare_what_is_not_known():
    assert same_class(None, record()) is None
    assert same_class(record(), None) is None
    assert same_class(None, None) is None
