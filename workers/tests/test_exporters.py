"""Exporters of metrics are scraped while a run measures; one that is slow, huge or hostile costs the run nothing."""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer

import numpy as np
import psutil
import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, start_http_server

from benchsite.core.own_servers import check_url
from benchsite.tests.needs import need
from benchsite.tests.ports import free_port
from runs.catalog import load_catalog
from runs.results.measures.exporters import pick_preset, read_samples, search_series
from workers.probe.exporter_sampler import MAX_BYTES, SCRAPE_TIMEOUT_S, ExporterSampler, ScrapeFailed, scrape
from workers.tests.conftest import started_server
from workers.tests.test_administration import redis_client

pytestmark = pytest.mark.slow
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.fixture(autouse=True)
def allowed_networks(settings):
    settings.EXTERNAL_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def exporter(registry: CollectorRegistry) -> Iterator[str]:
    """The URL of an exporter of the registry."""
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join(5)


def wait_for_samples(sampler: ExporterSampler, number: int) -> None:
    end = time.monotonic() + 30
    while sampler.samples < number:
        assert time.monotonic() < end, sampler.problem
        time.sleep(0.05)


def test_samples_are_what_the_exporter_states(exporter: str, registry: CollectorRegistry) -> None:
    commands = Counter("commands", "Commands", ["name"], registry=registry)
    memory = Gauge("memory_bytes", "Memory", ["pool"], registry=registry)
    latency = Histogram("latency_seconds", "Latency", registry=registry)
    Summary("size_bytes", "Size", registry=registry).observe(5)
    commands.labels('say "hi", \\ or {not}').inc(1000)
    memory.labels("heap").set(12.5)
    latency.observe(0.25)

    sampler = ExporterSampler(exporter)
    wait_for_samples(sampler, 1)
    commands.labels('say "hi", \\ or {not}').inc(400)
    memory.labels("heap").set(99.0)
    wait_for_samples(sampler, 2)
    sampler.reader.stop()

    series = {entry.family: entry for entry in read_samples(sampler.text)}
    rate = series["commands_total"]
    assert rate.labels == {"name": r"say \"hi\", \\ or {not}"}
    assert np.isnan(rate.values[0])
    assert rate.values[1] * (rate.at_s[1] - rate.at_s[0]) == pytest.approx(400, rel=0.001)
    assert series["memory_bytes"].values.tolist() == [12.5, 99.0]
    assert {"latency_seconds_count", "latency_seconds_sum", "size_bytes_count"} <= set(series)
    assert "latency_seconds_bucket" not in series


def test_a_counter_that_was_reset_has_no_rate(exporter: str, registry: CollectorRegistry) -> None:
    requests = Gauge("requests", "Counted by hand", registry=registry)
    counter = Counter("done", "Done", registry=registry)
    counter.inc(50)
    sampler = ExporterSampler(exporter)
    wait_for_samples(sampler, 1)
    counter.reset()
    requests.set(3)
    wait_for_samples(sampler, 2)
    sampler.reader.stop()

    series = {entry.family: entry for entry in read_samples(sampler.text)}
    assert np.isnan(series["done_total"].values).all()


def test_a_machine_and_a_database_are_picked(exporter: str, registry: CollectorRegistry) -> None:
    cpu = Counter("node_cpu_seconds", "CPU", ["cpu", "mode"], registry=registry)
    sent = Counter("node_network_transmit_bytes", "Network", ["device"], registry=registry)
    for core in "01":
        cpu.labels(core, "user").inc(core == "1")
        cpu.labels(core, "idle").inc(100)
    sent.labels("eth0").inc(0)
    sent.labels("lo").inc(5_000_000)
    sampler = ExporterSampler(exporter)
    wait_for_samples(sampler, 1)
    cpu.labels("0", "user").inc(2)
    cpu.labels("1", "user").inc(1)
    sent.labels("eth0").inc(2**20)
    wait_for_samples(sampler, 2)
    sampler.reader.stop()

    series = read_samples(sampler.text)
    picked = {(line.title, line.name): line for line in pick_preset(series)}

    assert set(picked) == {("CPU (cores)", "user"), ("network (MiB/s)", "sent")}
    line = picked["CPU (cores)", "user"]
    length_s = line.at_s[1] - line.at_s[0]
    assert line.values[1] == pytest.approx(3 / length_s)
    assert picked["network (MiB/s)", "sent"].values[1] == pytest.approx(1 / length_s)
    assert [line.name for line in search_series(series, "NETWORK lo")] == ["lo"]
    assert search_series(series, "nothing like it") == []


@contextmanager
def run_exporter(program: str, *options: str) -> Iterator[str]:
    """The URL of one from Debian."""
    need("exporters")
    address = f"127.0.0.1:{free_port()}"
    command = [program, f"--web.listen-address={address}", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_open(address)
            yield f"http://{address}/metrics"
        finally:
            process.terminate()


def wait_until_open(address: str) -> None:
    host, _, port = address.partition(":")
    end = time.monotonic() + 20
    with socket.socket() as connection:
        while connection.connect_ex((host, int(port))):
            assert time.monotonic() < end, f"Nothing listens at {address}."
            time.sleep(0.1)


def test_redis_exporter_is_read_to_the_sample() -> None:
    """What the preset shows adds up to what the exporter says of itself, whichever scrapes saw it."""
    with started_server(load_catalog().system("redis"), "off") as server, redis_client(server) as client:
        options = (f"--redis.addr=redis://127.0.0.1:{server.port}", f"--redis.password={server.password}")
        with run_exporter("prometheus-redis-exporter", *options) as url:
            sampler = ExporterSampler(url)
            wait_for_samples(sampler, 1)
            for number in range(3_000):
                client.get(f"key{number}")
            wait_for_samples(sampler, sampler.samples + 2)
            sampler.reader.stop()
            stated = scrape(*check_url(url, []))
    series = {entry.text: entry for entry in read_samples(sampler.text)}
    misses = series["redis_keyspace_misses_total"]
    counted = misses.values[1:] @ np.diff(misses.at_s)
    assert counted == pytest.approx(3_000, rel=0.001)
    assert stated["redis_keyspace_misses_total"] == ("counter", 3_000.0)
    picked = {(line.title, line.name) for line in pick_preset(read_samples(sampler.text))}
    assert {("reads (1/s)", "hits"), ("reads (1/s)", "misses")} <= picked
    assert any(title == "memory used (MiB)" for title, _ in picked)
    assert any(title == "commands (1/s)" for title, _ in picked)
    assert search_series(read_samples(sampler.text), "connected clients")


def test_node_exporter_says_what_the_kernel_does() -> None:
    with run_exporter("prometheus-node-exporter") as url:
        before = psutil.cpu_times()
        sampler = ExporterSampler(url)
        wait_for_samples(sampler, 3)
        sampler.reader.stop()
        after = psutil.cpu_times()
    picked = {(line.title, line.name): line for line in pick_preset(read_samples(sampler.text))}
    user = picked["CPU (cores)", "user"]
    assert user.values[1:] @ np.diff(user.at_s) <= after.user - before.user + 0.1
    memory = next(line for (title, _), line in picked.items() if title == "memory available (MiB)")
    assert memory.values[-1] == pytest.approx(psutil.virtual_memory().available / 2**20, rel=0.2)
    assert {"disk (MiB/s)", "network (MiB/s)"} <= {title for title, _ in picked}


@contextmanager
def serve(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers every connection in its own way."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            with suppress(OSError):
                talk(self.request)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
        server.shutdown()


def drip(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    for _ in range(100):
        connection.sendall(b"a")
        time.sleep(0.2)


def flood(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    line = b'metric{label="' + b"x" * 200 + b'"} 1\n'
    for _ in range(50 * 2**20 // len(line)):
        connection.sendall(line)


def answer(body: bytes, head: bytes = HEAD) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


HOSTILE = {
    "silent": (lambda connection: time.sleep(10), "No answer within 2 s"),
    "a byte now and then": (drip, "No answer within 2 s"),
    "50 MB": (flood, "more than"),
    "HTML": (answer(b"<html><body>Hello \x07</body></html>"), "no metric"),
    "nothing": (answer(b""), "no metric"),
    "only comments": (answer(b"# HELP a b\n# TYPE a counter\n"), "no metric"),
    "numbers that are none": (answer(b'metric{a="b"} eleven\n'), "no metrics"),
    "a label without an end": (answer(b'metric{a="b 1\n' * 2000), "no metric"),
    "an error": (answer(b"", b"HTTP/1.1 503 Service Unavailable\r\n"), "503"),
    "elsewhere": (
        answer(b"", b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"),
        "redirects are not followed",
    ),
    "half of it": (lambda c: c.sendall(HEAD + b"Content-Length: 500\r\n\r\nup 1\n"), "No answer"),
    "no HTTP": (lambda c: c.sendall(b"\x00\x01\x02" * 100), "no HTTP"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_exporter_is_left_in_time(kind: str) -> None:
    talk, message = HOSTILE[kind]
    with serve(talk) as url:
        began = time.monotonic()
        with pytest.raises(ScrapeFailed, match=message):
            scrape(*check_url(url, []))
        assert time.monotonic() - began < SCRAPE_TIMEOUT_S + 1.5


def test_of_too_many_series_the_first_are_kept(monkeypatch) -> None:
    lines = b"".join(b"m%d 1\n" % number for number in range(19_000))
    assert len(lines) < MAX_BYTES
    with serve(answer(lines)) as url:
        assert len(scrape(*check_url(url, []))) == 5_000


@pytest.mark.parametrize(("duration_s", "interval_s"), [(None, 2), (600, 2), (3_000, 3), (7_200, 5), (86_400, 5)])
def test_long_runs_are_scraped_every_five_seconds(exporter: str, duration_s: float | None, interval_s: float) -> None:
    sampler = ExporterSampler(exporter, duration_s=duration_s)
    sampler.reader.stop()
    assert sampler.reader.interval_s == interval_s


def test_of_too_many_samples_every_second_is_kept(exporter: str, registry: CollectorRegistry, monkeypatch) -> None:
    """Those that remain are evenly apart, and a counter's rate is over the time between them."""
    monkeypatch.setattr("workers.probe.exporter_sampler.MAX_NUMBERS", 8)
    monkeypatch.setattr(ExporterSampler, "min_interval_s", 0.1)
    Gauge("first", "One", registry=registry)
    Gauge("second", "Another", registry=registry)
    sampler = ExporterSampler(exporter)
    time.sleep(3)
    sampler.reader.stop()

    [first, _] = read_samples(sampler.text)
    assert 2 <= first.at_s.size <= 4
    apart_s = np.diff(first.at_s)
    assert apart_s.max() < 2 * apart_s.min() and apart_s.min() > 0.3


def test_after_three_failures_it_is_left_alone() -> None:
    requests = []

    def refuse(connection: socket.socket) -> None:
        requests.append(time.monotonic())
        connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")

    with serve(refuse) as url:
        sampler = ExporterSampler(url)
        time.sleep(9)
        sampler.reader.stop()

    assert len(requests) == 3
    assert "500" in sampler.problem
    assert sampler.text == ""


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://192.0.2.7:9100/metrics", "file:///etc/passwd"]
)
def test_addresses_obey_the_rules_of_servers(url: str) -> None:
    sampler = ExporterSampler(url)
    time.sleep(0.5)
    sampler.reader.stop()

    assert sampler.problem
    assert sampler.samples == 0
