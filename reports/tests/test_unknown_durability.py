"""A mode without stated durability is compared with none: no shared look, no class, shown as unknown."""

import itertools
import uuid

from reports.compare.analysis.differences import differences
from reports.compare.curves import Curve, Setup, describe_durability, durability_key, in_order
from reports.compare.figures.captions import machine_sentence
from reports.compare.figures.theme import LIGHT, looks
from runs.catalog.durability import ACKS

DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}


def curve(name, record, **fields):
    return Curve(
        sweep_id=uuid.uuid4(), name=name, database_name=name, system="other", system_name=name,
        mode="unknown" if not record else "on", mode_name="", durability=record, workload="A", purpose="measured",
        points=(), **fields,
    )  # fmt: skip


def test_it_shares_its_look_with_no_other():
    curves = [curve("a", DISK), curve("b", DISK), curve("c", {}), curve("d", {})]
    plan = looks(curves, LIGHT)
    a, b, c, d = ((plan[curve.sweep_id].dash, plan[curve.sweep_id].symbol) for curve in curves)
    assert a == b
    assert len({a, c, d}) == 3


def test_it_has_the_key_of_no_known_record():
    known = [
        {"ack": ack, "replicas_acked": copies, "replica_ack": other, "loss_window_s": window}
        for ack, other, copies, window in itertools.product(ACKS, ACKS, (0, 1, "quorum", "all"), (None, 0.0, 1.0))
    ]
    assert durability_key({}) not in {durability_key(record) for record in known}
    assert describe_durability({}) == ""
    assert [curve.name for curve in in_order([curve("b", {}), curve("a", DISK)])] == ["a", "b"]


def test_what_nobody_stated_is_said_as_unknown():
    known = Setup(replication_factor=3, records=1000, record_bytes=100, measure_s=60, client_version="0.17.0")
    found = differences([curve("a", DISK, setup=known), curve("b", {}, setup=Setup(), uploaded=True)])
    values = {difference.label: difference.values for difference in found}
    assert values["data set"] == ("1,000 records of 100 B", "unknown")
    assert values["replication factor"] == ("3", "unknown")
    windows = [text.replace("\N{NARROW NO-BREAK SPACE}", " ") for text in values["measured window"]]
    assert windows == ["1 min measured after 0 s of warm-up", "as long as it lasted, after 0 s of warm-up"]


def test_sentence_warns_if_uploaded_clients_shared_the_machine():
    shared = curve("a", DISK, setup=Setup(client_on_database_host=True), uploaded=True)
    assert "own machines" in machine_sentence([shared])
    assert machine_sentence([curve("a", DISK, setup=Setup(client_on_database_host=False))]) == ""
