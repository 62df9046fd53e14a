"""The disk probe writes and forces for real, leaves nothing, and says when a disk cannot tell modes apart."""

import os
from pathlib import Path

import pytest

from workers.probe.node_probe import file_system
from workers.provision.sync_latency import HARDLY_WAITS, DiskProbe, flush_call, probe_disk


def probe(**changes) -> DiskProbe:
    times = {"median_us": 120.0, "p99_us": 400.0, "most_us": 900.0}
    plain = {"file_system": "ext4", "flush": "fdatasync", "writes": 200, **times}
    return DiskProbe(**{**plain, **changes})


def test_it_probes_a_real_folder(tmp_path):
    disk = probe_disk(tmp_path)
    assert disk.writes == 200
    assert 0 < disk.median_us <= disk.p99_us <= disk.most_us
    assert list(tmp_path.iterdir()) == []
    assert disk.as_dict()["file_system"] == file_system(str(tmp_path))[1]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="This system has no /dev/shm.")
def test_it_warns_of_a_disk_in_memory():
    disk = probe_disk(Path("/dev/shm"), writes=20)
    assert disk.file_system == "tmpfs"
    assert disk.hardly_waits
    assert disk.warning == HARDLY_WAITS


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({}, ""),
        ({"median_us": 49.9}, HARDLY_WAITS),
        ({"median_us": 50.0}, ""),
        ({"file_system": "tmpfs"}, HARDLY_WAITS),
    ],
)
def test_it_warns_below_fifty_microseconds(changes, warning):
    assert probe(**changes).warning == warning


def test_it_says_what_forced_the_writes(monkeypatch):
    assert flush_call() == ("fdatasync", os.fdatasync)
    monkeypatch.delattr(os, "fdatasync")
    assert flush_call() == ("fsync", os.fsync)
    monkeypatch.setattr("sys.platform", "darwin")
    assert flush_call()[0] == "F_FULLFSYNC"


def test_it_fails_where_it_cannot_write(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        probe_disk(tmp_path / "missing")
