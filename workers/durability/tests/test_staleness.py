"""How old answers are: the figures of the probes, and real servers with a known delay and with none."""

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import redis
from django.conf import settings

from runs.catalog import load_catalog
from workers.durability.staleness import (
    COLUMNS,
    Staleness,
    StalenessError,
    binomial_interval,
    cells,
    measure_staleness,
    parse_probes,
)
from workers.durability.trials import started_server
from workers.provision.servers import HOST, Server, get_host
from workers.systems.build import build
from workers.tests.conftest import site_below_var_tmp
from workers.tests.trees import until

LINES = ["READ 1 0 0 8000 0", "READ 0 0 0 -1 0", "READ 1 1 0 50000 2", "MODIFY 7 8", "MODIFY 7 9", "MODIFY 9 10"]
DELAY_S = 0.05
SECONDS = 4


def test_counts_stale_answers_and_lost_updates():
    result = parse_probes(LINES)
    assert (result.probes, result.stale, result.regressions) == (3, (2, 1, 0), 2)
    assert (result.median_s, result.longest_s) == (0.029, 0.05)
    assert (result.modified, result.lost_updates) == (3, 1)


def test_client_without_probes_is_refused():
    with pytest.raises(StalenessError, match="before its first probe"):
        parse_probes(["MODIFY 1 2"])


@pytest.mark.parametrize(
    ("hits", "tries", "low", "high"), [(0, 60, 0, 0.0596), (60, 60, 0.9404, 1), (5, 20, 0.0866, 0.4910)]
)
def test_interval_of_a_share_is_exact(hits, tries, low, high):
    assert binomial_interval(hits, tries) == pytest.approx((low, high), abs=5e-5)


def test_table_has_a_cell_for_each_column():
    row = cells("redis 7.0", "no", 2, "replica", parse_probes(LINES))
    assert len(row) == len(COLUMNS) and "29.0 / 50.0 ms" in row


@contextmanager
def delaying_proxy(port: int, delay_s: float) -> Iterator[int]:
    """The port of a proxy to 127.0.0.1 that holds back what the server sends."""
    listener = socket.create_server((HOST, 0))
    sockets = [listener]

    def carry(source: socket.socket, target: socket.socket, delay_s: float) -> None:
        waiting: queue.Queue[tuple[float, bytes]] = queue.Queue()

        def deliver() -> None:
            with suppress(OSError):
                while True:
                    due, data = waiting.get()
                    time.sleep(max(due - time.monotonic(), 0))
                    if not data:
                        return target.shutdown(socket.SHUT_WR)
                    target.sendall(data)

        threading.Thread(target=deliver, daemon=True).start()
        data = b"-"
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + delay_s, data))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((HOST, port))
                sockets.extend([client, server])
                for source, target, wait_s in ((client, server, 0.0), (server, client, delay_s)):
                    threading.Thread(target=carry, args=(source, target, wait_s), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def replicated(slug: str, mode: str) -> Iterator[tuple[Server, Callable[[], Staleness]]]:
    """A primary with a replica, and what measures the replica."""
    system = load_catalog().system(slug)
    manifest = build(settings.YCSB_DIR, [slug])[slug]
    with (
        site_below_var_tmp() as site,
        started_server(system, system.mode(mode), site, nodes=2) as (provisioner, server),
    ):
        folder = provisioner.folder / "staleness"
        yield (
            server,
            lambda: measure_staleness(server, manifest, folder, site.registry, seconds=SECONDS, from_replica=True),
        )


@pytest.mark.slow
def test_delayed_replication_is_measured():
    with (
        replicated("redis", "no") as (server, measure),
        delaying_proxy(server.port, DELAY_S) as through,
        redis.Redis(host=get_host(1), port=server.port, password=server.password) as replica,
    ):
        replica.replicaof(HOST, through)
        until(lambda: replica.info("replication")["master_link_status"] == "up", "no link")
        result = measure()
    at_once, after_10_ms, after_100_ms = (stale / result.probes for stale in result.stale)
    assert min(at_once, after_10_ms) > 0.9 and after_100_ms < 0.1  # A busy machine asks late, and forwards late.
    assert result.median_s == pytest.approx(DELAY_S, abs=0.005)


@pytest.mark.slow
def test_standby_that_has_applied_every_write_is_never_stale():
    with replicated("postgresql", "remote-apply") as (_, measure):
        result = measure()
    assert result.probes > SECONDS and result.stale == (0, 0, 0) and result.longest_s is None
