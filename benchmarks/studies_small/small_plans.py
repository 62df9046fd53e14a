"""A study's plan file made small: a file for `POST /api/v1/apply`, and how it deviates from the study. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.studies_small.stand_ins import SmallStudy, StandIn
from benchsite.core.formatting import counted, duration, grouped
from runs.catalog import UNCHECKED
from runs.plans.files.plan import PlanDatabase, PlanFile
from runs.plans.plan_spec import PlanRequest, PlanSpec
from runs.plans.sizes import PER_NODE
from runs.plans.studies import studies
from runs.ycsb.properties import INSERT_RETRIES, WARM_UP

CLUSTER: Final = "Studies made small"
MIN_RECORDS: Final = 1_000
NOT_RUN: Final = "not run"
DEFAULT: Final = "as Benchsite has it"
RECORDS: Final = "recordcount"
# The command that empties page caches is its operator's.
RUNG_RESET: Final = "keep"
PREFIXES: Final = {study.slug: study.facts[0].id.partition("-")[0] for study in studies()}
# Clients prepare themselves, unmeasured: the study's ran for minutes before.
PRESTART_MS: Final = 1_000
# A machine that does everything at once lets some inserts of a load time out.
MAX_INSERT_RETRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that the study has otherwise."""

    subject: str
    study: str
    here: str


@dataclass(frozen=True, slots=True)
class SmallPlan:
    """`file`: a plan file of version 3 as plain values, without entries where no server of the study has a stand-in."""

    file: dict[str, Any]
    deviations: tuple[Deviation, ...]


def shrink(slug: str, plan: PlanFile, small: SmallStudy, *, machine: str, missing: Collection[str]) -> SmallPlan:
    """The plan on this machine. `missing` are systems that it cannot start."""
    stand_ins = {
        (entry.database, entry.mode): _find_stand_in(small, plan.databases[entry.database].name, entry.mode, missing)
        for entry in plan.entries
    }
    workloads: dict[str, dict[str, Any]] = {
        role: {
            "short_name": workload.short_name,
            "properties": {
                **workload.properties,
                RECORDS: str(_count_records(workload.properties, small)),
                WARM_UP: str(PRESTART_MS),
                INSERT_RETRIES: str(MAX_INSERT_RETRIES),
            },
        }
        for role, workload in plan.workloads.items()
    }
    # As short as figures want them, and no other workload's.
    names = {role: f"{PREFIXES[slug]} {workload.short_name}" for role, workload in plan.workloads.items()}
    used = {stand_in.name: (role, stand_in) for (role, _), stand_in in stand_ins.items() if stand_in}
    studied = {name: getattr(plan.matrix, name) for name in PlanSpec.model_fields}
    columns = {**studied, **_shrink_columns(slug, studied, small)}
    matrix: dict[str, Any] = {
        **{PlanRequest.model_fields[name].alias or name: value for name, value in columns.items() if value is not None},
        "between_rungs": RUNG_RESET,
        "between_workloads": plan.matrix.resets.get("workload", RUNG_RESET),
        "entries": [{"database": s.name, "mode": s.mode} for s in stand_ins.values() if s],
        "workloads": list(names.values()),
        "exclusions": list(_translate_exclusions(plan, stand_ins, names)),
    }
    if small.records_per_node:
        matrix["records_rule"] = PER_NODE
    file = {
        "format": "benchsite-plan",
        "version": 3,
        "clusters": {CLUSTER: {"provisioner": "process", "nodes": [{"machine": machine}]}},
        "databases": {
            name: _describe_database(plan.databases[role], stand_in) for name, (role, stand_in) in used.items()
        },
        "workloads": {names[role]: workload for role, workload in workloads.items()},
        "matrix": matrix,
    }
    deviations = (
        *_list_servers(plan, stand_ins),
        *_list_workloads(plan, {role: workload["properties"] for role, workload in workloads.items()}),
        *_list_records_rules(plan, small),
        *_list_columns(studied, columns),
        *_list_machines(plan),
    )
    return SmallPlan(file, deviations)


def _shrink_columns(slug: str, studied: Mapping[str, Any], small: SmallStudy) -> dict[str, Any]:
    """The columns of the plan that differ from the study's, by their names."""
    return {
        "name": f"{slug}, small",
        "purpose": "demo",
        "rungs": list(small.rungs),
        "threads": small.threads or studied["threads"],
        "repeats": small.repeats,
        # Sweep by sweep: otherwise the servers would be started anew for each run.
        "order": "as_listed",
        "processes_per_generator": 1,
        "generator_counts": [],
        "warmup_s": small.warmup_s,
        "priming_s": small.priming_s,
        "min_measure_s": small.measure_s,
        "min_operations": 0,
        "load_threads": 8,
    }


def _find_stand_in(small: SmallStudy, database: str, mode: str, missing: Collection[str]) -> StandIn | None:
    for (name, slug), stand_in in small.stand_ins.items():
        if database.startswith(name) and slug == mode:
            return None if stand_in is None or stand_in.system in missing else stand_in
    return None


def _count_records(properties: dict[str, str], small: SmallStudy) -> int:
    return max(int(properties[RECORDS]) // small.records_divisor, MIN_RECORDS)


def _describe_database(studied: PlanDatabase, stand_in: StandIn) -> dict[str, Any]:
    described: dict[str, Any] = {
        "system": stand_in.system,
        "cluster": CLUSTER,
        "replication_factor": stand_in.replication_factor,
        "settings": {**stand_in.settings},
        "binding_properties": _list_client_properties(studied, stand_in),
    }
    if stand_in.nodes > 1:
        described["settings"]["nodes"] = stand_in.nodes
    return described


def _list_client_properties(studied: PlanDatabase, stand_in: StandIn) -> dict[str, str]:
    """The study's: a client of another system has no such properties."""
    if stand_in.system == studied.system:
        return studied.binding_properties
    return {}


StandIns = dict[tuple[str, str], StandIn | None]


def _translate_exclusions(plan: PlanFile, stand_ins: StandIns, names: dict[str, str]) -> Iterator[dict[str, str]]:
    """Exclusions of the study by the names here."""
    for exclusion in plan.exclusions:
        stand_in = stand_ins.get((exclusion.match.database or "", exclusion.match.mode or ""))
        if stand_in and exclusion.match.workload:
            yield {
                "database": stand_in.name,
                "mode": stand_in.mode,
                "workload": names[exclusion.match.workload],
                "reason": exclusion.reason,
            }


def _list_servers(plan: PlanFile, stand_ins: StandIns) -> Iterator[Deviation]:
    for (role, mode), stand_in in stand_ins.items():
        database = plan.databases[role]
        nodes = len(plan.clusters[database.cluster].nodes)
        study = f"{database.name}, {mode}, {counted(nodes, 'machine')}, copies: {database.replication_factor}"
        yield Deviation("server", study, f"{stand_in.name}, {stand_in.mode}" if stand_in else NOT_RUN)

    pairs = [(plan.databases[role], stand_in) for (role, _), stand_in in stand_ins.items() if stand_in]
    options = [
        (database.system, part, *_find_differences(studied, here))
        for database, stand_in in pairs
        for part, studied, here in (
            ("settings", database.settings, stand_in.settings),
            ("client", database.binding_properties, _list_client_properties(database, stand_in)),
        )
    ]
    for system, part, study, here in dict.fromkeys(options):
        if study or here:
            yield Deviation(f"{part}, {system}", study, here)


def _find_differences(studied: Mapping[str, str], here: Mapping[str, str]) -> tuple[str, str]:
    """What either sets otherwise than the other, both as text."""
    names = sorted(name for name in {**studied, **here} if studied.get(name) != here.get(name))
    if not names:
        return "", ""
    return _write_options(studied, names), _write_options(here, names)


def _write_options(options: Mapping[str, str], names: Collection[str]) -> str:
    written = [f"{name.removeprefix(UNCHECKED)}={options[name]}" for name in names if name in options]
    return ", ".join(written) or DEFAULT


def _list_workloads(plan: PlanFile, here: Mapping[str, Mapping[str, str]]) -> Iterator[Deviation]:
    alike: dict[tuple[str, str], list[str]] = {}
    for role, workload in plan.workloads.items():
        records, fewer = int(workload.properties[RECORDS]), int(here[role][RECORDS])
        study = f"{workload.name}; {grouped(records)} records"
        yield Deviation(f"workload {workload.short_name}", study, f"{grouped(fewer)} records")
        others = {name: value for name, value in here[role].items() if name != RECORDS}
        rest = {name: value for name, value in workload.properties.items() if name != RECORDS}
        alike.setdefault(_find_differences(rest, others), []).append(workload.short_name)
    for (study, small), short_names in alike.items():
        if study or small:
            yield Deviation(f"properties of {', '.join(short_names)}", study, small)


def _list_records_rules(plan: PlanFile, small: SmallStudy) -> Iterator[Deviation]:
    here = DEFAULT
    if small.records_per_node:
        here = "records grow with the nodes"
    for override in plan.overrides:
        database = plan.databases[str(override.match.database)].name
        yield Deviation(f"override, {database}", _write(override.set.model_dump(exclude_none=True)), here)


def _list_columns(studied: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Deviation]:
    """Every column of the plan that differs, but for its name."""
    for name in studied:
        if name != "name" and studied[name] != here[name]:
            write: Callable[[Any], str] = duration if name.endswith("_s") else _write
            yield Deviation(name_column(name), write(studied[name]), write(here[name]))


def name_column(name: str) -> str:
    """The subject of a column's deviation: "min measure"."""
    return name.removesuffix("_s").replace("_", " ")


def _list_machines(plan: PlanFile) -> Iterator[Deviation]:
    yield Deviation("load generators", str(len(plan.generators)), "1, on the servers' machine")
    if (reset := plan.matrix.resets.get("rung", RUNG_RESET)) != RUNG_RESET:
        yield Deviation("between rungs", _write(reset), RUNG_RESET)


def _write(value: Any) -> str:
    match value:
        case list():
            return _list_numbers(value) or "none"
        case dict():
            return ", ".join(f"{name}={_write(part)}" for name, part in value.items())
        case bool():
            return "yes" if value else "no"
        case int():
            return grouped(value)
    return str(value).replace("_", " ")


def _list_numbers(numbers: Collection[int]) -> str:
    return ", ".join(grouped(number) for number in numbers)


def render_notes(comments: Collection[str], deviations: Collection[Deviation]) -> str:
    """Markdown: what differs from the study, and what its plan file says of it."""
    rows = [f"| {row.subject} | {row.study} | {row.here} |" for row in deviations]
    lines = [
        "Everything is smaller than in the study, and other servers stand in: compare shapes, not numbers.",
        "",
        "| | study | here |",
        "|---|---|---|",
        *rows,
        "",
        *(f"- {comment}" for comment in comments),
    ]
    return "\n".join(lines)


def read_comments(text: str) -> list[str]:
    """The lines of a study's plan file that say what it cannot express."""
    lines = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]
    return [line for line in lines[1:] if line]
