"""The ladder that is measured against the known server, and how far its results are from what is known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.teams.models import Team, User
from reports.curves import Curve, Point
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, MatrixEntry, Node, Workload
from runs.models.plan import Provisioner, Purpose
from runs.ycsb.properties import CORE_WORKLOADS

CAPACITY_OPS_S: Final = 1_000.0
SERVICE_S: Final = 0.008
# The knee is where the threads use the whole capacity: N = capacity * service time.
KNEE_THREADS: Final = 8
RUNGS: Final = (1, 2, 4, 8, 16, 32)
REPEATS: Final = 3
WARMUP_S: Final = 3
MEASURE_S: Final = 15
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


def plan_calibration(team: Team, user: User, generators: Sequence[LoadGenerator], address: str) -> Matrix:
    """The matrix of one ladder against the server at `address` (host:port), not yet submitted."""
    cluster = _cluster(team, generators[0].machine, address)
    database, _ = Database.objects.get_or_create(team=team, name=NAME, defaults={"cluster": cluster, "system": "redis"})
    matrix = Matrix.objects.create(
        team=team, created_by=user, name=NAME, purpose=Purpose.DEMO, rungs=list(RUNGS), repeats=REPEATS,
        warmup_s=WARMUP_S, min_measure_s=MEASURE_S, max_measure_s=MEASURE_S, load_threads=32,
        notes="A token bucket of known capacity and service time.",
    )  # fmt: skip
    properties = {**CORE_WORKLOADS["A"], "recordcount": "1000", "fieldcount": "1", "fieldlength": "100"}
    workload, _ = Workload.objects.get_or_create(
        team=team, name=NAME, defaults={"short_name": "A", "properties": properties}
    )
    matrix.workloads.set([workload])
    matrix.load_generators.set(generators)
    MatrixEntry.objects.create(matrix=matrix, database=database, mode="off")
    return matrix


def _cluster(team: Team, machine: Machine, address: str) -> Cluster:
    """The external cluster of the server, whose port differs from one calibration to the next."""
    cluster, _ = Cluster.objects.get_or_create(team=team, name=NAME, defaults={"provisioner": Provisioner.EXTERNAL})
    Node.objects.update_or_create(cluster=cluster, position=0, defaults={"machine": machine, "address": address})
    return cluster


def known_throughput(threads: int) -> float:
    """What so many closed-loop threads get, in ops/s."""
    return min(threads / SERVICE_S, CAPACITY_OPS_S)


def errors(curve: Curve) -> Iterator[Error]:
    """Ceiling, knee, and throughput and median read latency of every rung."""
    if curve.ceiling is not None:
        yield Error("ceiling", CAPACITY_OPS_S, curve.ceiling.throughput_ops_s, "ops/s")
    if curve.knee is not None:
        yield Error("knee", KNEE_THREADS, curve.knee.threads, "threads")
    for point in curve.counted:
        known = known_throughput(point.threads)
        yield Error(f"throughput, {point.threads} threads", known, point.throughput_ops_s.median, "ops/s")
        if latency_us := read_p50_us(point):
            yield Error(f"READ p50, {point.threads} threads", 1e3 * point.threads / known, latency_us / 1e3, "ms")


def read_p50_us(point: Point) -> float | None:
    operation = point.operation("READ")
    return operation.median_us("p50") if operation else None
