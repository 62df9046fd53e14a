"""Bindings against their bare drivers, and with a ledger: the same operations in turn, in one JVM."""

import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from benchmarks.speed.report import BenchmarkFailed, Report
from runs.catalog import load_catalog
from runs.ycsb.properties import render_properties
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.servers import ProvisionError, Server, Wanted
from workers.systems.build import SOURCES, read_description, read_project
from workers.systems.manifests import Manifest, java_executable, verify

THREADS = (1, 8)
ROUNDS = 11
ROUND_S = 1.5
MAX_CPU_RATIO = 1.05  # of the binding to its driver alone
MIN_RATE_RATIO = 0.9  # with a ledger to without
FIELDS = [f"field{number}" for number in range(10)]


@contextmanager
def weakest_server(slug: str) -> Iterator[Server]:
    """A server of the system in its weakest mode whose writes are answered, with a table for the records."""
    system = load_catalog().system(slug)
    mode = next(mode for mode in system.modes.values() if mode.durability.ack != "none" and not mode.replicas_needed)
    provisioner = provisioner_for("process", Wanted(deployment=f"bench-{slug}", system=system, mode=mode))
    try:
        server = provisioner.start()
        server.administration.create_table("usertable", FIELDS, "{}")
        yield server
    finally:
        provisioner.remove()


def measure(systems: Sequence[str] = ()) -> list[Report]:
    """Every installed binding that has a bare loop, or those of `systems`; of Redis also the ledger.

    Reports are pairs of rounds of two arms.
    """
    reports = []
    for slug in systems or read_project(SOURCES).bindings:
        bare = read_description(SOURCES, slug).get("bare")
        if not bare or not (settings.YCSB_DIR / slug).exists():
            continue
        name, manifest = load_catalog().system(slug).name, verify(settings.YCSB_DIR / slug)
        try:
            with weakest_server(slug) as server:
                reports.append(_compare(server, manifest, bare, ("bare", "binding"), name=f"driver-{slug}"))
                if slug == "redis":
                    reports.append(_compare(server, manifest, bare, ("binding", "ledger"), name="ledger"))
        except ProvisionError as error:
            print(f"\nThe binding of {name} was not measured: {error}", flush=True)
    return reports


def _compare(server: Server, manifest: Manifest, bare: str, arms: tuple[str, str], *, name: str) -> Report:
    """Of the binding its processor time per operation decides, of the ledger its throughput."""
    rows: list[list[str | int | float]] = []
    raw: dict[str, object] = {}
    cpu_ratios, rate_ratios = [], []
    with tempfile.NamedTemporaryFile("w", suffix=".properties", encoding="latin-1") as file:
        classes = {"db": manifest.java_class, "bare": bare}
        file.write(render_properties({**server.client_properties(), **classes}))
        file.flush()
        for threads in THREADS:
            argv = [java_executable(), "-Xms256m", "-Xmx512m", "-cp", ":".join(map(str, manifest.jars))]
            argv += ["benchsite.DriverComparison", str(Path(file.name)), str(threads), str(ROUNDS), str(ROUND_S), *arms]
            ended = subprocess.run(argv, capture_output=True, text=True, check=False)
            if ended.returncode:
                raise BenchmarkFailed(f"The comparison of {manifest.binding} ended: {ended.stderr[-2000:]}")
            pairs = _pairs(ended.stdout, arms)
            rates = [tuple(operations / seconds for operations, seconds, _ in pair) for pair in pairs]
            cpu = [tuple(1e5 * used / operations for operations, _, used in pair) for pair in pairs]
            rate_ratios.append(statistics.median(second / first for first, second in rates))
            cpu_ratios.append(statistics.median(second / first for first, second in cpu))
            medians = [statistics.median(side) for sides in (rates, cpu) for side in zip(*sides, strict=True)]
            rows.append([threads, len(pairs), *medians[:2], rate_ratios[-1], *medians[2:], cpu_ratios[-1]])
            raw[f"{threads} threads"] = pairs
    first, second = (f"{manifest.driver.split(':')[1]} alone" if arm == "bare" else arm for arm in arms)
    is_ledger = "ledger" in arms
    figure = min(rate_ratios) if is_ledger else max(cpu_ratios)
    return Report(
        name=name,
        title=f"{server.wanted.system.name} {server.version}: {first} and {second} "
        "(half reads of 1 KB records, half updates of one field)",
        columns=(
            "threads", "pairs", f"{first} ops/s", f"{second} ops/s", "ratio",
            f"{first} CPU s per 100,000", f"{second} CPU s per 100,000", "CPU ratio",
        ),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"throughput at least {MIN_RATE_RATIO}" if is_ledger else f"CPU at most {MAX_CPU_RATIO}",
        met=figure >= MIN_RATE_RATIO if is_ledger else figure <= MAX_CPU_RATIO,
        statistic="worst median",
        raw=raw,
    )  # fmt: skip


Round = tuple[float, float, float]  # operations, seconds, processor seconds


def _pairs(output: str, arms: tuple[str, str]) -> list[tuple[Round, Round]]:
    """Both arms in every round but the first, in which the JVM compiles."""
    rounds: dict[int, dict[str, Round]] = {}
    for line in output.splitlines():
        arm, number, operations, seconds, used = line.split()
        rounds.setdefault(int(number), {})[arm] = (float(operations), float(seconds), float(used))
    return [(arms_of[arms[0]], arms_of[arms[1]]) for number, arms_of in sorted(rounds.items()) if number > 0]
