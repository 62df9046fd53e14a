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

from benchsite.tests.hostile_protocols import COUCHBASE_LOGIN, PROTOCOLS
from benchsite.tests.hostile_servers import POSTGRESQL, REDIS, HostileServer, silent_server
from runs.catalog import load_catalog
from runs.timeouts import CHECK_PROGRAM_TIMEOUT_S, CHECK_SERVER_TIMEOUT_S
from workers.probe.server_checks import TargetChecks, check_target
from workers.provision.administration.admin_client import MAX_RECEIVED_BYTES
from workers.provision.administration.base import COUNTERS_TIMEOUT_S, AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.deadline import Deadline
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.systems.build import ROOT
from workers.tests.external import NETWORKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
BEHAVIOURS = {"redis": REDIS, "redis-cluster": REDIS, "postgresql": POSTGRESQL, **PROTOCOLS}
TABLE = [(system, name) for system, behaviours in BEHAVIOURS.items() for name in behaviours]
SAMPLE = random.Random(46).sample(TABLE, 12)
PROPERTIES = {
    ("mongodb", "moved"): {"mongodb.replica_set": "rs"},
    ("couchbase", ""): {"couchbase.user": COUCHBASE_LOGIN, "couchbase.password": COUCHBASE_LOGIN},
}
MAX_GROWTH_BYTES = 50 * 2**20
MAX_JVM_BYTES = 110 * 2**20  # a JVM with its heap, its buffers and its code: 24 to 87 MB were measured
MAX_MESSAGE_LENGTH = 600


@contextmanager
def hostile(system: str, name: str) -> Iterator[HostileServer]:
    with HostileServer(BEHAVIOURS[system][name]) as server:
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
    """The result for a server with that behaviour, the seconds without those of the start of the program that asks it
    and of its wait for a processor, and the bytes that the memory grew by.
    """
    properties = PROPERTIES.get((system, name)) or PROPERTIES.get((system, ""), {})
    with hostile(system, name) as server, memory() as samples:
        begin, deadline = time.monotonic(), Deadline(CHECK_SERVER_TIMEOUT_S)
        target = check_target(
            load_catalog().system(system), [f"127.0.0.1:{server.port}"], properties, deadline=deadline
        )
        of_program_s = CHECK_PROGRAM_TIMEOUT_S - deadline.program_left_s
        waited_s = time.monotonic() - begin - of_program_s
    return target, waited_s, max(samples) - samples[0]


def list_texts(target: TargetChecks) -> list[str]:
    return [target.version, target.foreign_data, *(check.detail for check in target.checks)]


@cache
def measure_silent(system: str) -> int:
    """The bytes of a JVM that waits for an answer."""
    return check(system, "silent")[2]


@pytest.mark.parametrize(
    ("system", "name"),
    [pytest.param(*case, marks=[] if case in SAMPLE else [pytest.mark.long]) for case in TABLE],
)
def test_check_ends_in_time_with_one_sentence(settings, record_property, system, name):
    settings.EXTERNAL_NETWORKS = NETWORKS
    record = load_catalog().system(system)
    if record.admin_class and not (settings.YCSB_DIR / record.binding.name).exists():
        pytest.skip("its binding is not built")

    target, waited_s, grown_bytes = check(system, name)
    record_property("seconds", round(waited_s, 1))
    record_property("MB", round(grown_bytes / 2**20))

    assert waited_s < CHECK_SERVER_TIMEOUT_S + 2
    outcomes = [check.outcome for check in target.checks]
    assert outcomes[-1] == "reject" and "reject" not in outcomes[:-1] and not target.is_usable
    texts = list_texts(target)
    assert max(map(len, texts)) < MAX_MESSAGE_LENGTH
    assert not any(unicodedata.category(each).startswith("C") for text in texts for each in text)
    if record.admin_class:
        assert grown_bytes < MAX_JVM_BYTES
        grown_bytes -= measure_silent(system)
    assert grown_bytes < MAX_GROWTH_BYTES
    text = texts[-1]
    if name == "moved" and record.admin_class and waited_s < CHECK_SERVER_TIMEOUT_S:  # its driver came so far
        assert "The cluster names another server: 169.254.169.254 is a link-local address" in text
    if name == "texts" and system != "couchbase":  # whose driver repeats no text of a server
        assert " says: " in text and "<script>" in text and "x" * 300 not in text


def test_reply_above_the_limit_is_not_awaited(settings):
    """A server that sends a little more than a reply may have, and announces 2 GB."""
    settings.EXTERNAL_NETWORKS = NETWORKS

    def begin(client: socket.socket, ended: threading.Event) -> None:
        client.recv(65_536)
        client.sendall(b"$2000000000\r\n" + bytes(2 * MAX_RECEIVED_BYTES))
        ended.wait()

    with HostileServer(begin) as server:
        address = f"127.0.0.1:{server.port}"
        target = check_target(load_catalog().system("redis"), [address], {}, deadline=Deadline(CHECK_SERVER_TIMEOUT_S))

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

    assert elapsed_s < CHECK_SERVER_TIMEOUT_S + 2 and max(samples) - samples[0] < MAX_GROWTH_BYTES


def test_killed_program_leaves_no_key_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    record = load_catalog().system("postgresql")
    key = "-----BEGIN PRIVATE KEY----- MC4C -----END PRIVATE KEY-----"
    properties = {"postgresql.ssl": "require", "postgresql.tls.certificate": key, "postgresql.tls.key": key}

    with silent_server() as port:
        administration = administration_for(
            record, properties, ("127.0.0.1", port), is_external=True, deadline=Deadline(1)
        )
        with pytest.raises(AdministrationError, match="no answer within"):
            administration.ping()
        administration.close()

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["silent", "drip", "huge", "endless"])
def test_counters_of_a_hostile_server_end_in_time(name):
    """They are read once a second during a run."""
    with hostile("redis", name) as server, memory() as samples:
        properties = {"redis.host": "127.0.0.1", "redis.port": str(server.port)}
        administration = administration_for(load_catalog().system("redis"), properties, is_external=True)
        start = time.monotonic()
        with pytest.raises(AdministrationError), administration.open_counters() as read_counters:
            read_counters()
        elapsed_s = time.monotonic() - start
        administration.close()

    assert elapsed_s < 2 * COUNTERS_TIMEOUT_S and max(samples) - samples[0] < MAX_GROWTH_BYTES
