"""A study's plan file made small: a file for `POST /api/v1/apply`, and how it deviates from the study. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.studies_small.stand_ins import SmallStudy, StandIn
from benchsite.core.formatting import counted, duration, grouped
from runs.catalog import UNCHECKED
from runs.plans.files.plan import PlanFile
from runs.plans.sizes import PER_NODE
from runs.plans.studies import studies
from runs.ycsb.properties import INSERT_RETRIES, WARM_UP

CLUSTER: Final = "Studies made small"
MIN_RECORDS: Final = 1_000
NOT_RUN: Final = "not run"
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
    workloads = {
        role: {
            "short_name": workload.short_name,
            "properties": {
                **workload.properties,
                "recordcount": str(_count_records(workload.properties, small)),
                WARM_UP: str(PRESTART_MS),
                INSERT_RETRIES: str(MAX_INSERT_RETRIES),
            },
        }
        for role, workload in plan.workloads.items()
    }
    # As short as figures want them, and no other workload's.
    names = {role: f"{PREFIXES[slug]} {workload.short_name}" for role, workload in plan.workloads.items()}
    used = {stand_in.name: stand_in for stand_in in stand_ins.values() if stand_in}
    matrix: dict[str, Any] = {
        "name": f"{slug}, small",
        "purpose": "demo",
        "labels": [slug],
        "ladder": plan.matrix.ladder,
        "rungs": list(small.rungs),
        "repeats": small.repeats,
        # Sweep by sweep: otherwise the servers would be started anew for each run.
        "order": "as_listed",
        "stops_early": plan.matrix.stops_early,
        "warmup_s": small.warmup_s,
        "priming_s": small.priming_s,
        "priming_reads": plan.matrix.priming_reads,
        "between_workloads": plan.matrix.resets.get("workload", "keep"),
        "measure_s": small.measure_s,
        "load_threads": 8,
        "entries": [{"database": s.name, "mode": s.mode} for s in stand_ins.values() if s],
        "workloads": list(names.values()),
        "exclusions": list(_translate_exclusions(plan, stand_ins, names)),
    }
    if small.threads:
        matrix["threads"] = small.threads
    if small.records_per_node:
        matrix["records_rule"] = PER_NODE
    file = {
        "format": "benchsite-plan",
        "version": 3,
        "clusters": {CLUSTER: {"provisioner": "process", "nodes": [{"machine": machine}]}},
        "databases": {name: _describe_database(stand_in) for name, stand_in in used.items()},
        "workloads": {names[role]: workload for role, workload in workloads.items()},
        "matrix": matrix,
    }
    return SmallPlan(file, tuple(_list_deviations(plan, small, stand_ins)))


def _find_stand_in(small: SmallStudy, database: str, mode: str, missing: Collection[str]) -> StandIn | None:
    for (name, slug), stand_in in small.stand_ins.items():
        if database.startswith(name) and slug == mode:
            return None if stand_in is None or stand_in.system in missing else stand_in
    return None


def _count_records(properties: dict[str, str], small: SmallStudy) -> int:
    return max(int(properties["recordcount"]) // small.records_divisor, MIN_RECORDS)


def _describe_database(stand_in: StandIn) -> dict[str, Any]:
    described: dict[str, Any] = {
        "system": stand_in.system,
        "cluster": CLUSTER,
        "replication_factor": stand_in.replication_factor,
    }
    if stand_in.nodes > 1:
        described["settings"] = {"nodes": stand_in.nodes}
    return described


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


def _list_deviations(plan: PlanFile, small: SmallStudy, stand_ins: StandIns) -> Iterator[Deviation]:
    for (role, mode), stand_in in stand_ins.items():
        database = plan.databases[role]
        nodes = len(plan.clusters[database.cluster].nodes)
        study = f"{database.name}, {mode}, {counted(nodes, 'machine')}, copies: {database.replication_factor}"
        yield Deviation("server", study, f"{stand_in.name}, {stand_in.mode}" if stand_in else NOT_RUN)
    settings = [(database.system, database.settings) for database in plan.databases.values() if database.settings]
    for system, texts in dict.fromkeys((system, _list_settings(texts)) for system, texts in settings):
        yield Deviation(f"settings, {system}", texts, "Benchsite's own")
    for workload in plan.workloads.values():
        records, fewer = int(workload.properties["recordcount"]), _count_records(workload.properties, small)
        yield Deviation(
            f"workload {workload.short_name}",
            f"{workload.name}; {grouped(records)} records",
            f"{grouped(fewer)} records",
        )
    matrix = plan.matrix
    unit = "threads"
    if matrix.ladder == "target":
        unit = "ops/s"
    yield Deviation(f"ladder, {unit}", _list_numbers(matrix.rungs), _list_numbers(small.rungs))
    if small.threads:
        yield Deviation("threads", grouped(matrix.threads), grouped(small.threads))
    clients = len(plan.generators) * matrix.processes_per_generator
    yield Deviation("clients", f"{clients} on {len(plan.generators)} machines", "on the servers' machine")
    if matrix.priming_s:
        yield Deviation("priming", duration(matrix.priming_s), duration(small.priming_s))
    yield Deviation("warm-up", duration(matrix.warmup_s), duration(small.warmup_s))
    yield Deviation("measured", duration(matrix.min_measure_s), duration(small.measure_s))
    if matrix.min_operations:
        yield Deviation("operations at least", grouped(matrix.min_operations), "no minimum")
    if matrix.repeats != small.repeats:
        yield Deviation("repeats", str(matrix.repeats), str(small.repeats))
    if reset := matrix.resets.get("rung"):
        yield Deviation("between rungs", str(reset).replace("_", " "), "keep")


def _list_settings(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name.removeprefix(UNCHECKED)}={value}" for name, value in settings.items())


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
