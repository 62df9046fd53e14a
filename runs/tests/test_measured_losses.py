"""Measured losses: the shipped results, their place on a system's page, and records that they contradict."""

from dataclasses import replace

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.catalog.measured_losses import Disk, Fault, load_measured_losses
from runs.catalog.views.systems import measured_tables

EVERYSEC = next(
    loss
    for loss in load_measured_losses()
    if (loss.mode, loss.fault, loss.disk) == ("everysec", Fault.POWER_CUT, Disk())
)


def test_shipped_results_contradict_no_record():
    catalog = load_catalog()
    for loss in load_measured_losses():
        assert loss.contradiction(catalog.system(loss.system).mode(loss.mode).durability) == "", loss


@pytest.mark.parametrize(
    ("changes", "mode", "message"),
    [
        ({"oldest_lost_max_s": 4.5}, "everysec", "the record says 4 s at most, measured 4.50 s"),
        ({}, "always", "the record says 0 s at most"),
        ({"fault": Fault.PROCESS_CRASH}, "everysec", "the record says that it survives"),
        ({"oldest_lost_max_s": 4.5}, "no", ""),
        ({"oldest_lost_max_s": 4.5, "disk": Disk(lying=True)}, "always", ""),
        ({"with_loss": 0}, "always", ""),
        ({"fault": Fault.NODE_LOSS, "nodes": 2}, "everysec", ""),
        ({"fault": Fault.NODE_LOSS, "nodes": 2}, "everysec-wait-1", "the record says that it survives"),
        ({"nodes": 2}, "everysec-wait-1", ""),
        ({"nodes": 2}, "always-wait-1", "the record says that it survives"),
    ],
)
def test_loss_beyond_the_record_is_a_contradiction(changes, mode, message):
    record = load_catalog().system("redis").mode(mode).durability
    contradiction = replace(EVERYSEC, **changes).contradiction(record)
    assert contradiction.startswith(message) and bool(contradiction) == bool(message)


def test_table_has_modes_and_faults():
    table = measured_tables(load_catalog().system("redis"))[0]
    assert [mode.slug for mode, _ in table["rows"]] == ["off", "no", "everysec", "always"]
    assert table["columns"][:2] == ["process crash", "power cut"]
    cells = {mode.slug: cells for mode, cells in table["rows"]}
    assert cells["always"][1]["faults"] == "lost in 0 of 60"
    assert cells["always"][1]["detail"].startswith("lost in at most 4.87")
    assert cells["everysec"][1]["detail"].startswith("oldest lost write: median 0.")
    assert measured_tables(load_catalog().system("hbase")) == []


def test_system_page_shows_measured_losses(client_in):
    page = client_in.get(reverse("system", args=["redis"])).content.decode()
    assert "Measured losses" in page and "lost in 0 of 60" in page
    assert "Measured losses" not in client_in.get(reverse("system", args=["hbase"])).content.decode()
