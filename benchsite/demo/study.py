"""The quick study: Redis and PostgreSQL in three durability modes under workload A, on this one machine.

A short search measures the ceiling of each mode, then rungs of offered load below it show how latency rises towards it.
It shows shapes, never numbers to publish: its purpose is `demo`, and every figure of it says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.utils import timezone

from benchsite.teams.models import Team, User
from runs.lifecycle import request_cancel_matrix
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, MatrixEntry, Node, Workload
from runs.models.plan import Provisioner, Purpose
from runs.planning import submit
from runs.ycsb.properties import CORE_WORKLOADS

RECORDS = 10_000
THREADS = 16  # serve every load
PRESTART_S = 1  # each client uses the database before the agreed instant, unmeasured
WARMUP_S = 1
MEASURE_S = 5
REPEATS = 2
SEARCH = {"width": 0.1, "max_trials": 3, "max_error_rate": 0.001, "slo": None, "curve_percent": [25, 50, 75, 90, 100]}


class StudyEntry(NamedTuple):
    """A database of a study and its durability modes. `nodes` are processes of this machine."""

    system: str
    name: str
    modes: Sequence[str]
    nodes: int = 1
    replication_factor: int = 1


ENTRIES = (StudyEntry("redis", "Redis", ("off", "always")), StudyEntry("postgresql", "PostgreSQL", ("on",)))
ALL_ENTRIES = (
    StudyEntry("redis", "Redis", ("off", "everysec", "always")),
    StudyEntry("postgresql", "PostgreSQL", ("off", "on")),
)
NAME = "Quick study"
CLUSTER = "This machine"
WORKLOAD = "A: update heavy, 10,000 records"


def plan_study(
    team: Team,
    user: User,
    generators: list[LoadGenerator],
    *,
    entries: Sequence[StudyEntry] = ALL_ENTRIES,
    workloads: Sequence[Workload] = (),
    **fields: Any,
) -> Matrix:
    """A matrix on this machine, not yet submitted; cluster, databases and workload are made once and reused.

    No `workloads`: workload A; `fields` are those of the matrix.
    """
    machine = generators[0].machine
    cluster = _cluster(team, machine)
    defaults: dict[str, Any] = {
        "name": f"{NAME}, {timezone.now():%Y-%m-%d %H:%M}",
        "warmup_s": WARMUP_S,
        "min_measure_s": MEASURE_S,
        "max_measure_s": MEASURE_S,
        "load_threads": 8,
        "purpose": Purpose.DEMO,
    }
    matrix = Matrix.objects.create(team=team, created_by=user, **defaults | fields)
    matrix.workloads.set(workloads or [workload_of(team, WORKLOAD, "A", CORE_WORKLOADS["A"])])
    matrix.load_generators.set(generators)
    position = 0
    for entry in entries:
        nodes = {"nodes": str(entry.nodes)} if entry.nodes > 1 else {}
        stated = {"system": entry.system, "settings": nodes, "replication_factor": entry.replication_factor}
        database, _ = Database.objects.get_or_create(
            team=team, name=entry.name, defaults={"cluster": cluster, **stated}
        )
        for mode in entry.modes:
            MatrixEntry.objects.create(matrix=matrix, database=database, mode=mode, position=position)
            position += 1
    return matrix


def submit_quick_study(
    team: Team, user: User, generators: list[LoadGenerator], entries: Sequence[StudyEntry] = ENTRIES
) -> Matrix:
    """Plan and submit. Raises PlanError where this machine cannot run it, saying why.

    What is left of an earlier study that was cut short would stand before this one in the queue: it is cancelled.
    """
    for earlier in Matrix.objects.filter(team=team, name__startswith=NAME, purpose=Purpose.DEMO):
        request_cancel_matrix(earlier, user)
    matrix = plan_study(
        team,
        user,
        generators,
        entries=entries,
        ladder=Matrix.Ladder.TARGET,
        threads=THREADS,
        search=SEARCH,
        repeats=REPEATS,
        notes="The ceiling of each durability mode, then the latency below it, under workload A on one machine: "
        "shapes, not numbers.",
    )
    submit(matrix, user)
    return matrix


def _cluster(team: Team, machine: Machine) -> Cluster:
    cluster, made = Cluster.objects.get_or_create(
        team=team, name=CLUSTER, defaults={"provisioner": Provisioner.PROCESS}
    )
    if made:
        Node.objects.create(cluster=cluster, machine=machine)
    return cluster


def workload_of(team: Team, name: str, short_name: str, mix: Mapping[str, str]) -> Workload:
    """The team's workload of that name: the mix over records of 1 KB."""
    properties = {**mix, "recordcount": str(RECORDS), "fieldcount": "10", "fieldlength": "100"}
    properties["warmupexecutiontime"] = str(PRESTART_S)
    workload, _ = Workload.objects.update_or_create(
        team=team, name=name, defaults={"short_name": short_name, "properties": properties}
    )
    return workload
