"""Real servers on a volatile disk: what their modes keep, and whether faults of the disk and the mode are detected."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from runs.catalog import Mode, load_catalog
from runs.catalog.measured_losses import Disk, Fault
from workers.durability.storage import StorageError, require_volatile_storage
from workers.durability.trials import THREADS, Bench, Trial, prepared_bench
from workers.provision.process_provisioner import Site
from workers.systems.build import build, fetch_servers
from workers.systems.manifests import Manifest
from workers.tests.conftest import find_processes, site_below_var_tmp
from workers.tests.trees import ROOT, until

try:
    require_volatile_storage()
except StorageError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.slow

CUTS = 3
Benches = Callable[..., Bench]


def binding(slug: str) -> Manifest:
    return build(settings.YCSB_DIR, [slug])[slug]


@pytest.fixture
def site() -> Iterator[Site]:
    with site_below_var_tmp() as site:
        yield site


@pytest.fixture
def benches(site: Site) -> Iterator[Benches]:
    """Makes benches of a system and a mode, which may be changed; they end with the test."""
    with ExitStack() as opened:

        def make(name: str, change: Callable[[Mode], Mode] = lambda mode: mode, nodes: int = 1, **disk) -> Bench:
            slug, mode = name.split("/")
            system = load_catalog().system(slug)
            return opened.enter_context(
                prepared_bench(system, change(system.mode(mode)), binding(slug), site, nodes=nodes, disk=Disk(**disk))
            )

        yield make


def cut(bench: Bench, number: int = CUTS) -> list[Trial]:
    return [bench.run_trial(Fault.POWER_CUT, moment_s) for moment_s in bench.moments_s(number)]


@pytest.mark.parametrize("strict", [False, True])
def test_redis_always_loses_nothing(benches, strict):
    for trial in cut(benches("redis/always", strict=strict), CUTS - strict):
        assert trial.loss.acknowledged >= THREADS
        assert (trial.loss.lost, trial.loss.damaged, trial.problem) == (0, 0, "")


def test_redis_everysec_loses_its_last_writes_only(benches):
    trials = cut(benches("redis/everysec"))
    for trial in trials:
        # A cut may come just after the server's own sync, but not three evenly spread ones.
        assert trial.loss.holes == trial.loss.damaged == 0
        assert trial.loss.lost < trial.loss.acknowledged
    assert any(trial.loss.lost for trial in trials)


def test_process_crash_keeps_what_the_system_has(benches):
    trial = benches("redis/everysec").run_trial(Fault.PROCESS_CRASH, 0.5)
    assert trial.loss.acknowledged >= THREADS and trial.loss.lost == 0


def test_postgresql_on_loses_nothing(benches):
    (trial,) = cut(benches("postgresql/on"), 1)
    assert trial.loss.acknowledged >= THREADS
    assert (trial.loss.lost, trial.loss.damaged, trial.problem) == (0, 0, "")


def test_postgresql_without_fsync_is_detected(benches):
    (trial,) = cut(benches("postgresql/fsync-off"), 1)
    assert trial.loss.lost > 0


@pytest.mark.needs("memcached")
def test_memcached_loses_everything(benches):
    bench = benches("memcached/none")
    for fault in bench.faults:
        loss = bench.run_trial(fault, 0.2).loss
        assert loss.acknowledged >= THREADS and loss.lost == loss.acknowledged


@pytest.mark.parametrize(
    ("mode", "fault", "loses"),
    [
        ("no-sync", Fault.PROCESS_CRASH, False),
        ("no-sync", Fault.POWER_CUT, True),
        ("sync", Fault.POWER_CUT, False),
    ],
)
def test_library_inside_the_client_keeps_what_its_mode_keeps(benches, mode, fault, loses):
    trial = benches(f"rocksdb/{mode}").run_trial(fault, 0.5)
    assert trial.loss.acknowledged >= THREADS and trial.problem == ""
    assert (trial.loss.lost > 0, trial.loss.damaged) == (loses, 0)


def test_replica_keeps_what_it_acknowledged(benches):
    """`off` loses everything with its server; the replica that every write waited for has it."""
    bench = benches("redis/off-wait-1", nodes=2)
    trial = bench.run_trial(Fault.NODE_LOSS, 0.5)
    assert trial.loss.acknowledged >= THREADS and trial.loss.lost == 0
    trial = bench.run_trial(Fault.POWER_CUT, 0.2)
    assert trial.loss.acknowledged >= THREADS and trial.loss.lost == trial.loss.acknowledged


@pytest.mark.parametrize(
    ("mode", "loses"),
    [
        ("redis/always", True),
        pytest.param("redis/always-wait-1", False, marks=pytest.mark.long),
        pytest.param("postgresql/on", True, marks=pytest.mark.long),
    ],
)
def test_replica_that_was_cut_off_lacks_what_did_not_wait_for_it(benches, mode, loses):
    trial = benches(mode, nodes=2).run_trial(Fault.CUT_OFF_LOSS, 0.5)
    assert trial.loss.acknowledged >= THREADS and (trial.loss.lost > 0) == loses
    assert not loses or 0.8 < trial.loss.oldest_lost_s < 1.5


@pytest.mark.long
@pytest.mark.timeout(900)  # Three nodes start three times.
@pytest.mark.parametrize(
    ("mode", "all_lose", "one_loses"), [("quorum-periodic", True, False), ("quorum-batch", False, False)]
)
def test_cluster_of_three_loses_by_mode(site, benches, mode, all_lose, one_loses):
    fetch_servers(settings.SERVERS_DIR, ["cassandra"])
    bench = benches(f"cassandra/{mode}", nodes=3)
    for fault in (Fault.MINORITY_CUT, Fault.MAJORITY_CUT):
        trial = bench.run_trial(fault, 1.0)
        assert trial.problem == "" and trial.loss.acknowledged >= THREADS and trial.loss.lost == 0, fault
    for fault, loses in ((Fault.NODE_POWER_CUT, one_loses), (Fault.POWER_CUT, all_lose)):
        trial = bench.run_trial(fault, 12.0)
        assert trial.problem == "" and trial.loss.acknowledged >= THREADS
        assert (trial.loss.lost > 0, trial.loss.damaged) == (loses, 0), fault


def test_lying_disk_is_detected_every_time(benches):
    for trial in cut(benches("redis/always", lying=True)):
        assert trial.loss.lost > 0


def test_mode_that_does_not_sync_is_detected_every_time(benches):
    """`always` whose server was started with another setting."""

    def without_sync(mode: Mode) -> Mode:
        return mode.model_copy(update={"server_settings": {**mode.server_settings, "appendfsync": "no"}})

    for trial in cut(benches("redis/always", without_sync)):
        assert trial.loss.lost > 0


@pytest.mark.parametrize(
    ("mode", "server"),
    [
        ("redis/everysec", "redis-server"),
        pytest.param("cassandra/one-batch", "CassandraDaemon", marks=pytest.mark.long),
    ],
)
def test_killed_measurement_leaves_nothing_running(site, mode, server):
    """`kill -9` of the command while a server writes on a mounted disk; the next one removes its folders."""
    binding(mode.split("/")[0])
    if server == "CassandraDaemon":
        fetch_servers(settings.SERVERS_DIR, ["cassandra"])
    var = site.targets.parent / "var"
    with (site.targets.parent / "log").open("w") as log:
        command = subprocess.Popen(
            [sys.executable, "manage.py", "durability", mode, "--cuts", "100", "--crashes", "0"],
            cwd=ROOT, stdout=log, stderr=log,
            env={
                **os.environ, "BENCHSITE_VAR": str(var), "BENCHSITE_YCSB": str(settings.YCSB_DIR),
                "BENCHSITE_SERVERS": str(settings.SERVERS_DIR),
            },
        )  # fmt: skip
    labels = ("fuse_server", server, "LedgerClient")

    def children() -> list[psutil.Process]:
        return psutil.Process(command.pid).children(recursive=True)

    def all_running() -> bool:
        with suppress(psutil.NoSuchProcess):  # ended between listing and reading
            lines = [" ".join(child.cmdline()) for child in children()]
            return all(any(label in line for line in lines) for label in labels)
        return False

    try:
        until(all_running, "the measurement did not begin", patience_s=120)
        left = children()
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    _, alive = psutil.wait_procs(left, timeout=20)
    assert alive == [] and find_processes(var) == []
    assert f"durability-{mode.replace('/', '-')}" not in Path("/proc/self/mountinfo").read_text()
