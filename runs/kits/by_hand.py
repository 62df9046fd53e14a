"""A matrix that people run by hand: its planned runs stand here, and wait for the outputs of its kit."""

import uuid
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from benchsite.teams.models import Team, User
from runs.catalog import load_catalog
from runs.copies import config_key, sweep_columns
from runs.kits.cells import stations_of
from runs.kits.importing import matrix_of
from runs.kits.plan import PlanFile, PlanRefused, planned
from runs.kits.plan_text import as_text
from runs.models import Matrix, Run, RunEvent, Sweep
from runs.planning import PlannedRun, expand
from runs.planning.preview import MOST_RUNS
from runs.spec import SPEC_VERSION, GeneratorSpec, MachineSpec, RunSpec

GIB: Final = 1024**3


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
    if cells > MOST_RUNS:
        raise PlanRefused(f"This plan makes {cells:,} runs: a matrix may have {MOST_RUNS:,}.")
    with transaction.atomic():
        matrix = matrix_of(team, file, user)
        matrix.by_hand, matrix.plan = True, as_text(file)
        matrix.exclusions = [dict(rule) for rule in file.exclusions]
        matrix.overrides = [dict(rule) for rule in file.overrides]
        matrix.save()
        Matrix.objects.filter(pk=matrix.pk).update(submitted_at=Now())
        _insert(matrix, file, place, user)
    matrix.refresh_from_db()
    return matrix


def _insert(matrix: Matrix, file: PlanFile, place: Place, user: User | None) -> None:
    expansion = expand(planned(file))
    by = user.get_username() if user else ""
    specs = {one.position: spec_of(file, one, place, matrix.pk, by) for one in expansion.runs}
    sweeps = {
        one.key: Sweep(
            team_id=matrix.team_id,
            matrix=matrix,
            phase=one.phase,
            name=one.name,
            system=one.entry.database.system,
            mode=one.entry.mode,
            purpose=file.purpose,
            ladder=file.ladder,
            tags=matrix.tags,
        )
        for one in expansion.sweeps
    }
    for one in reversed(expansion.runs):
        for column, value in sweep_columns(specs[one.position]).items():
            setattr(sweeps[one.sweep.key], column, value)
    Sweep.objects.bulk_create(sweeps.values())
    runs: dict[int, Run] = {}
    for one in expansion.runs:
        needs = runs[one.needs] if one.needs is not None else None
        runs[one.position] = _run(matrix, one, specs[one.position], sweeps[one.sweep.key], needs)
    Run.objects.bulk_create(runs.values())
    RunEvent.objects.bulk_create(
        RunEvent(run=run, kind="status", new=run.status, actor=by or "benchsite", text="To be run by hand.")
        for run in runs.values()
    )


def _run(matrix: Matrix, one: PlannedRun, spec: RunSpec, sweep: Sweep, needs: Run | None) -> Run:
    return Run(
        team_id=matrix.team_id,
        sweep=sweep,
        matrix=matrix,
        source=Run.Source.BY_HAND,
        phase=one.phase,
        name=one.name,
        spec=spec,
        config_key=config_key(spec),
        system=sweep.system,
        mode=sweep.mode,
        workload_name=one.sweep.workload.name,
        purpose=sweep.purpose,
        threads=one.threads,
        target_ops_s=one.target_ops_s,
        repeat=one.repeat,
        is_bracket=one.is_bracket,
        position=one.position,
        needs=needs,
        expected_s=one.expected_s,
        tags=matrix.tags,
    )


def spec_of(file: PlanFile, one: PlannedRun, place: Place, matrix: uuid.UUID, by: str) -> RunSpec:
    """As Benchsite's own, but for the machines: those of the person who runs it, as far as they stated them."""
    catalog = load_catalog()
    database, workload = one.sweep.entry.database, one.sweep.workload
    system = catalog.system(database.system)
    mode = system.mode(one.sweep.entry.mode)
    return {
        "version": SPEC_VERSION,
        "phase": one.phase,
        "purpose": file.purpose,
        "system": system.slug,
        "system_name": system.name,
        "catalog_digest": catalog.digest,
        "database": {
            "id": "",
            "name": database.name,
            "version": database.version,
            "replication_factor": database.replication_factor,
            "settings": dict(database.settings),
            "binding_properties": dict(database.binding_properties),
        },
        "mode": {
            "slug": mode.slug,
            "name": mode.name,
            "record": dict(mode.durability.as_dict()),
            "server_settings": dict(mode.server_settings),
            "client_properties": dict(mode.client_properties),
        },
        "workload": {
            "id": "",
            "name": workload.name,
            "short_name": workload.short_name,
            "properties": one.properties,
        },
        "dataset": {
            "records": one.dataset.records,
            "record_bytes": one.dataset.record_bytes,
            "fingerprint": one.dataset.fingerprint,
        },
        "load": {
            "threads": one.threads,
            "target_ops_s": one.target_ops_s,
            "processes": file.processes_per_generator,
        },
        "window": {
            "warmup_s": file.warmup_s if one.phase == "measure" else 0,
            "min_measure_s": file.min_measure_s,
            "max_measure_s": file.max_measure_s,
            "min_operations": file.min_operations,
        },
        "client": {"flavour": database.flavour, "binding": system.binding.name, "digest": "", "ycsb_version": ""},
        "cluster": {
            "id": "",
            "name": place.name,
            "provisioner": "",
            "machines": [
                _machine(f"{matrix}/{one_id}", number, place) for number, one_id in _numbered(database.machine_ids)
            ],
        },
        "generators": [_generator(matrix, generator.id) for generator in one.generators],
        "load_policy": file.load_policy,
        "resets": dict(file.resets),
        "priming": None,
        "stated": {
            "by": by,
            "files": [],
            "hardware": place.hardware,
            "client_on_database_host": place.client_on_database_host,
        },
    }


def _numbered(ids: tuple[str, ...]) -> list[tuple[int, str]]:
    return list(enumerate(ids, 1))


def _machine(key: str, number: int, place: Place) -> MachineSpec:
    facts: dict[str, object] = {}
    if place.cores:
        facts["cores"] = {"value": place.cores, "how": "stated"}
    if place.memory_gib:
        facts["memory_bytes"] = {"value": round(place.memory_gib * GIB), "how": "stated"}
    return {"id": key, "name": f"node {number}", "facts": facts}


def _generator(matrix: uuid.UUID, role: str) -> GeneratorSpec:
    return {"id": role, "name": role, "machine": {"id": f"{matrix}/{role}", "name": role, "facts": {}}}
