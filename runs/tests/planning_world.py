"""A team's described things for tests of plan files: two databases, two workloads, two generators, all rules."""

from typing import Any

from benchsite.accounts.models import Team
from runs.models import Cluster, LoadGenerator, Matrix
from runs.plans.drafts import stored_plan
from runs.plans.files.plan import PlanFile
from runs.plans.files.plan_fit import Chosen
from runs.plans.preview import preview
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)
from runs.ycsb.properties import check_workload

MIX = {"recordcount": "2000", "readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian"}


def a_matrix(team: Team | None = None, suffix: str = "", **fields: Any) -> Matrix:
    """A small plan of Redis and PostgreSQL that is not submitted."""
    team = team or make_team()
    cluster = make_cluster(team=team, machines=[make_machine(cores=4)])
    digest = {"redis": "1" * 64, "postgresql": "2" * 64}
    generators = [make_load_generator(machine=make_machine(), bindings=digest, slots=2) for _ in range(2)]
    redis = make_database(team=team, cluster=cluster, name=f"Redis 7{suffix}", settings={"maxmemory": "1GB"})
    postgresql = make_database(team=team, cluster=cluster, name=f"PostgreSQL 15{suffix}", system="postgresql")
    workloads = [
        make_workload(
            team=team, name=f"Workload {short}{suffix}", short_name=short, properties=check_workload(MIX | more)
        )
        for short, more in (("A", {}), ("B", {"readproportion": "0.95", "updateproportion": "0.05"}))
    ]
    rules: dict[str, Any] = {
        "exclusions": [{"match": {"database": str(redis.pk), "rung": 8}, "reason": "known to fail"}],
        "overrides": [
            {"match": {"workload": str(workloads[1].pk)}, "set": {"recordcount": 3000}},
            {
                "match": {"mode": "on", "repeat": 2, "rung": 2},
                "set": {"generators": [generators[1].name], "threads": 6},
            },
        ],
    }
    says = {
        "rungs": [2, 4, 8], "repeats": 2, "order": "interleaved", "purpose": "smoke", "resets": {"rung": "restart"},
        "load_threads": 4, "tags": ["nightly"], "bracket": True, "submitted_at": None, **rules,
    }  # fmt: skip
    return make_matrix(
        team=team,
        entries=[(redis, "always"), (postgresql, "on"), (redis, "everysec")],
        workloads=workloads,
        load_generators=generators,
        **says | fields,
    )


def list_refusals(matrix: Matrix, field: str) -> list[str]:
    """The problems that the preview has with this field of the plan."""
    return [problem.message for problem in preview(stored_plan(matrix)).problems if problem.field == field]


def chosen_for(file: PlanFile, matrix: Matrix) -> Chosen:
    """The machines of the matrix itself."""
    clusters = {entry.database.cluster for entry in matrix.entries.select_related("database__cluster")}
    (cluster,) = clusters
    generators = matrix.load_generators.order_by("name")
    return Chosen(dict.fromkeys(file.clusters, cluster), dict(zip(file.generators, generators, strict=True)))


def chosen_elsewhere(file: PlanFile, team: Team) -> Chosen:
    """Machines of another team that are just like those of the plan."""
    clusters: dict[str, Cluster] = {
        role: make_cluster(team=team, machines=[make_machine(cores=node.cores or 2) for node in made.nodes])
        for role, made in file.clusters.items()
    }
    digest = {"redis": "1" * 64, "postgresql": "2" * 64}
    generators: dict[str, LoadGenerator] = {
        role: make_load_generator(machine=make_machine(), bindings=digest, slots=made.slots)
        for role, made in file.generators.items()
    }
    return Chosen(clusters, generators)


def make_parts(team):
    """What a matrix of the builder needs: two databases, a workload and a load generator."""
    cluster = make_cluster(team=team, machines=[make_machine()])
    return {
        "redis": make_database(team=team, cluster=cluster, name="Redis", system="redis"),
        "postgresql": make_database(team=team, cluster=cluster, name="PostgreSQL", system="postgresql"),
        "workload": make_workload(team=team, name="A"),
        "generator": make_load_generator(bindings={"redis": "d", "postgresql": "d"}),
    }


def make_form(parts, **more):
    """What the builder posts for these parts."""
    return {
        "name": "Study", "purpose": "demo", "entries": [f"{parts['redis'].pk}:always", f"{parts['postgresql'].pk}:on"],
        "workloads": [str(parts["workload"].pk)], "load_generators": [str(parts["generator"].pk)],
        "processes_per_generator": "1", "ladder": "threads", "rungs": "2", "repeats": "1", "order": "interleaved",
        "seed": "1", "warmup_s": "2", "min_measure_s": "10", "min_operations": "0", "load_policy": "load",
        "load_threads": "8", "between_rungs": "keep", "priority": "0", **more,
    }  # fmt: skip
