"""The host's samples tell servers, clients and other processes apart: by real processes."""

import json
import os
import subprocess
import sys
import time

import psutil
import pytest

from runs.results.measures.host import HostSamples, read_columns
from workers.probe import host_sampler, node_probe
from workers.probe.host_sampler import HostSampler
from workers.processes.guarded_process import start_guarded

pytestmark = pytest.mark.slow

# Each ends by itself, whatever becomes of the test.
BURN = "import time; end = time.process_time() + 20\nwhile time.process_time() < end: pass"
WAIT = "import time; time.sleep(60)"
# Children that live for a hundredth of a second, one after the other.
BURN_IN_CHILDREN = """
import os, time
began = time.monotonic()
while time.monotonic() - began < 20:
    if not (child := os.fork()):
        end = time.process_time() + 0.01
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture
def start():
    """Starts Python programs, and ends them after the test."""
    processes = []

    def start(program):
        processes.append(subprocess.Popen([sys.executable, "-c", program]))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def sampled(sampler, until, patience_s=30):
    """The samples, once `until` holds of them."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        sampler.tick()
        columns = read_columns(sampler.text)
        if columns is not None and until(samples := HostSamples(machine="here", columns=columns)):
            return samples
        time.sleep(0.05)
    raise AssertionError(f"not sampled: {sampler.text}")


def cpu_s(samples, column):
    return float((samples.columns[column] * samples.columns["interval_s"]).sum())


def test_counts_short_children_of_a_server(tmp_path, start):
    server = start(BURN_IN_CHILDREN)
    sampler = HostSampler(service=os.getpid(), registry=tmp_path, servers=[server.pid])
    samples = sampled(sampler, lambda samples: cpu_s(samples, "servers_cores") > 0.2)
    assert cpu_s(samples, "clients_cores") == 0


def test_tells_the_servers_of_several_nodes_apart(tmp_path, start):
    servers = [start(BURN), start(WAIT)]
    sampler = HostSampler(service=os.getpid(), registry=tmp_path, servers=[server.pid for server in servers])
    samples = sampled(sampler, lambda samples: cpu_s(samples, "node1_cores") > 0.2)
    assert cpu_s(samples, "node2_cores") < 0.2
    assert cpu_s(samples, "servers_cores") == pytest.approx(cpu_s(samples, "node1_cores"), abs=0.2)
    resident = psutil.Process(servers[1].pid).memory_info().rss
    assert 0 < samples.columns["node2_memory_bytes"][-1] <= resident
    for name in ("context_switches_s", "interrupts_s", "disk_busy", "network_sent_bytes_s", "swap_used_bytes"):
        assert (samples.columns[name] >= 0).all()


def test_finds_clients_by_their_records(tmp_path):
    with start_guarded([sys.executable, "-c", BURN], registry=tmp_path, label="ycsb run 1 client 0"):
        sampler = HostSampler(service=os.getpid(), registry=tmp_path)
        samples = sampled(sampler, lambda samples: cpu_s(samples, "clients_cores") > 0.2)
    assert cpu_s(samples, "servers_cores") == 0


def test_counts_the_rest_as_other_processes(tmp_path, start):
    """`service` is another process's tree here, so this test's own children are foreign."""
    idle = start(WAIT)
    start(BURN)
    sampler = HostSampler(service=idle.pid, registry=tmp_path)
    samples = sampled(sampler, lambda samples: cpu_s(samples, "other_cores") > 0.2)
    assert cpu_s(samples, "benchsite_cores") < 0.2 < cpu_s(samples, "other_cores")  # It has just been started.
    assert cpu_s(samples, "servers_cores") == 0


def test_counts_the_parts_that_one_owner_guards(tmp_path):
    """The owner of the service's guardian guards another program too: both are Benchsite's."""
    with (
        start_guarded([sys.executable, "-c", BURN], registry=tmp_path, label="web"),
        start_guarded([sys.executable, "-c", WAIT], registry=tmp_path, label="conductor") as service,
    ):
        sampler = HostSampler(service=service.pid, registry=tmp_path)
        sampled(sampler, lambda samples: cpu_s(samples, "benchsite_cores") > 0.2)


def test_parts_add_up_to_the_busy_cores(tmp_path, start):
    start(BURN)
    sampler = HostSampler(service=os.getpid(), registry=tmp_path)
    samples = sampled(sampler, lambda samples: len(samples) >= 2)
    assert samples.cores == os.cpu_count()
    busy = samples.mean(*(f"core{core}_busy" for core in range(samples.cores)))
    parts = samples.mean("servers_cores", "clients_cores", "benchsite_cores", "kernel_cores", "other_cores")
    assert parts == pytest.approx(busy, abs=0.15 * samples.cores)
    assert (samples.columns["interval_s"] >= host_sampler.INTERVAL_S).all()
    assert (samples.columns["memory_available_bytes"] > 0).all()


def test_the_busiest_disk_is_that_of_the_interval():
    """A disk that was busy long ago counts for nothing."""
    before, now = node_probe.Counters(), node_probe.Counters()
    before.disks = {"sda": (0, 0, 0, 0, 900_000), "sdb": (0, 0, 0, 0, 10)}
    now.disks = {"sda": (0, 0, 0, 0, 900_000), "sdb": (4, 8, 2, 2048, 510)}
    now.at = before.at + 1
    values = node_probe.machine_values(before, now)
    assert (values["disk_busy"], values["disk_written_bytes_s"], values["disk_reads_s"]) == (0.5, 2**20, 4)


def test_samples_long_runs_less_often(tmp_path):
    sampler = HostSampler(service=os.getpid(), registry=tmp_path, duration_s=7200)
    assert sampler.interval_s == host_sampler.LONG_RUN_INTERVAL_S


def test_ignores_damaged_records(tmp_path):
    (tmp_path / "damaged.json").write_text(json.dumps({"label": "ycsb"}))
    sampled(HostSampler(service=os.getpid(), registry=tmp_path), lambda samples: len(samples) >= 1)


@pytest.mark.parametrize("text", ["", "at_s,interval_s\n", "a,b\n1,2\n", "at_s,interval_s\n1,x\n", "at_s\n1,2\n3\n"])
def test_refuses_files_that_hold_no_samples(text):
    assert read_columns(text) is None


def test_servers_that_stay_keep_their_nodes(tmp_path):
    """The list of external servers may lack one, and has one that was started again last."""
    sampler = HostSampler(service=os.getpid(), registry=tmp_path, servers=[101, 102])
    sampler.follow([102])
    sampler.follow([102, 103])
    assert (sampler._roots[102], sampler._roots[103]) == ("node2", "node1")
