"""What a plan does otherwise than the study it follows, in sentences: driver, versions, data, machines, time, modes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import grouped
from runs.studies.templates import Part, Scenario, StudyTemplate
from runs.ycsb.properties import WORKLOAD_PROPERTIES, dataset

MAX_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class ChosenEntry:
    """One database in one mode of the plan."""

    database: str  # its name
    system: str  # a slug of the catalog
    system_name: str
    version: str
    mode: str
    mode_name: str
    binding: str
    nodes: int
    replication_factor: int

    def plays(self, part: Part) -> bool:
        return (self.system, self.mode) == (part.system, part.mode)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan as far as it can deviate from a study. Threads and targets are totals, seconds are per rung."""

    entries: tuple[ChosenEntry, ...]
    workloads: tuple[tuple[str, Mapping[str, str]], ...]  # name and properties, with the records of the fewest nodes
    ladder: str
    rungs: tuple[int, ...]
    threads: int | None
    clients: int  # load generators
    warmup_s: int
    measure_s: int
    repeats: int
    client: str  # what drives it here: "YCSB 0.17.0 with Benchsite's bindings"


def deviations(template: StudyTemplate, study: Scenario, chosen: Chosen) -> tuple[str, ...]:
    """Every way in which the plan is not the study's, a sentence each; the study's own gaps among them."""
    return tuple(dict.fromkeys([
        *_systems(study, chosen),
        *_data(study, chosen),
        *_load(study, chosen),
        f"Client: {template.client}; here {chosen.client}.",
        f"Machines: {template.hardware}; here those that its runs name.",
        *study.notes,
    ]))  # fmt: skip


def _systems(study: Scenario, chosen: Chosen) -> Iterator[str]:
    standing_in = []
    for entry in chosen.entries:
        parts = [part for part in study.parts if part.runs and entry.plays(part)]
        if not parts:
            standing_in.append(f"{entry.database} ({entry.mode})")
        for part in parts:
            here = f"{entry.system_name} {entry.version or 'of no stated version'}"
            yield f"Server: {part.name}; here {here}."
            yield f"Driver: {part.driver or 'not stated'} for {part.name}; here the {entry.binding} binding of today."
            yield f"Mode: {part.name} ran with {part.says}; here {entry.mode} ({entry.mode_name})."
            if entry.replication_factor != part.replication_factor:
                yield (
                    f"Copies: {part.replication_factor} of {part.name}; here {entry.replication_factor} "
                    f"of {entry.database}."
                )
    if standing_in:
        named = ", ".join(standing_in[:MAX_NAMED])
        more = len(standing_in) - MAX_NAMED
        yield (
            f"Stand-ins: {named}{f' and {more} more' if more > 0 else ''} took no part in the study, "
            "and their numbers answer none of the study's."
        )
    nodes = sorted({entry.nodes for entry in chosen.entries if entry.nodes})
    if nodes and nodes != list(study.nodes):
        yield f"Nodes: {_listed(study.nodes)} in the study; here {_listed(nodes)}."


def _data(study: Scenario, chosen: Chosen) -> Iterator[str]:
    studied = {_mix(w.properties): w for w in study.workloads}
    differing: set[str] = set()
    sentences: dict[str, list[str]] = {}  # sentence -> the workloads it holds for
    for name, properties in chosen.workloads:
        same = studied.get(_mix(properties))
        if same is None:
            yield f"Workload: {name} is none of the study's."
            continue
        differing.add(same.short_name)
        here, there = dataset(properties), dataset(same.properties)
        if here.records != there.records:
            sentence = f"Records: {grouped(there.records)} in the study; here {grouped(here.records)}"
            sentences.setdefault(sentence, []).append(same.short_name)
        if here.record_bytes != there.record_bytes:
            sentence = (
                f"Record size: {grouped(there.record_bytes)} B of values in the study; here "
                f"{grouped(here.record_bytes)} B"
            )
            sentences.setdefault(sentence, []).append(same.short_name)
    yield from (f"{sentence} ({', '.join(names)})." for sentence, names in sentences.items())
    if missing := [w for w in study.workloads if w.short_name not in differing]:
        yield f"Workloads of the study that are not run: {', '.join(f'{w.short_name} ({w.name})' for w in missing)}."


def _load(study: Scenario, chosen: Chosen) -> Iterator[str]:
    if (study.ladder, study.rungs) != (chosen.ladder, chosen.rungs):
        yield f"Ladder: {_ladder(study.ladder, study.rungs)} in the study; here {_ladder(chosen.ladder, chosen.rungs)}."
    if study.threads and chosen.ladder == study.ladder and study.threads != chosen.threads:
        yield f"Threads: {study.threads} in all in the study; here {chosen.threads or 'none yet'}."
    if study.clients != chosen.clients:
        yield f"Client machines: {study.clients} in the study; here {chosen.clients} load generators."
    if (study.warmup_s, study.measure_s) != (chosen.warmup_s, chosen.measure_s):
        yield (
            f"Time: {grouped(study.warmup_s)} s of warm-up and {grouped(study.measure_s)} s measured per rung in the "
            f"study; here {grouped(chosen.warmup_s)} + {grouped(chosen.measure_s)} s."
        )
    if study.repeats != chosen.repeats:
        yield f"Repeats: {study.repeats} in the study; here {chosen.repeats}."


def filled(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with what YCSB takes where nothing is said."""
    defaults = {
        name: declared.default for name, declared in WORKLOAD_PROPERTIES.items() if declared.default is not None
    }
    return {**defaults, **{name: str(value) for name, value in properties.items()}}


def _mix(properties: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What makes a mix the same: all but the size of the data set."""
    size = ("recordcount", "fieldcount", "fieldlength", "fieldnameprefix")
    return tuple(sorted((name, value) for name, value in filled(properties).items() if name not in size))


def _ladder(kind: str, rungs: Sequence[int]) -> str:
    unit = "ops/s as target" if kind == "target" else "threads"
    if len(rungs) == 1:
        return f"one rung of {grouped(rungs[0])} {unit}"
    if not rungs:
        return "none yet"
    return f"{len(rungs)} rungs from {grouped(rungs[0])} to {grouped(rungs[-1])} {unit}"


def _listed(numbers: Iterable[int]) -> str:
    return " / ".join(str(number) for number in numbers)
