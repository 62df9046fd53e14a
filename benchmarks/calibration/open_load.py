"""Open load against servers of known service time, and what the ideal client would have measured.

`FifoServer.java` is a queue before some servers, in a process of its own. The ideal client begins every arrival when it
is due and costs nothing: its response times follow from the same arrivals by Lindley's recursion.
"""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import redis

from runs.ycsb.arrivals import FILE_NAME, ClientArrivals, parse_arrivals
from runs.ycsb.command import open_load_properties
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Histogram
from runs.ycsb.properties import render_properties
from runs.ycsb.tests.hdrlogs import read_log
from workers.provision.ports import free_port
from workers.systems.manifests import Manifest, java_executable

Floats = npt.NDArray[np.float64]
SERVER: Final = Path(__file__).with_name("FifoServer.java")
WORKLOAD: Final = {
    "workload": "site.ycsb.workloads.CoreWorkload", "recordcount": "1000", "operationcount": "2147483647",
    "fieldcount": "1", "fieldlength": "10", "readproportion": "0", "updateproportion": "1", "status.interval": "1",
    "measurementtype": "hdrhistogram", "hdrhistogram.fileoutput": "true", "measurement.interval": "both",
    "requestdistribution": "uniform",
}  # fmt: skip
PATIENCE_S: Final = 60
# The server is an instrument: what else the machine does is not to keep it from reading a request.
FIRST: Final = ("nice", "--adjustment=-15") if os.geteuid() == 0 else ()
_MASK: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)


@contextmanager
def fifo_server(servers: int, service_us: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Its port and its process."""
    port = free_port()
    argv = [*FIRST, java_executable(), "-Xmx128m", str(SERVER), str(port), str(servers), str(service_us)]
    with subprocess.Popen(argv) as process:
        try:
            _await_listener(port)
            yield port, process
        finally:
            process.kill()


def _await_listener(port: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def take_tally(port: int) -> tuple[int, float]:
    """How many writes a FIFO server got since the last time, and how long they were to take there on average, in µs."""
    with redis.Redis(port=port, protocol=2, lib_name=None, lib_version=None) as connection:
        writes, due_ns = connection.execute_command("TALLY")
    return writes, due_ns / 1000 / max(writes, 1)


@dataclass(frozen=True)
class Measured:
    """What one client left."""

    response_log: IntervalLog | None
    service: Histogram
    client_lag: Histogram
    arrivals: ClientArrivals
    seed: int
    rate_ops_s: float

    @property
    def response(self) -> Histogram:
        return self.response_log.histogram() if self.response_log else Histogram()


def measure(
    manifest: Manifest,
    port: int,
    *,
    rate_ops_s: float,
    seconds: int,
    threads: int,
    arrivals: str = "poisson",
    patience_ms: float | None = None,
    profile: Sequence[Sequence[float]] = (),
    clients: int = 1,
    seed: str = "1",
    properties: Mapping[str, str] | None = None,
    is_open: bool = True,
    on_started: Callable[[Sequence[subprocess.Popen[str]]], object] | None = None,
) -> list[Measured]:
    """Runs the clients together, each with `threads` / `clients` of the threads, to their end.

    `is_open` false leaves the load to `properties`.
    """
    with tempfile.TemporaryDirectory(prefix="open-") as folder, ExitStack() as stack:
        started = []
        for number in range(clients):
            base = Path(folder) / str(number)
            (base / "hdr").mkdir(parents=True)
            load = open_load_properties(
                target_ops_s=rate_ops_s, arrivals=arrivals, patience_ms=patience_ms, profile=profile,
                client=number, clients=clients, run=seed,
            )  # fmt: skip
            if not is_open:
                load = {}
            text = render_properties({
                **WORKLOAD, **load, "maxexecutiontime": str(seconds), "redis.port": str(port),
                "hdrhistogram.output.path": f"{base}/hdr/", "open.output": f"{base}/{FILE_NAME}",
                "threadcount": str(threads // clients), **(properties or {}),
            })  # fmt: skip
            (base / "ycsb.properties").write_text(text)
            started.append((base, load, stack.enter_context(_client(manifest, base))))
        for _, _, process in started:
            _await_ready(process)
        instant = round((time.time() + 0.3) * 1000)
        for _, _, process in started:
            assert process.stdin is not None
            process.stdin.write(f"START {instant}\n")
            process.stdin.flush()
        if on_started is not None:
            on_started([process for _, _, process in started])
        return [_read(base, load, process) for base, load, process in started]


@contextmanager
def _client(manifest: Manifest, base: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [
        java_executable(), "-Xmx256m", "-Duser.language=en", "-Duser.country=US", "-cp",
        ":".join(map(str, manifest.jars)), "benchsite.Start", "--ready", "-t", "-s", "-P",
        str(base / "ycsb.properties"), "-db", manifest.java_class,
    ]  # fmt: skip
    with (
        (base / "stdout.txt").open("w") as stdout,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def _await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        if line.startswith("BENCHSITE READY"):
            return
        lines.append(line)
    raise AssertionError(f"the client ended before it was ready: {''.join(lines)}")


def _read(base: Path, load: Mapping[str, str], process: subprocess.Popen[str]) -> Measured:
    assert process.stderr is not None
    process.stderr.read()
    process.wait()
    logs = {path.stem: _whole(path) for path in (base / "hdr").glob("*.hdr")}
    return Measured(
        response_log=_read_log(base / "hdr" / "Intended-UPDATE.hdr"),
        service=logs.get("UPDATE", Histogram()),
        client_lag=logs.get("CLIENT-LAG", Histogram()),
        arrivals=parse_arrivals((base / FILE_NAME).read_text() if (base / FILE_NAME).exists() else "\n", 0),
        seed=int(load.get("open.seed", "0")),
        rate_ops_s=float(load.get("open.rate", "0")),
    )


def _whole(path: Path) -> Histogram:
    log = _read_log(path)
    return log.histogram() if log else Histogram()


def _read_log(path: Path) -> IntervalLog | None:
    """None of a client that was killed before it measured anything."""
    if not path.exists():
        return None
    with path.open() as lines:
        return read_log(lines)


def take_from(log: IntervalLog, second: float) -> Histogram:
    """What ended from a second of the log on: whole intervals."""
    first = int(np.searchsorted(log.start_s - log.start_s[0], second - 0.5))
    part = slice(int(log.offsets[first]), None)
    return Histogram.of_sparse(log.index[part], log.count[part])


def draw_gaps(seed: int, number: int) -> Floats:
    """The gaps at rate 1 of a client's Poisson arrivals: Java's SplittableRandom (Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + _GAMMA * np.arange(1, number + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return -np.log1p(-(z >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def compute_ideal(due_s: Floats, servers: int, service_s: float) -> Floats:
    """Response times (s) of a FIFO queue before equal servers, for arrivals in the order of time."""
    free = [0.0] * servers
    heapify(free)
    responses = np.empty(due_s.size)
    for at, due in enumerate(due_s.tolist()):
        end = max(due, free[0]) + service_s
        heapreplace(free, end)
        responses[at] = end - due
    return responses
