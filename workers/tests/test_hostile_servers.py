"""A server at a typed address neither holds up nor fills the process that checks it, of the site or of a conductor."""

import random
import socket
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import psutil
import pytest

from benchsite.tests.hostile_servers import POSTGRESQL, REDIS, HostileServer
from runs.catalog import load_catalog
from workers.probe.target_checks import TargetChecks, check_target
from workers.provision.administration.program import MAX_RECEIVED_BYTES
from workers.provision.external import ExternalProvisioner
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.systems.build import ROOT
from workers.tests.external import NETWORKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
TABLE = [
    (system, name)
    for system, behaviours in (("redis", REDIS), ("redis-cluster", REDIS), ("postgresql", POSTGRESQL))
    for name in behaviours
]
SAMPLE = random.Random(46).sample(TABLE, 8)
# Systems that a JVM asks. To their protocols these are nonsense of every length and pace.
JVM_SYSTEMS = [
    system.slug for system in load_catalog().systems.values() if system.admin_class and not system.is_embedded
]
NONSENSE = ("silent", "drip", "endless", "huge", "deep")
TIMEOUT_S = 10.0
MAX_GROWTH_BYTES = 50 * 2**20
MAX_JVM_BYTES = 110 * 2**20  # a JVM with its heap, its buffers and its code: 24 to 84 MB were measured
MAX_MESSAGE_LENGTH = 600


@contextmanager
def hostile(system: str, name: str) -> Iterator[HostileServer]:
    with HostileServer((POSTGRESQL if system == "postgresql" else REDIS)[name]) as server:
        yield server


def resident_bytes() -> int:
    """Of this process and its children; what they share counts once, such as a child that has only forked yet."""
    process, total = psutil.Process(), 0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            total += each.memory_full_info().pss
    return total


@contextmanager
def memory() -> Iterator[list[int]]:
    """Samples of bytes, the first one before."""
    samples, ended = [resident_bytes()], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            samples.append(resident_bytes())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def check(system: str, name: str) -> tuple[TargetChecks, float, int]:
    """The result for a server with that behaviour, its seconds, and the bytes that the memory grew by."""
    with hostile(system, name) as server, memory() as samples:
        start = time.monotonic()
        address = f"127.0.0.1:{server.port}"
        target = check_target(load_catalog().system(system), [address], {}, deadline=start + TIMEOUT_S)
        elapsed_s = time.monotonic() - start
    return target, elapsed_s, max(samples) - samples[0]


@cache
def measure_silent(system: str) -> int:
    """The bytes of a JVM that waits for an answer."""
    return check(system, "silent")[2]


@pytest.mark.parametrize(
    ("system", "name"),
    [pytest.param(*case, marks=[] if case in SAMPLE else [pytest.mark.long]) for case in TABLE],
)
def test_check_ends_in_time_with_one_sentence(settings, system, name):
    settings.EXTERNAL_NETWORKS = NETWORKS

    target, elapsed_s, grown_bytes = check(system, name)

    assert elapsed_s < TIMEOUT_S + 2
    assert [check.outcome for check in target.checks] == ["pass", "reject"] and not target.is_reachable
    text = target.checks[-1].detail
    assert len(text) < MAX_MESSAGE_LENGTH and not any(unicodedata.category(each).startswith("C") for each in text)
    assert grown_bytes < MAX_GROWTH_BYTES
    if name == "texts":
        assert " says: " in text and "<script>" in text and "x" * 300 not in text


def test_reply_above_the_limit_is_not_awaited(settings):
    """A server that sends a little more than a reply may have, and announces 2 GB."""
    settings.EXTERNAL_NETWORKS = NETWORKS

    def begin(client: socket.socket, ended: threading.Event) -> None:
        client.recv(65_536)
        client.sendall(b"$2000000000\r\n" + bytes(2 * MAX_RECEIVED_BYTES))
        ended.wait()

    with HostileServer(begin) as server:
        start = time.monotonic()
        address = f"127.0.0.1:{server.port}"
        target = check_target(load_catalog().system("redis"), [address], {}, deadline=start + TIMEOUT_S)

    assert "the server answers with more than 1.00" in target.checks[-1].detail


def test_program_that_asks_takes_no_more_memory():
    """Whatever a driver makes of an answer."""
    code = """if True:
        from workers.provision.administration.admin_program import MAX_GROWTH_BYTES, Program
        class Greedy(Program):
            def __init__(self): pass
            def _call(self, call): return len(bytearray(2 * MAX_GROWTH_BYTES))
        print(Greedy().answer(b'{"call": "ping", "timeout_s": 5}'))
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "larger than Benchsite reads" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("name", NONSENSE)
@pytest.mark.parametrize("system", JVM_SYSTEMS)
def test_check_by_a_jvm_ends_in_time(settings, system, name):
    settings.EXTERNAL_NETWORKS = NETWORKS
    if not (settings.YCSB_DIR / load_catalog().system(system).binding.name).exists():
        pytest.skip("its binding is not built")

    target, elapsed_s, grown_bytes = check(system, name)

    assert elapsed_s < TIMEOUT_S + 2 and len(target.checks[-1].detail) < MAX_MESSAGE_LENGTH
    assert [check.outcome for check in target.checks] == ["pass", "reject"]
    assert grown_bytes < MAX_JVM_BYTES and grown_bytes - measure_silent(system) < MAX_GROWTH_BYTES


@pytest.mark.parametrize("name", ["drip", "huge", "deep"])
def test_conductor_outlives_a_hostile_server(name):
    """Without a deadline, as during a run."""
    record = load_catalog().system("redis")

    with hostile("redis", name) as server, memory() as samples:
        spec = ServerSpec(
            deployment="one", system=record, mode=record.mode("off"), address=f"127.0.0.1:{server.port}"
        )  # fmt: skip
        start = time.monotonic()
        with pytest.raises(ServerDidNotStart):
            ExternalProvisioner(spec, allowed_networks=NETWORKS).start()
        elapsed_s = time.monotonic() - start

    assert elapsed_s < TIMEOUT_S + 2 and max(samples) - samples[0] < MAX_GROWTH_BYTES
