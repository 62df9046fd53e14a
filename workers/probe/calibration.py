"""What this load generator can generate at most: YCSB's reads from a database that does nothing. No database.

No run can do more: a client with a driver needs more CPU time for each operation.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from django.conf import settings

from runs.queue.bindings import Capacity
from runs.ycsb.command import WORKLOAD_CLASS
from runs.ycsb.properties import MAX_INT
from runs.ycsb.status import parse_status
from workers.probe.node_probe import usable_cores
from workers.processes.process import StartError, java_argv, run_process, write_properties
from workers.systems.manifests import Manifest, ManifestError, installed_bindings

DURATION_S: Final = 6  # the JVM compiles in the first seconds
START_TIMEOUT_S: Final = 60
NO_DATABASE: Final = "site.ycsb.BasicDB"
PROPERTIES: Final = {
    "workload": WORKLOAD_CLASS,
    "recordcount": "1000",
    "operationcount": str(MAX_INT),
    "readproportion": "1",
    "updateproportion": "0",
    "requestdistribution": "uniform",
    "measurementtype": "hdrhistogram",
    "status.interval": "1",
    "basicdb.verbose": "false",
}


class CalibrationFailed(Exception):
    """Nothing was measured; the message says why."""


def measure_capacities(slots: int, should_stop: Callable[[], bool] = lambda: False) -> dict[str, Capacity]:
    """Binding -> what one client and at most `slots` clients at once generate. Raises CalibrationFailed.

    Bindings with one release of YCSB share a measurement.
    """
    cores = usable_cores() or 1
    measure = partial(_measure_highest_rate, threads=cores, should_stop=should_stop)
    rates: dict[str, tuple[float, float]] = {}  # by release of YCSB
    capacities: dict[str, Capacity] = {}
    for binding, manifest in installed_bindings(settings.YCSB_DIR).items():
        if manifest.ycsb_version not in rates:
            single = together = measure(manifest, 1)
            if slots > 1:
                together = measure(manifest, slots)
            # Clients that compete for the cores may generate less together than one alone.
            rates[manifest.ycsb_version] = single, max(single, together)
        client_ops_s, ops_s = rates[manifest.ycsb_version]
        capacities[binding] = Capacity(
            digest=manifest.digest, client_ops_s=client_ops_s, ops_s=ops_s, clients=slots, cores=cores
        )

    return capacities


def _measure_highest_rate(manifest: Manifest, clients: int, *, threads: int, should_stop: Callable[[], bool]) -> float:
    """The highest throughput of `clients` processes together in one second, in ops/s."""
    totals: dict[int, dict[int, float]] = defaultdict(dict)  # second -> client -> ops/s

    def run(client: int, folder: Path) -> str:
        """The last lines of the output; empty where the client succeeded."""
        properties, stderr = folder / f"{client}.properties", folder / f"{client}.stderr"
        output = {"exportfile": str(folder / f"{client}.summary"), "maxexecutiontime": str(DURATION_S)}
        write_properties(properties, {**PROPERTIES, **output})

        def note(line: str) -> None:
            status = parse_status(line)
            if status is not None and status.rate_ops_s and status.elapsed_s < DURATION_S:
                totals[status.elapsed_s].setdefault(client, status.rate_ops_s)

        arguments = ["-t", "-s", "-P", str(properties), "-threads", str(threads), "-db", NO_DATABASE]
        result = run_process(
            java_argv(manifest, "benchsite.Start", arguments),
            registry=settings.GUARDED_DIR,
            label=f"calibration client {client}",
            cwd=folder,
            stderr_path=stderr,
            on_stderr_line=note,
            should_stop=should_stop,
            deadline_s=DURATION_S + START_TIMEOUT_S,
        )
        if result.exit_code == 0:
            return ""

        return stderr.read_text(errors="replace")[-500:] or "no output"

    try:
        settings.WORK_DIR.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=settings.WORK_DIR, prefix=".calibration-") as folder,
            ThreadPoolExecutor(clients) as pool,
        ):
            errors = [error for error in pool.map(lambda client: run(client, Path(folder)), range(clients)) if error]
    except (ManifestError, StartError, OSError) as error:
        raise CalibrationFailed(f"The clients could not be started: {error}") from error

    complete = [sum(rates.values()) for rates in totals.values() if len(rates) == clients]
    if errors or not complete:
        problem = errors[0] if errors else "no status"
        raise CalibrationFailed(f"{clients} clients with {threads} threads failed: {problem}")

    return max(complete)
