"""Two more rungs of a sweep that was measured elsewhere: the builder begins with them."""

from collections.abc import Sequence
from typing import Any, Final

from django.db.models import Max

from runs.catalog import System, load_catalog
from runs.models import Database, Matrix, Provisioner, Run, Sweep, Workload
from runs.plans.extension import ExtensionRefused, next_rungs
from runs.plans.forms.proposed_workloads import match_workloads
from runs.plans.messages import MODE_WAITS_FOR_COPIES, NO_CLIENT, NO_DATABASE, NO_DATABASE_WITH_CLIENT
from runs.uploads.metadata import checked

MAX_REPEATS: Final = 50


class Extension:
    """The next rungs of a sweep with what a team has to run them on."""

    def __init__(self, sweep: Sweep, databases: Sequence[Database], workloads: Sequence[Workload]) -> None:
        self.sweep = sweep
        self.last: Run | None = None
        self.rungs: tuple[int, ...] = ()
        self.kept: list[Workload] = []
        self.proposed: list[Workload] = []
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
        elif stated := [d for d in databases if d.system == system.slug and self.sweep.mode in d.own_modes]:
            self.databases = stated
        elif self.sweep.mode not in system.modes:
            self.missing.append("Its durability mode is not known: choose one.")
        else:
            self.databases, reason = databases_for(system.slug, self.sweep.mode, databases)
            if reason:
                self.missing.append(f"{reason[0].upper()}{reason[1:]}.")

    def _choose_workload(self, run: Run, workloads: Sequence[Workload]) -> None:
        stated = run.spec["workload"]
        properties = checked(stated)
        if properties is None:
            self.missing.append("Its workload is not fully stated: choose one with the same mix and records.")
            return
        workload = Workload(
            name=stated["name"], short_name=stated["short_name"] or "W", properties=properties,
            notes=f"As “{self.sweep.name}” states it.",
        )  # fmt: skip
        self.kept, self.proposed = match_workloads(self.sweep.team, [workload], workloads)

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
        stated = {
            "warmup_s": window["warmup_s"],
            "min_measure_s": measured_s,
            "threads": threads,
        }
        repeats = self.sweep.runs.aggregate(most=Max("repeat"))["most"]

        return {
            "name": f"{self.sweep.name}: two more rungs"[:120],
            "purpose": self.sweep.purpose,
            "entries": [f"{database.pk}:{self.sweep.mode}" for database in self.databases],
            "workloads": [str(workload.pk) for workload in (*self.kept, *self.proposed)],
            "ladder": self.sweep.ladder,
            "rungs": list(self.rungs),
            "repeats": min(repeats, MAX_REPEATS),
            "tags": self.sweep.tags,
            "settle_s": window.get("settle_s", 0),
            **{name: value for name, value in stated.items() if value},
        }


def databases_for(slug: str, mode_slug: str, databases: Sequence[Database]) -> tuple[list[Database], str]:
    """The databases that can run a system of the catalog in a mode, or why none can."""
    system = load_catalog().system(slug)
    mode = system.mode(mode_slug)
    if not system.has_client:
        return [], NO_CLIENT.format(system=system.name)

    described = [database for database in databases if (own := _system(database)) and own.slug == system.slug]
    if not described:
        return [], NO_DATABASE.format(system=system.name)
    if not any(_runnable(database) for database in described):
        return [], NO_DATABASE_WITH_CLIENT.format(system=system.name)

    able = [database for database in described if _runnable(database) and database.has_copies_for(mode)]
    if not able:
        return [], MODE_WAITS_FOR_COPIES.format(mode=mode.slug, copies=mode.replicas_needed)

    return able, ""


def _system(database: Database) -> System | None:
    return load_catalog().get(database.system, database.flavour)


def _runnable(database: Database) -> bool:
    system = _system(database)
    external = database.cluster.provisioner == Provisioner.EXTERNAL
    return system is not None and not system.client_problem(database.flavour, database.client, external=external)
