"""Facts about a machine are observed, or left out."""

import json
import os
import resource
import shutil
from pathlib import Path

import psutil
import pytest

from workers.generator import presence
from workers.generator.machine_facts import machine_facts
from workers.probe import node_probe


def test_it_observes_this_machine(tmp_path):
    facts = machine_facts(tmp_path)
    assert facts["cores"]["value"] == os.cpu_count()
    assert facts["memory_bytes"]["value"] == psutil.virtual_memory().total
    assert {"kernel", "os", "architecture", "host", "disk_total_bytes"} <= set(facts)
    assert {fact["how"] for fact in facts.values()} == {"observed"}
    json.dumps(facts)


@pytest.fixture
def files(monkeypatch):
    """The files of a Linux machine, by path; others are empty."""
    contents = {}
    monkeypatch.setattr(node_probe, "_read", lambda path: contents.get(path, ""))
    monkeypatch.setattr(node_probe, "_names", lambda folder: ["lo", "eth0", "eth1", "bond0", "veth"])
    monkeypatch.setattr("os.path.exists", lambda path: path.endswith(("eth0/device", "eth1/device", "bond0/device")))
    return contents


def test_it_reads_what_the_checks_of_the_environment_ask(files):
    files["/sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never"
    speeds = {"lo": 0, "eth0": 1000, "eth1": 100_000, "bond0": 65_535, "veth": 200_000}
    files |= {f"/sys/class/net/{name}/speed": str(speed) for name, speed in speeds.items()}
    facts = {name: fact["value"] for name, fact in machine_facts().items()}
    assert facts["nic_bits_per_s"] == 100_000_000_000
    assert facts["nic"] == "bond0, eth0 1000 Mbit/s, eth1 100000 Mbit/s"
    assert facts["transparent_huge_pages"] == "madvise"


def test_it_leaves_out_what_nobody_says(files):
    unknown = {"cpu_model", "virtualised", "disk_free_bytes", "nic_bits_per_s", "transparent_huge_pages", "swappiness"}
    assert not unknown & set(machine_facts())


def test_it_reads_the_settings_of_a_data_folders_disk(tmp_path):
    """Of whatever disk the tests run on: names and sizes agree with the operating system's."""
    facts = {name: fact["value"] for name, fact in machine_facts(tmp_path).items()}
    assert facts["disk_total_bytes"] == shutil.disk_usage(tmp_path).total
    assert facts["open_files_limit"].split(" / ")[0] == str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    assert facts["ntp_synchronised"] in ("yes", "no")
    assert facts["swappiness"] == int(Path("/proc/sys/vm/swappiness").read_text())


def test_load_generator_without_its_folder_describes_itself(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "new"
    assert presence.description(1)["machine_facts"]["disk_total_bytes"]["value"] > 0
