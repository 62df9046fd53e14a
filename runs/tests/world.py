"""One of everything for a team, and people of every role, for tests that walk over pages."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from benchsite.accounts.models import Role, Team
from runs.models import (
    Artifact,
    Cluster,
    Database,
    LoadGenerator,
    Machine,
    Matrix,
    Run,
    Sweep,
    Upload,
    Workload,
)
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_user,
    make_workload,
)

UGLY = "<script>alert('x')</script>&amp; " + "w" * 47  # 80 characters, the longest name of most things


@dataclass(frozen=True)
class World:
    """One of everything that a team can have; the machine is this team's alone."""

    team: Team
    machine: Machine
    cluster: Cluster
    database: Database
    workload: Workload
    generator: LoadGenerator
    matrix: Matrix
    sweep: Sweep
    run: Run
    artifact: Artifact
    upload: Upload


def make_world(team: Team, name: str = "") -> World:
    machine = make_machine(name=name)
    machine.teams.add(team)
    cluster = make_cluster(team=team, machines=[machine], name=name, notes=name)
    database = make_database(team=team, cluster=cluster, name=name, version=name[:40], notes=name)
    workload = make_workload(team=team, name=name, notes=name)
    generator = make_load_generator(machine=machine)
    matrix = make_matrix(
        team=team, name=name, entries=[(database, "always")], workloads=[workload], load_generators=[generator],
        notes=name, tags=[name[:40]] if name else [],
    )  # fmt: skip
    sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode="always")
    run = make_run(sweep)
    artifact = Artifact.objects.create(team=team, run=run, kind="stdout", name="stdout.txt", sha256="0" * 64, size=1)
    upload = Upload.objects.create(team=team, state="recognised", recognised={"files": [], "runs": [], "more_runs": 0})
    return World(team, machine, cluster, database, workload, generator, matrix, sweep, run, artifact, upload)


def browser(team: Team | None, role: str = Role.RUNNER, **fields: Any) -> Client:
    """A browser in which somebody with that role is signed in."""
    client = Client()
    client.force_login(make_user(team=team, role=role, **fields))
    return client
