"""The node probe as one file on somebody else's machine: an exporter under node_exporter's names."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchsite.core.own_servers import check_url
from benchsite.tests.ports import free_port
from workers.probe import node_probe
from workers.probe.exporter_sampler import scrape

PROBE = Path(node_probe.__file__)


def test_it_is_written_for_python_3_7() -> None:
    ast.parse(PROBE.read_text("utf-8"), feature_version=(3, 7))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The URL that the copied file prints."""
    copy = shutil.copy(PROBE, tmp_path / "benchsite-probe.py")
    command = [sys.executable, "-I", "-S", "-W", "error", copy, "--serve", f"127.0.0.1:{free_port()}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.slow
def test_it_serves_what_the_kernel_counts(served: str, settings) -> None:
    settings.EXTERNAL_NETWORKS = ["127.0.0.0/8"]

    before = node_probe.Counters()
    scraped = {name: value for name, (_, value) in scrape(*check_url(served, [])).items()}
    after = node_probe.Counters()

    user_ticks = scraped['node_cpu_seconds_total{cpu="all",mode="user"}'] * os.sysconf("SC_CLK_TCK")
    assert before.user <= round(user_ticks) <= after.user
    assert before.context_switches <= scraped["node_context_switches_total"] <= after.context_switches
    assert scraped["node_memory_MemTotal_bytes"] == after.memory["memory_bytes"]
    assert before.network[0] <= scraped['node_network_receive_bytes_total{device="all"}'] <= after.network[0]
    for name, row in before.disks.items():
        assert scraped[f'node_disk_written_bytes_total{{device="{name}"}}'] >= row[3] * node_probe.SECTOR_BYTES


@pytest.mark.parametrize("arguments", [[], ["--serve", "9100"], ["--serve", "host:70000"], ["--serve", "host:http"]])
def test_it_says_how_it_is_called(arguments: list[str]) -> None:
    ended = subprocess.run([sys.executable, PROBE, *arguments], capture_output=True, text=True, timeout=30)

    assert ended.returncode == 2
    assert "--serve" in ended.stderr or "ADDRESS:PORT" in ended.stderr
