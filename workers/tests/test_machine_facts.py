"""Facts about a machine are observed, or left out."""

import json
import os
from types import SimpleNamespace

import psutil

from workers.facts import machine_facts


def test_it_observes_this_machine(tmp_path):
    facts = machine_facts(tmp_path)
    assert facts["cores"]["value"] == os.cpu_count()
    assert facts["memory_bytes"]["value"] == psutil.virtual_memory().total
    assert {"kernel", "os", "architecture", "host", "disk_total_bytes"} <= set(facts)
    assert {fact["how"] for fact in facts.values()} == {"observed"}
    json.dumps(facts)


def test_it_reads_what_the_checks_of_the_environment_ask(monkeypatch):
    stats = {"lo": 0, "eth0": 1000, "eth1": 10_000, "veth": 65_535}
    monkeypatch.setattr(
        psutil, "net_if_stats", lambda: {name: SimpleNamespace(isup=True, speed=speed) for name, speed in stats.items()}
    )
    monkeypatch.setattr("workers.facts._read", lambda path: "always [madvise] never")
    facts = machine_facts()
    assert facts["nic_bits_per_s"]["value"] == 10_000_000_000
    assert facts["transparent_huge_pages"]["value"] == "madvise"


def test_it_leaves_out_what_nobody_says(monkeypatch):
    monkeypatch.setattr("workers.facts.cpu_model", lambda: "")
    monkeypatch.setattr("workers.facts.virtualised", lambda: None)
    monkeypatch.setattr("workers.facts._read", lambda path: "")
    monkeypatch.setattr(psutil, "net_if_stats", dict)
    assert not {"cpu_model", "virtualised", "disk_free_bytes", "nic_bits_per_s", "transparent_huge_pages"} & set(
        machine_facts()
    )
