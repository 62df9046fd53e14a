"""Facts about a machine are observed, or left out."""

import json
import os

import psutil

from workers.facts import machine_facts


def test_it_observes_this_machine(tmp_path):
    facts = machine_facts(tmp_path)
    assert facts["cores"]["value"] == os.cpu_count()
    assert facts["memory_bytes"]["value"] == psutil.virtual_memory().total
    assert {"kernel", "os", "architecture", "host", "disk_total_bytes"} <= set(facts)
    assert {fact["how"] for fact in facts.values()} == {"observed"}
    json.dumps(facts)


def test_it_leaves_out_what_nobody_says(monkeypatch):
    monkeypatch.setattr("workers.facts.cpu_model", lambda: "")
    monkeypatch.setattr("workers.facts.virtualised", lambda: None)
    assert not {"cpu_model", "virtualised", "disk_free_bytes"} & set(machine_facts())
