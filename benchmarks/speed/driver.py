"""Clients against their bare drivers and a peer, and with a ledger: the same operations in turn on one server."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from benchmarks.speed.report import BenchmarkFailed, Report
from runs.catalog import load_catalog
from runs.ycsb.properties import render_properties
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.servers import ProvisionError, Server, ServerSpec
from workers.systems.build import SOURCES, read_description, read_project
from workers.systems.manifests import Manifest, java_executable, verify

THREADS = (1, 8)
ROUNDS = 11
WARMUP_ROUNDS = 2  # in which the JVM compiles
ROUND_S = 1.5
PEER_OPERATIONS = 20_000  # of each kind in a round
MAX_CPU_RATIO = 1.05  # of the binding to its driver alone
MIN_RATE_RATIO = 0.9  # with a ledger to without
FIELDS = [f"field{number}" for number in range(10)]


class Round(NamedTuple):
    """One arm's turn; a peer that is no JVM states no bytes."""

    operations: float
    seconds: float
    cpu_s: float
    allocated_bytes: float = 0

    @property
    def cpu_us(self) -> float:
        return 1e6 * self.cpu_s / self.operations

    @property
    def ops_s(self) -> float:
        return self.operations / self.seconds

    @property
    def bytes(self) -> float:
        return self.allocated_bytes / self.operations


Rounds = dict[str, list[Round]]


@contextmanager
def weakest_server(slug: str) -> Iterator[Server]:
    """A server of the system in its weakest mode whose writes are answered, with a table for the records."""
    system = load_catalog().system(slug)
    mode = next(mode for mode in system.modes.values() if mode.durability.ack != "none" and not mode.replicas_needed)
    provisioner = provisioner_for("process", ServerSpec(deployment=f"bench-{slug}", system=system, mode=mode))
    try:
        server = provisioner.start()
        server.administration.create_table("usertable", FIELDS, "{}")
        yield server
    finally:
        provisioner.remove()


def measure(systems: Sequence[str] = ()) -> list[Report]:
    """Every installed binding that has a bare loop, or those of `systems`; of Redis also the ledger."""
    reports = []
    for slug in systems or read_project(SOURCES).bindings:
        bare = read_description(SOURCES, slug).get("bare")
        if not bare or not (settings.YCSB_DIR / slug).exists():
            continue
        name, manifest = load_catalog().system(slug).name, verify(settings.YCSB_DIR / slug)
        try:
            with weakest_server(slug) as server:
                reports.append(_driver_report(server, manifest, bare))
                if slug == "redis":
                    reports.append(_ledger_report(server, manifest, bare))
        except ProvisionError as error:
            print(f"\nThe binding of {name} was not measured: {error}", flush=True)
    return reports


def _driver_report(server: Server, manifest: Manifest, bare: str) -> Report:
    """Processor time and allocated bytes of an operation, of the driver, the binding, the whole client and a peer."""
    driver = f"{manifest.driver.split(':')[1]} alone"
    arms = ["bare", "binding", "client"]
    columns = ["threads", "rounds", f"{driver} µs", "binding µs", "client µs", "binding ratio", "client ratio",
               f"{driver} bytes", "client bytes"]  # fmt: skip
    has_peer = server.spec.system.slug == "redis" and shutil.which("redis-benchmark")
    if has_peer:
        arms.append("peer")
        columns += ["redis-benchmark µs", "client to it"]
    rows: list[list[str | int | float]] = []
    raw: dict[str, object] = {}
    for threads in THREADS:
        rounds = _alternate(server, manifest, bare, arms, threads)
        cpu_us = {arm: [each.cpu_us for each in of_arm] for arm, of_arm in rounds.items()}
        row = [statistics.median(cpu_us[arm]) for arm in arms[:3]]
        row += [_ratio(cpu_us[arm], cpu_us["bare"]) for arm in ("binding", "client")]
        row += [statistics.median(each.bytes for each in rounds[arm]) for arm in ("bare", "client")]
        if has_peer:
            row += [statistics.median(cpu_us["peer"]), _ratio(cpu_us["client"], cpu_us["peer"])]
        rows.append([threads, ROUNDS, *row])
        raw[f"{threads} threads"] = rounds
    figure = max(float(row[columns.index("binding ratio")]) for row in rows)
    return Report(
        name=f"driver-{server.spec.system.slug}",
        title=f"{server.spec.system.name} {server.version}: processor time of an operation "
        "(half reads of 1 KB records, half updates of one field); ratios are to the driver alone",
        columns=columns,
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"CPU of the binding at most {MAX_CPU_RATIO}",
        met=figure <= MAX_CPU_RATIO,
        statistic="worst median",
        raw=raw,
    )


def _ledger_report(server: Server, manifest: Manifest, bare: str) -> Report:
    """Throughput with a ledger of the acknowledged writes, and without."""
    rows: list[list[str | int | float]] = []
    raw: dict[str, object] = {}
    for threads in THREADS:
        rounds = _alternate(server, manifest, bare, ["binding", "ledger"], threads)
        rates = [[each.ops_s for each in rounds[arm]] for arm in ("binding", "ledger")]
        rows.append([threads, ROUNDS, *map(statistics.median, rates), _ratio(rates[1], rates[0])])
        raw[f"{threads} threads"] = rounds
    figure = min(float(row[-1]) for row in rows)
    return Report(
        name="ledger",
        title=f"{server.spec.system.name} {server.version}: the binding without and with a ledger",
        columns=("threads", "rounds", "without ops/s", "with ops/s", "ratio"),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"throughput at least {MIN_RATE_RATIO}",
        met=figure >= MIN_RATE_RATIO,
        statistic="worst median",
        raw=raw,
    )


def _ratio(values: Sequence[float], base: Sequence[float]) -> float:
    """Median over the rounds, so that what disturbs the machine for seconds hits both arms of a ratio."""
    return statistics.median(value / other for value, other in zip(values, base, strict=True))


def _alternate(server: Server, manifest: Manifest, bare: str, arms: Sequence[str], threads: int) -> Rounds:
    """ROUNDS turns of each arm behind those in which the JVM compiles. Raises BenchmarkFailed."""
    rounds: Rounds = {arm: [] for arm in arms}
    with tempfile.NamedTemporaryFile("w", suffix=".properties", encoding="latin-1") as file:
        classes = {"db": manifest.java_class, "bare": bare}
        file.write(render_properties({**server.client_properties(), **classes}))
        file.flush()
        argv = [java_executable(), "-Xms256m", "-Xmx512m", "-cp", ":".join(map(str, manifest.jars))]
        argv += ["benchsite.DriverComparison", str(Path(file.name)), str(threads), str(ROUND_S)]
        with subprocess.Popen(argv, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            for number in range(WARMUP_ROUNDS + ROUNDS):
                # The second arm of a round finds the machine warmer, so the arms take turns in being first.
                for arm in arms if number % 2 == 0 else reversed(arms):
                    turn = _measure_peer(server, threads) if arm == "peer" else _measure_arm(process, arm)
                    rounds[arm].append(turn)
    return {arm: turns[WARMUP_ROUNDS:] for arm, turns in rounds.items()}


def _measure_arm(process: subprocess.Popen[str], arm: str) -> Round:
    """The next turn of an arm of `benchsite.DriverComparison`, which ends behind the last when its stdin is closed."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{arm}\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise BenchmarkFailed(f"The comparison ended with exit code {process.wait()} at the arm {arm!r}.")
    return Round(*map(float, line.split()))


def _measure_peer(server: Server, threads: int) -> Round:
    """redis-benchmark with as many connections, which it serves in one thread, and the same two operations."""
    properties = server.client_properties()
    argv = ["redis-benchmark", "-h", properties["redis.host"], "-p", properties["redis.port"], "-q"]
    argv += ["-a", properties["redis.password"], "-c", str(threads), "-n", str(PEER_OPERATIONS)]
    cpu_s = 0.0
    begun = time.monotonic()
    for command in (["HGETALL", "user1"], ["HSET", "user1", "field0", "v" * 100]):
        process = subprocess.Popen([*argv, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise BenchmarkFailed(f"redis-benchmark ended with exit code {process.returncode}.")
        cpu_s += usage.ru_utime + usage.ru_stime
    return Round(2 * PEER_OPERATIONS, time.monotonic() - begun, cpu_s)
