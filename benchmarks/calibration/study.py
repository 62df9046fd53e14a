"""The ladder that is measured against the known server, and how far its results are from what is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.simulations.means import MeanInterval, mean_interval
from benchsite.accounts.models import Team, User
from benchsite.core.formatting import counted
from reports.compare.curves import Curve
from runs.models import Cluster, Database, LoadGenerator, Matrix, Node, Workload
from runs.models.plan import Provisioner, Purpose
from runs.plans import Draft
from runs.ycsb.properties import CORE_WORKLOADS

CAPACITY_OPS_S: Final = 320.0
SERVICE_S: Final = 0.032
# The threads use the whole capacity at N = capacity * service time, 10.24: the knee is the last rung below.
KNEE_THREADS: Final = 8
RUNGS: Final = (1, 4, 8, 16, 32)
REPEATS: Final = 12
SEARCH_REPEATS: Final = 3
INTERVAL_REPEATS: Final = 3  # of which each interval is made: four of a rung
WARMUP_S: Final = 2
MEASURE_S: Final = 5
SEARCH: Final = {"width": 0.05, "max_trials": 8, "max_error_rate": 0.001, "slo": None}
# Above the knee the mean latency of N threads is N / capacity: 15 threads keep this limit, 16 break it.
LIMIT_MS: Final = 48
SLO: Final = {"operation": "READ", "statistic": "p50", "kind": "service", "limit_us": 1e3 * LIMIT_MS}
NAME: Final = "Calibration"


@dataclass(frozen=True, slots=True)
class Error:
    """One value that is known, and what was measured of it."""

    name: str
    known: float
    measured: float
    unit: str

    @property
    def relative(self) -> float:
        return self.measured / self.known - 1


def plan_calibration(
    team: Team, user: User, generators: Sequence[LoadGenerator], address: str, **fields: Any
) -> Matrix:
    """The matrix of one ladder against the server at `address` (host:port), not yet submitted.

    `fields` replace those of the ladder.
    """
    cluster, _ = Cluster.objects.get_or_create(team=team, name=NAME, defaults={"provisioner": Provisioner.EXTERNAL})
    Node.objects.update_or_create(
        cluster=cluster, position=0, defaults={"machine": generators[0].machine, "address": address}
    )
    database, _ = Database.objects.get_or_create(team=team, name=NAME, defaults={"cluster": cluster, "system": "redis"})
    repeats = SEARCH_REPEATS if fields.get("search") else REPEATS
    settled: dict[str, Any] = {
        "rungs": list(RUNGS), "repeats": repeats, "warmup_s": WARMUP_S, "min_measure_s": MEASURE_S,
        "max_measure_s": MEASURE_S, "load_threads": 32, "notes": "A token bucket of known capacity and service time.",
    }  # fmt: skip
    matrix = Matrix(team=team, name=NAME, purpose=Purpose.DEMO, **(settled | fields))
    properties = {**CORE_WORKLOADS["A"], "recordcount": "1000", "fieldcount": "1", "fieldlength": "100"}
    workload, _ = Workload.objects.get_or_create(
        team=team, name=NAME, defaults={"short_name": "A", "properties": properties}
    )
    return Draft(matrix, [(database, "off")], [workload], generators).store(user)


def plan_searches(
    team: Team, user: User, generators: Sequence[LoadGenerator], address: str
) -> Iterator[tuple[str, Matrix]]:
    """Searches for the capacity: name and matrix, not yet submitted."""
    targets = {"ladder": Matrix.Ladder.TARGET, "threads": 32, "search": SEARCH}
    yield "search over offered load", plan_calibration(team, user, generators, address, **targets)
    threads = {"rungs": [4], "search": {**SEARCH, "max_trials": 14, "slo": SLO}}
    name = f"search over threads, READ p50 at most {LIMIT_MS} ms"
    yield name, plan_calibration(team, user, generators, address, **threads)


def known_throughput(threads: int) -> float:
    """What so many closed-loop threads get, in ops/s."""
    return min(threads / SERVICE_S, CAPACITY_OPS_S)


def intervals(curve: Curve) -> Iterator[tuple[float, MeanInterval]]:
    """Known throughputs in ops/s, each with an interval of measured ones."""
    for point in curve.counted:
        values = point.throughput_ops_s.values
        for first in range(0, len(values) - INTERVAL_REPEATS + 1, INTERVAL_REPEATS):
            interval = mean_interval(values[first : first + INTERVAL_REPEATS])
            if interval:
                yield known_throughput(point.threads), interval


def errors(curve: Curve) -> Iterator[Error]:
    """Ceiling, knee, and throughput and mean read latency of every rung."""
    if curve.ceiling is not None:
        yield Error("ceiling", CAPACITY_OPS_S, curve.ceiling.throughput_ops_s, "ops/s")
    if curve.knee is not None:
        yield Error("knee", KNEE_THREADS, curve.knee.threads, "threads")
    for point in curve.counted:
        known = known_throughput(point.threads)
        rung = counted(point.threads, "thread")
        yield Error(f"throughput, {rung}", known, point.throughput_ops_s.geomean, "ops/s")
        operation = point.operation("READ")
        if latency_us := (operation.geomean_us("mean") if operation else None):
            yield Error(f"READ mean, {rung}", 1e3 * point.threads / known, latency_us / 1e3, "ms")
