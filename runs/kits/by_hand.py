"""A matrix that people run by hand: its planned runs stand here, and wait for the outputs of its kit."""

import uuid
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now

from benchsite.accounts.models import Team, User
from runs.kits.cells import stations_of
from runs.kits.plan import PlanFile, PlanRefused, planned
from runs.kits.plan_file import as_text
from runs.kits.plan_import import matrix_of
from runs.models import Matrix, Run
from runs.planning import Plan, PlannedRun, expand, rows
from runs.planning.preview import MAX_RUNS
from runs.spec import GeneratorSpec, RunSpec
from runs.uploading.metadata import machine_facts


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person runs the plan, as they state it; None and empty: not stated."""

    name: str = "by hand"
    hardware: str = ""
    cores: int | None = None  # of each server
    memory_gib: float | None = None  # of each server
    client_on_database_host: bool | None = None


def plan_by_hand(team: Team, file: PlanFile, place: Place, user: User | None) -> Matrix:
    """Store the plan with all its runs, which nobody schedules. Raises PlanRefused where no kit can be made of it."""
    cells = sum(len(station.cells) for station in stations_of(file))
    if cells > MAX_RUNS:
        raise PlanRefused(f"This plan makes {cells:,} runs: a matrix may have {MAX_RUNS:,}.")
    with transaction.atomic():
        matrix = matrix_of(team, file, user)
        matrix.by_hand, matrix.plan = True, as_text(file)
        matrix.exclusions = [rule.model_dump(exclude_none=True) for rule in file.exclusions]
        matrix.overrides = [rule.model_dump(exclude_none=True) for rule in file.overrides]
        matrix.save()
        Matrix.objects.filter(pk=matrix.pk).update(submitted_at=Now())
        _insert(matrix, file, place, user)
    matrix.refresh_from_db()
    return matrix


def _insert(matrix: Matrix, file: PlanFile, place: Place, user: User | None) -> None:
    plan = planned(file)
    expansion = expand(plan)
    by = user.get_username() if user else ""
    rows.insert(
        matrix,
        plan,
        expansion,
        {run.position: _spec_of(plan, run, place, matrix.pk, by) for run in expansion.runs},
        by=by or "benchsite",
        of_sweep=lambda sweep: {},
        of_run=lambda run: {"source": Run.Source.BY_HAND},
        text="To be run by hand.",
    )


def _spec_of(plan: Plan, run: PlannedRun, place: Place, matrix: uuid.UUID, by: str) -> RunSpec:
    """As Benchsite's own, but for the machines: those of the person who runs it, as far as they stated them."""
    database = run.sweep.entry.database
    spec = rows.spec_of(
        plan,
        run,
        client={
            "flavour": database.flavour,
            "binding": database.binding,
            "digest": "",
            "ycsb_version": "",
        },
        cluster={
            "id": "",
            "name": place.name,
            "provisioner": "",
            "machines": [
                {
                    "id": f"{matrix}/{key}",
                    "name": f"node {number}",
                    "facts": machine_facts(place.cores, place.memory_gib),
                }
                for number, key in enumerate(database.machine_ids, 1)
            ],
        },
        generators=[_generator(matrix, generator.id) for generator in run.generators],
    )
    # The plan's own names of things stand in no table here, and nobody primes by hand.
    spec["database"]["id"] = spec["workload"]["id"] = ""
    spec["priming"] = None
    spec["stated"] = {
        "by": by,
        "files": [],
        "hardware": place.hardware,
        "client_on_database_host": place.client_on_database_host,
    }
    return spec


def _generator(matrix: uuid.UUID, role: str) -> GeneratorSpec:
    return {"id": role, "name": role, "machine": {"id": f"{matrix}/{role}", "name": role, "facts": {}}}
