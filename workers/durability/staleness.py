"""How old the answers of a running system are: own writes read back at once, and updates lost by read-modify-write. No
Django.

`benchsite.StalenessClient` measures: beside a load of 1,000 operations per second, 10 writes per second are read 0, 10
and 100 ms after their acknowledgement, where the mode's clients read or from the replica.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from benchsite.core.formatting import NOTHING, grouped, percent, significant
from benchsite.core.logs import log_tail
from runs.ycsb.command import WORKLOAD_CLASS
from runs.ycsb.properties import render_properties
from workers.durability.ledger_client import JVM_OPTIONS
from workers.processes.process import java_argv, run_process
from workers.provision.servers import Server, get_host
from workers.systems.manifests import Manifest

OFFSETS_MS: Final = (0, 10, 100)  # as StalenessClient
RATE_OPS_S: Final = 1000.0
MAX_START_S: Final = 120.0
COLUMNS: Final = (
    "system", "mode", "nodes", "reads from", "probes", *(f"stale after {offset} ms" for offset in OFFSETS_MS),
    "stale for, median / max", "older than before", "read-modify-writes", "lost updates",
)  # fmt: skip


class StalenessError(Exception):
    """The client could not write or read; the message is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """What the probes of one client saw. `stale` has a number for each of OFFSETS_MS."""

    probes: int
    stale: tuple[int, ...]
    median_s: float | None  # of the last stale answer after the acknowledgement, over the probes with one
    longest_s: float | None
    regressions: int  # reads with an older version than the same thread had read before
    modified: int  # read-modify-writes
    lost_updates: int

    def share(self, position: int) -> str:
        """ "12 % (8.1 to 17)" of the probes, with its 95 % interval."""
        low, high = binomial_interval(self.stale[position], self.probes)
        return f"{percent(self.stale[position] / self.probes)} ({percent(low)} to {percent(high)})"


def binomial_interval(hits: int, tries: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    low = 0.0
    if hits:
        low = betaincinv(hits, tries - hits + 1, 0.025)
    high = 1.0
    if hits < tries:
        high = betaincinv(hits + 1, tries - hits, 0.975)
    return float(low), float(high)


def parse_probes(lines: Iterable[str]) -> Staleness:
    """The results of `benchsite.StalenessClient`. Raises StalenessError where it made no probe."""
    stale = [0] * len(OFFSETS_MS)
    ages_us = []
    regressions = 0
    probes = 0
    read: Counter[int] = Counter()
    for line in lines:
        kind, *numbers = line.split()
        values = [int(number) for number in numbers]
        if kind == "MODIFY":
            value, *_ = values
            read[value] += 1
            continue
        probes += 1
        stale = [total + value for total, value in zip(stale, values, strict=False)]
        last_stale_us, older = values[len(OFFSETS_MS) :]
        regressions += older
        if last_stale_us >= 0:
            ages_us.append(last_stale_us)

    if not probes:
        raise StalenessError("The client ended before its first probe: measure for longer.")

    median_s = longest_s = None
    if ages_us:
        median_s = median(ages_us) / 1e6
        longest_s = max(ages_us) / 1e6

    return Staleness(
        probes=probes,
        stale=tuple(stale),
        median_s=median_s,
        longest_s=longest_s,
        regressions=regressions,
        modified=read.total(),
        lost_updates=read.total() - len(read),
    )


def measure_staleness(
    server: Server, manifest: Manifest, folder: Path, registry: Path, *, seconds: float, from_replica: bool
) -> Staleness:
    """Probes a server that is up and has the table. `folder` is new. Raises StalenessError."""
    folder.mkdir(mode=0o700)
    results, log = folder / "results", folder / "client.log"
    reader = server
    if from_replica:
        reader = replace(server, host=get_host(1), nodes=())
    files = {
        "reader": reader.client_properties(),
        "writer": {
            **server.client_properties(),
            "workload": WORKLOAD_CLASS,
            "operationcount": "1",
            "staleness.reader": str(folder / "reader"),
            "staleness.results": str(results),
            "staleness.seconds": str(seconds),
            "staleness.rate": str(RATE_OPS_S),
        },
    }
    for name, properties in files.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(render_properties(properties), encoding="latin-1")

    arguments = ["-P", str(folder / "writer"), "-db", manifest.java_class]
    process = run_process(
        java_argv(manifest, "benchsite.StalenessClient", arguments, jvm_options=JVM_OPTIONS),
        registry=registry,
        label="staleness client",
        cwd=folder,
        stdout_path=log,
        stderr_path=log,
        deadline_s=seconds + MAX_START_S,
    )
    if process.exit_code != 0:
        raise StalenessError(f"The staleness client failed: {log_tail(log, 5)}")

    return parse_probes(results.read_text("latin-1").splitlines())


def cells(system: str, mode: str, nodes: int, reads: str, result: Staleness) -> tuple[str, ...]:
    """A row of the table, in the order of COLUMNS."""
    ages = NOTHING
    if result.median_s is not None and result.longest_s is not None:
        ages = f"{significant(result.median_s * 1000)} / {significant(result.longest_s * 1000)} ms"
    return (
        system, mode, grouped(nodes), reads, grouped(result.probes),
        *(result.share(position) for position in range(len(OFFSETS_MS))),
        ages, grouped(result.regressions), grouped(result.modified), grouped(result.lost_updates),
    )  # fmt: skip
