"""Two more rungs of a sweep that was measured elsewhere: the builder begins with them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Max
from django.utils.text import capfirst

from runs.catalog import System, load_catalog
from runs.models import Database, Matrix, Provisioner, Run, Sweep, Workload
from runs.plans.extension import ExtensionRefused, next_rungs
from runs.plans.messages import MODE_WAITS_FOR_COPIES, NO_CLIENT, NO_DATABASE, NO_DATABASE_WITH_CLIENT
from runs.uploads.judgement import checked
from runs.ycsb.properties import WORKLOAD_PROPERTIES

MAX_REPEATS: Final = 50
PROPOSED: Final = uuid.UUID("6f3a2f0e-8a0b-5c55-9d5d-3a6c0a1f7b41")  # names the workloads that are not stored yet


class Extension:
    """The next rungs of a sweep with what a team has to run them on."""

    def __init__(self, sweep: Sweep, databases: Sequence[Database], workloads: Sequence[Workload]) -> None:
        self.sweep = sweep
        self.last: Run | None = None
        self.rungs: tuple[int, ...] = ()
        self.workload: Workload | None = None
        self.proposed: list[Workload] = []  # the workload, where the team does not have it
        self.databases: list[Database] = []
        self.missing: list[str] = []  # what a person has to choose or add, and why
        try:
            self.last, self.rungs = next_rungs(sweep)
        except ExtensionRefused as refused:
            self.missing.append(str(refused))
            return

        self._choose_databases(databases)
        self._choose_workload(self.last, workloads)

    def _choose_databases(self, databases: Sequence[Database]) -> None:
        system = load_catalog().get(self.sweep.system)
        if system is None:
            self.missing.append("The catalog does not have its system: choose the database to measure.")
        elif stated := [row for row in databases if row.system == system.slug and self.sweep.mode in row.own_modes]:
            self.databases = stated
        elif self.sweep.mode not in system.modes:
            self.missing.append("Its durability mode is not known: choose one.")
        else:
            self.databases, reason = databases_for(system, self.sweep.mode, databases)
            if reason:
                self.missing.append(f"{capfirst(reason)}.")

    def _choose_workload(self, run: Run, workloads: Sequence[Workload]) -> None:
        """One of the team with the same properties, or one that is stored with the matrix."""
        stated = run.spec["workload"]
        properties = checked(stated)
        if properties is None:
            self.missing.append("Its workload is not fully stated: choose one with the same mix and records.")
            return

        completed = _complete(properties)
        self.workload = next((row for row in workloads if _complete(row.properties) == completed), None)
        if self.workload is None:
            self.workload = Workload(
                pk=uuid.uuid5(PROPOSED, f"{self.sweep.team_id} {sorted(completed.items())}"),
                team=self.sweep.team,
                name=_find_free_name(stated["name"], {row.name for row in workloads}),
                short_name=stated["short_name"] or "W",
                properties=properties,
                notes=f"As “{self.sweep.name}” states it.",
            )
            self.proposed = [self.workload]

    def initial(self) -> dict[str, Any]:
        """The initial values of the builder; fields that the sweep does not state are left as they are."""
        if self.last is None:
            return {}

        window = self.last.spec["window"]
        cut = self.last.measurement_sets.filter(is_current=True).first()
        measured_s = window["min_measure_s"] or round(cut.window_s if cut else 0)
        threads = None
        if self.sweep.ladder == Matrix.Ladder.TARGET:
            threads = self.last.threads
        stated = {"warmup_s": window["warmup_s"], "min_measure_s": measured_s, "threads": threads}
        repeats = self.sweep.runs.aggregate(most=Max("repeat"))["most"]
        workloads = [self.workload] if self.workload else []

        return {
            "name": f"{self.sweep.name}: two more rungs"[:120],
            "purpose": self.sweep.purpose,
            "entries": [f"{database.pk}:{self.sweep.mode}" for database in self.databases],
            "workloads": [str(workload.pk) for workload in workloads],
            "ladder": self.sweep.ladder,
            "rungs": list(self.rungs),
            "repeats": min(repeats, MAX_REPEATS),
            "tags": self.sweep.tags,
            "settle_s": window.get("settle_s", 0),
            **{name: value for name, value in stated.items() if value},
        }


def databases_for(system: System, mode_slug: str, databases: Sequence[Database]) -> tuple[list[Database], str]:
    """The databases that can run a system of the catalog in a mode, or why none can."""
    mode = system.mode(mode_slug)
    if not system.has_client:
        return [], NO_CLIENT.format(system=system.name)

    described = [row for row in databases if row.system == system.slug and _get_system(row)]
    if not described:
        return [], NO_DATABASE.format(system=system.name)
    runnable = [row for row in described if _is_runnable(row)]
    if not runnable:
        return [], NO_DATABASE_WITH_CLIENT.format(system=system.name)
    able = [row for row in runnable if row.has_copies_for(mode)]
    if not able:
        return [], MODE_WAITS_FOR_COPIES.format(mode=mode.slug, copies=mode.replicas_needed)

    return able, ""


def _get_system(database: Database) -> System | None:
    return load_catalog().get(database.system, database.flavour)


def _is_runnable(database: Database) -> bool:
    system = _get_system(database)
    external = database.cluster.provisioner == Provisioner.EXTERNAL
    return system is not None and not system.client_problem(database.flavour, database.client, external=external)


def store_proposed(workload: Workload, matrix: Matrix) -> Workload:
    """Stores a proposed workload; the matrix' rules name it by its new key."""
    stored = Workload.objects.create(
        team=workload.team,
        name=workload.name,
        short_name=workload.short_name,
        properties=workload.properties,
        notes=workload.notes,
    )
    for rule in (*matrix.exclusions, *matrix.overrides):
        if rule["match"].get("workload") == str(workload.pk):
            rule["match"]["workload"] = str(stored.pk)
    return stored


def _complete(properties: Mapping[str, Any]) -> dict[str, str]:
    """The properties with what YCSB takes for those that are missing."""
    defaults = {name: declared.default for name, declared in WORKLOAD_PROPERTIES.items()}
    stated = {name: str(value) for name, value in properties.items()}
    return {name: value for name, value in {**defaults, **stated}.items() if value is not None}


def _find_free_name(name: str, names: set[str]) -> str:
    """The name, or with a number behind it where the team has something else of that name."""
    name, number = name[:76], 2
    free_name = name
    while free_name in names:
        free_name, number = f"{name} {number}", number + 1
    return free_name
