"""A plan as programs write it: JSON that becomes the matrix builder's own form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from django.http import QueryDict
from pydantic import ConfigDict, Field

from benchsite.accounts.models import Team
from benchsite.rest.problems import Fault
from benchsite.rest.schemas import RequestSchema, Text, Word
from runs.catalog import load_catalog
from runs.catalog.records import UnknownName
from runs.identifiers import parse_uuid
from runs.models import Database, LoadGenerator, Workload
from runs.plans import Problem
from runs.plans.forms.matrices import MatrixForm, generators_for

# What the builder calls its fields, where a plan has another name.
NAMES: Final = {
    "tags": "labels",
    "reset_rung": "between_rungs",
    "min_measure_s": "measure_s",
    "max_measure_s": "measure_s",
}
NUMBERS: Final = ("rungs", "looks")  # fields with several numbers
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
    rung: int | None = Field(None, ge=1, le=2_147_483_647)
    reason: Word = Field(description="Shown wherever its result would stand.", min_length=1)


class PlanFault(RequestSchema):
    """A fault of every measured run, applied to servers that Benchsite starts as processes."""

    kind: Literal["pause", "crash", "restart", "cpu_throttle", "slow_disk", "network_cut"]
    at_s: float = Field(ge=0, le=604_800, description="From the begin of the measured window.")
    duration_s: float = Field(
        ge=0, le=604_800, description="Of a crash or restart: how long the server is down before it starts again."
    )
    node: int | None = Field(None, ge=1, le=1000, description="Of the servers, from 1; null: all.")
    value: float | None = Field(
        None, ge=0, le=1e6, description="`cpu_throttle`: % of a core; `slow_disk`: ms that each fsync takes."
    )


class PlanSlo(RequestSchema):
    """A limit of latency that every trial of the search has to keep."""

    operation: Literal["READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE"]
    statistic: Literal["p50", "p95", "p99", "p999"] = "p99"
    kind: Literal["service", "response"] = Field("service", description="`response` needs a ladder of targets.")
    limit_us: float = Field(ge=1, le=1e9)


class PlanSearch(RequestSchema):
    """The ceiling is searched for: each load follows from the results so far."""

    width: float = Field(0.05, ge=0.001, le=1, description="high / low - 1 of a bracket that is narrow enough.")
    max_trials: int | None = Field(
        None, ge=2, le=50, description="Of each sweep. Null: 8 of targets, 14 of threads or with `slo`."
    )
    max_error_rate: float = Field(0.001, ge=0, le=1, description="Failed of all operations.")
    slo: PlanSlo | None = None
    curve_percent: list[int] = Field(
        [], max_length=60, description="Of targets: loads in % of the ceiling that are measured afterwards."
    )


class MatrixPlan(RequestSchema):
    """Databases x durability modes x workloads x load ladder x repeats, minus exclusions."""

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

    name: Word = Field("", description="Left empty, it is made from what is chosen.")
    purpose: Literal["smoke", "demo", "tuning", "measured", "soak"] = "measured"
    entries: list[PlanEntry] = Field(max_length=500)
    workloads: list[Word] = Field(description="Names or ids.", max_length=100)
    load_generators: list[Word] | None = Field(
        None, description="Names or ids; left out: all that the team may use.", max_length=500
    )
    processes_per_generator: int = Field(1, ge=1, le=64)
    ladder: Literal["threads", "target"] = Field("threads", description="What a rung is: threads, or ops/s offered.")
    rungs: list[int] = Field([2, 4, 8, 16, 32, 64], max_length=60)
    search: PlanSearch | None = Field(
        None,
        description="Instead of fixed rungs. Of threads it begins at the lowest rung; of targets at a probe: then "
        "`rungs` is left out.",
    )
    stops_early: bool = Field(True, description="Of fixed rungs: skip those that follow two beyond saturation.")
    threads: int | None = Field(None, ge=1, le=100_000, description="Of a ladder of targets: on every rung.")
    repeats: int = Field(3, ge=1, le=50)
    looks: list[int] = Field(
        [],
        max_length=5,
        description="Numbers of repeats after which verdicts are taken, such as 3, 5, 9; `repeats` is one of them. "
        "They share the error of 5 %. Empty: one verdict.",
    )
    order: Literal["as_listed", "interleaved", "randomised"] = Field(
        "interleaved", description="Fixes the analysis: blocked for interleaved and randomised repeats, else Welch's t."
    )
    bracket: bool = Field(False, description="The first cell once more at the end, to see drift.")
    seed: int = Field(1, ge=1, le=2_147_483_647)
    warmup_s: int = Field(60, ge=0, le=86_400)
    measure_s: int = Field(180, ge=1, le=604_800)
    load_policy: Literal["load", "existing"] = "load"
    load_threads: int = Field(8, ge=1, le=10_000)
    between_rungs: Literal["keep", "restart", "reload"] = "keep"
    priority: int = Field(0, ge=-100, le=100)
    records_rule: Literal["", "per_node"] = Field("", description="`per_node`: records grow with the cluster's nodes.")
    labels: list[Word] = Field([], max_length=20, description="Every run gets them.")
    notes: Text = ""
    exclusions: list[PlanExclusion] = Field([], max_length=200)
    faults: list[PlanFault] = Field(
        [], max_length=20, description="No ceiling, comparison or history uses runs with faults."
    )


Named = Database | Workload | LoadGenerator


class Names:
    """Finds the team's rows by name or id, and gathers what is not there."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def key(self, rows: Sequence[Named], name: str, kind: str, pointer: str) -> str:
        """The key of the row that is meant; empty where there is none."""
        named = [row for row in rows if name in (row.name, str(row.pk)) or parse_uuid(name) == row.pk]
        if named:
            return str(named[0].pk)
        there = ", ".join(f"“{row.name}”" for row in rows[:OFFERED]) + (", …" if len(rows) > OFFERED else "")
        detail = f"There is no {kind} “{name[:80]}”. " + (
            f"There are: {there}." if there else f"Your team has no {kind}."
        )
        self.faults.append({"pointer": pointer, "detail": detail, "code": "unknown"})
        return ""

    def entry(self, databases: Sequence[Database], sent: PlanEntry, pointer: str) -> str:
        """“database:mode”, as the builder names an entry."""
        key = self.key(databases, sent.database, "database", f"{pointer}/database")
        for database in databases:
            if str(database.pk) == key:
                try:
                    load_catalog().system(database.system, database.flavour, database.own_modes).mode(sent.mode)
                except UnknownName as error:
                    self.faults.append({"pointer": f"{pointer}/mode", "detail": str(error), "code": "unknown"})
        return f"{key}:{sent.mode}"


def build_form(plan: MatrixPlan, team: Team) -> tuple[MatrixForm | None, list[Fault]]:
    """The builder's form with this plan in it, checked; None and what is wrong where it cannot be meant."""
    names = Names()
    sent = _as_sent(plan, team, names)
    if plan.search and plan.ladder == "target" and plan.rungs and "rungs" in plan.model_fields_set:
        detail = "A search over targets begins at a probe without a target and uses no rungs: leave them out."
        names.faults.append({"pointer": "#/rungs", "detail": detail, "code": "search"})
    if names.faults:
        return None, names.faults
    form = MatrixForm(sent, team=team, final=True)
    return (form, []) if form.is_valid() else (None, list(_faults(form)))


def _as_sent(plan: MatrixPlan, team: Team, names: Names) -> QueryDict:
    """What the builder's page would send."""
    databases, workloads = list(Database.objects.all()), list(Workload.objects.all())
    generators = list(generators_for(team))
    sent = QueryDict(mutable=True)
    for field, value in plan.model_dump(
        exclude={
            "entries",
            "workloads",
            "load_generators",
            "exclusions",
            "labels",
            "between_rungs",
            "bracket",
            "search",
            "stops_early",
            "faults",
            *NUMBERS,
        }
    ).items():
        sent[field] = "" if value is None else str(value)
    sent["tags"], sent["reset_rung"] = ", ".join(plan.labels), plan.between_rungs
    sent.update({name: ", ".join(map(str, getattr(plan, name))) for name in NUMBERS})
    for name in ("bracket", "stops_early"):
        if getattr(plan, name):
            sent[name] = "on"
    if plan.search is not None:
        sent.update(_search_as_sent(plan.search))
    sent.setlist("entries", [names.entry(databases, entry, f"#/entries/{at}") for at, entry in enumerate(plan.entries)])
    sent.setlist("workloads", _keys(names, workloads, plan.workloads, "workload", "#/workloads"))
    chosen = [str(generator.pk) for generator in generators]
    if plan.load_generators is not None:
        chosen = _keys(names, generators, plan.load_generators, "load generator", "#/load_generators")
    sent.setlist("load_generators", chosen)
    there: dict[str, Sequence[Named]] = {"database": databases, "workload": workloads}
    for at, row in enumerate(plan.exclusions):
        _exclude(sent, row, names, there, f"#/exclusions/{at}")
    for fault in plan.faults:
        for name, value in fault.model_dump().items():
            sent.appendlist(f"fault_{name}", "" if value is None else str(value))
    return sent


def _search_as_sent(search: PlanSearch) -> dict[str, str]:
    sent = {
        "searches": "on",
        "search_width": str(100 * search.width),
        "max_error_percent": str(100 * search.max_error_rate),
        "max_trials": str(search.max_trials or ""),
        "curve_percent": ", ".join(map(str, search.curve_percent)),
    }
    if slo := search.slo:
        sent |= {"slo_operation": slo.operation, "slo_statistic": slo.statistic, "slo_kind": slo.kind}
        sent["slo_limit_ms"] = str(slo.limit_us / 1000)
    return sent


def _keys(names: Names, rows: Sequence[Named], sent: Iterable[str], kind: str, pointer: str) -> list[str]:
    return [names.key(rows, name, kind, f"{pointer}/{at}") for at, name in enumerate(sent)]


def _exclude(
    sent: QueryDict, row: PlanExclusion, names: Names, there: Mapping[str, Sequence[Named]], pointer: str
) -> None:
    def key(name: str | None, kind: str) -> str:
        return names.key(there[kind], name, kind, f"{pointer}/{kind}") if name else ""

    database = key(row.database, "database")
    sent.appendlist("exclude_entry", f"{database}:{row.mode or ''}" if row.database or row.mode else "")
    sent.appendlist("exclude_workload", key(row.workload, "workload"))
    sent.appendlist("exclude_rung", str(row.rung or ""))
    sent.appendlist("exclude_reason", row.reason)


def _faults(form: MatrixForm) -> Iterable[Fault]:
    for field, errors in form.errors.get_json_data().items():
        for error in errors if field != "__all__" else []:
            yield {
                "pointer": f"#/{NAMES.get(field, field)}",
                "detail": str(error["message"]),
                "code": str(error["code"]),
            }
    for at, row in enumerate(form.exclusions):
        if row.error:
            yield {"pointer": f"#/exclusions/{at}", "detail": row.error, "code": "exclusion"}


def list_faults(problems: Iterable[Problem]) -> list[Fault]:
    """What keeps a plan from being run, as errors of the request."""
    return [
        {"pointer": f"#/{NAMES.get(problem.field, problem.field)}", "detail": problem.message, "code": "plan"}
        for problem in problems
    ]
