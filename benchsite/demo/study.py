"""The quick study: Redis and PostgreSQL in five durability modes under workload A, on this one machine.

It shows shapes, never numbers to publish: its purpose is `demo`, and every figure of it says so.
"""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from benchsite.teams.models import Team, User
from runs.lifecycle import request_cancel_matrix
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, MatrixEntry, Node, Workload
from runs.models.plan import Provisioner, Purpose
from runs.planning import submit
from runs.ycsb.properties import CORE_WORKLOADS

RECORDS = 10_000
RUNGS = [2, 4, 16, 32]
WARMUP_S = 2
MEASURE_S = 10
ENTRIES = (
    ("redis", "Redis", ("off", "everysec", "always")),
    ("postgresql", "PostgreSQL", ("off", "on")),
)
NAME = "Quick study"
CLUSTER = "This machine"
WORKLOAD = "A: update heavy, 10,000 records"


def plan_quick_study(
    team: Team,
    user: User,
    generators: list[LoadGenerator],
    *,
    entries: Sequence[tuple[str, str, Sequence[str]]] = ENTRIES,
    **fields: Any,
) -> Matrix:
    """The matrix of a new quick study, not yet submitted; cluster, databases and workload are made once and reused.

    `entries` are (system, name of the database, durability modes); `fields` replace those of the matrix.
    """
    machine = generators[0].machine
    cluster = _cluster(team, machine)
    defaults: dict[str, Any] = {
        "name": f"{NAME}, {timezone.now():%Y-%m-%d %H:%M}",
        "rungs": RUNGS,
        "warmup_s": WARMUP_S,
        "min_measure_s": MEASURE_S,
        "max_measure_s": MEASURE_S,
        "load_threads": 8,
        "notes": "Redis and PostgreSQL in five durability modes under workload A, on one machine: shapes, not numbers.",
    }
    matrix = Matrix.objects.create(team=team, purpose=Purpose.DEMO, created_by=user, **defaults | fields)
    matrix.workloads.set([_workload(team)])
    matrix.load_generators.set(generators)
    position = 0
    for system, name, modes in entries:
        database, _ = Database.objects.get_or_create(
            team=team, name=name, defaults={"cluster": cluster, "system": system}
        )
        for mode in modes:
            MatrixEntry.objects.create(matrix=matrix, database=database, mode=mode, position=position)
            position += 1
    return matrix


def submit_quick_study(team: Team, user: User, generators: list[LoadGenerator]) -> Matrix:
    """Plan and submit. Raises PlanError where this machine cannot run it, saying why.

    What is left of an earlier study that was cut short would stand before this one in the queue: it is cancelled.
    """
    for earlier in Matrix.objects.filter(team=team, name__startswith=NAME, purpose=Purpose.DEMO):
        request_cancel_matrix(earlier, user)
    matrix = plan_quick_study(team, user, generators)
    submit(matrix, user)
    return matrix


def _cluster(team: Team, machine: Machine) -> Cluster:
    cluster, made = Cluster.objects.get_or_create(
        team=team, name=CLUSTER, defaults={"provisioner": Provisioner.PROCESS}
    )
    if made:
        Node.objects.create(cluster=cluster, machine=machine)
    return cluster


def _workload(team: Team) -> Workload:
    properties = {**CORE_WORKLOADS["A"], "recordcount": str(RECORDS), "fieldcount": "10", "fieldlength": "100"}
    workload, _ = Workload.objects.get_or_create(
        team=team, name=WORKLOAD, defaults={"short_name": "A", "properties": properties}
    )
    return workload
