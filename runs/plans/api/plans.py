"""A plan as programs write it: names or ids of rows, which become a draft of a matrix."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Final, TypeVar

from pydantic import ConfigDict, Field

from benchsite.accounts.models import Scope, Team
from benchsite.accounts.tokens import Bearer
from benchsite.rest.authentication import require_scope
from benchsite.rest.problems import Fault
from benchsite.rest.schemas import RequestSchema, Word
from runs.builds import has_own_builds
from runs.catalog import UnknownName, load_catalog
from runs.identifiers import parse_uuid
from runs.models import Database, LoadGenerator, Workload
from runs.plans import Problem
from runs.plans.drafts import Draft, draft_matrix
from runs.plans.forms.matrices import database_choice, generators_for, select_entries
from runs.plans.forms.rows import MAX_EXCLUSIONS, MAX_OVERRIDES, Exclusion, Override
from runs.plans.messages import TEAM_HAS_NONE
from runs.plans.plan import rungs_problem
from runs.plans.plan_spec import Count, PlanRequest

# What a plan over REST calls the columns of a matrix.
NAMES: Final = {
    "tags": "labels",
    "resets": "between_rungs",
    "min_measure_s": "measure_s",
}
OFFERED: Final = 8


class PlanEntry(RequestSchema):
    """One database in one durability mode: a row of the matrix."""

    database: Word = Field(description="Its name or id.")
    mode: Word = Field(description="The slug of a mode of the catalog, or of an own mode of the database.")


class PlanExclusion(RequestSchema):
    """What is left out: wherever everything agrees that is named here."""

    database: Word | None = Field(None, description="With `mode`.")
    mode: Word | None = None
    workload: Word | None = None
    rung: Count | None = None
    reason: Word = Field(description="Shown wherever its result would stand.", min_length=1)


class PlanOverride(RequestSchema):
    """Another value of a workload's property or of min_operations, wherever everything agrees that is named here."""

    database: Word | None = None
    workload: Word | None = None
    property: Word = Field(description="Of workloads, such as recordcount; or min_operations.")
    value: Word


class MatrixPlan(PlanRequest):
    """Databases x durability modes x workloads x load ladder x repeats, minus exclusions plus overrides."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly",
                    "entries": [{"database": "Redis", "mode": "always"}],
                    "workloads": ["A: update heavy, 10,000 records"],
                    "rungs": [2, 8, 32],
                    "repeats": 3,
                    "warmup_s": 10,
                    "measure_s": 60,
                }
            ]
        },
    )

    entries: list[PlanEntry] = Field(max_length=500)
    workloads: Annotated[list[Word], Field(max_length=100)] = Field(description="Names or ids.")
    load_generators: Annotated[list[Word], Field(max_length=500)] | None = Field(
        default=None, description="Names or ids; left out: all that the team may use."
    )
    exclusions: list[PlanExclusion] = Field(default=[], max_length=MAX_EXCLUSIONS)
    overrides: list[PlanOverride] = Field(default=[], max_length=MAX_OVERRIDES)


Named = Database | Workload | LoadGenerator
N = TypeVar("N", Workload, LoadGenerator)


class Names:
    """Finds the team's rows by name or id, and gathers what is not there."""

    def __init__(self, team: Team) -> None:
        self.faults: list[Fault] = []
        self.databases = list(Database.objects.select_related("cluster").prefetch_related("cluster__nodes__machine"))
        self.workloads = list(Workload.objects.all())
        self.generators = list(generators_for(team).select_related("machine"))

    def refuse(self, pointer: str, detail: str, code: str) -> None:
        self.faults.append({"pointer": pointer, "detail": detail, "code": code})

    def find_key(self, rows: Sequence[Named], name: str | None, kind: str, pointer: str) -> str:
        """The key of the row that is meant; empty where there is none, or none is meant."""
        if name is None:
            return ""
        for row in rows:
            if name in (row.name, str(row.pk)) or parse_uuid(name) == row.pk:
                return str(row.pk)
        offered = ", ".join(f"“{row.name}”" for row in rows[:OFFERED]) + (", …" if len(rows) > OFFERED else "")
        remedy = f"There are: {offered}." if rows else TEAM_HAS_NONE.format(kind=kind)
        self.refuse(pointer, f"There is no {kind} “{name[:80]}”. {remedy}", "unknown")
        return ""

    def select(self, rows: Sequence[N], names: Sequence[str], kind: str, pointer: str) -> list[N]:
        """The rows that are named, in their own order."""
        keys = {self.find_key(rows, name, kind, f"{pointer}/{at}") for at, name in enumerate(names)}
        return [row for row in rows if str(row.pk) in keys]

    def read_entry(self, sent: PlanEntry, pointer: str) -> str:
        """“database:mode”, as the builder names an entry."""
        key = self.find_key(self.databases, sent.database, "database", f"{pointer}/database")
        for database in self.databases:
            if str(database.pk) == key:
                try:
                    load_catalog().system(database.system, database.flavour, database.own_modes).mode(sent.mode)
                except UnknownName as error:
                    self.refuse(f"{pointer}/mode", str(error), "unknown")
        return f"{key}:{sent.mode}"

    def read_exclusion(self, sent: PlanExclusion, pointer: str) -> Exclusion:
        """As a row of the builder."""
        database = self.find_key(self.databases, sent.database or None, "database", f"{pointer}/database")
        workload = self.find_key(self.workloads, sent.workload or None, "workload", f"{pointer}/workload")
        entry = ""
        if sent.database or sent.mode:
            entry = f"{database}:{sent.mode or ''}"
        return Exclusion(entry, workload, str(sent.rung or ""), sent.reason.strip())

    def read_override(self, sent: PlanOverride, pointer: str) -> Override:
        """As a row of the builder."""
        database = self.find_key(self.databases, sent.database or None, "database", f"{pointer}/database")
        workload = self.find_key(self.workloads, sent.workload or None, "workload", f"{pointer}/workload")
        row = Override(database, workload, sent.property, sent.value)
        keys = [str(entry.pk) for entry in (*self.databases, *self.workloads)]
        if not self.faults and (problem := row.find_problem(keys, keys)):
            self.refuse(pointer, problem, "override")
        return row

    def check_exclusions(self, rows: Sequence[Exclusion]) -> None:
        modes = chain.from_iterable(database_choice(database).modes for database in self.databases)
        values = {mode.value for mode in modes}
        workloads = {str(workload.pk) for workload in self.workloads}
        for at, row in enumerate(rows):
            if problem := row.find_problem(values, workloads, needs_reason=True):
                self.refuse(f"#/exclusions/{at}", problem, "exclusion")


def read_draft(plan: MatrixPlan, team: Team) -> tuple[Draft | None, list[Fault]]:
    """The matrix that the plan describes, not saved; None and what is wrong where it cannot be meant."""
    names = Names(team)
    entries = [names.read_entry(entry, f"#/entries/{at}") for at, entry in enumerate(plan.entries)]
    workloads = names.select(names.workloads, plan.workloads, "workload", "#/workloads")
    generators = names.generators
    if plan.load_generators is not None:
        generators = names.select(generators, plan.load_generators, "load generator", "#/load_generators")
    exclusions = [names.read_exclusion(row, f"#/exclusions/{at}") for at, row in enumerate(plan.exclusions)]
    overrides = [names.read_override(row, f"#/overrides/{at}") for at, row in enumerate(plan.overrides)]
    if plan.is_probed and plan.rungs and "rungs" in plan.model_fields_set:
        detail = "A search over targets begins at a probe without a target and uses no rungs: leave them out."
        names.refuse("#/rungs", detail, "search")
    elif problem := rungs_problem(plan.rungs, plan.ladder, searches=plan.search is not None):
        names.refuse("#/rungs", problem, "invalid")

    if not names.faults:
        names.check_exclusions(exclusions)
    if names.faults:
        return None, names.faults

    draft = draft_matrix(
        team,
        plan,
        entries=select_entries(names.databases, entries),
        workloads=workloads,
        generators=generators,
        exclusions=[row.rule for row in exclusions],
        overrides=[row.rule for row in overrides],
    )
    return draft, []


def require_build_scope(bearer: Bearer, builds: Sequence[Mapping[str, Any]]) -> None:
    """Raises Problem where servers of own builds would be started for a token that may not."""
    if has_own_builds(builds):
        require_scope(bearer, [Scope.BUILDS_RUN])


def list_faults(problems: Iterable[Problem]) -> list[Fault]:
    """What keeps a plan from being run, or will reject its runs, as errors of the request."""
    return [
        {"pointer": f"#/{NAMES.get(problem.field, problem.field)}", "detail": problem.message, "code": problem.code}
        for problem in problems
    ]
