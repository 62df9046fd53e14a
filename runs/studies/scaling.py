"""A study's scenario fitted to a machine by a stated rule, every change as a sentence."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from benchsite.core.formatting import exact, grouped, times
from runs.studies.templates import Scenario, StudyTemplate, StudyWorkload
from runs.ycsb.properties import dataset

Scale = float | Literal["small"]
SCALES: Final[Mapping[str, Scale]] = {"full": 1.0, "small": "small"}

# The rule of "small". The data set takes a sixteenth of a node's memory at most, and loads in seconds.
SHARE_OF_MEMORY: Final = 1 / 16
STORAGE_FACTOR: Final = 1.6  # keys, indexes and logs beside the field values
MAX_RECORDS: Final = 100_000
# What a core does with its client beside it: Redis under workload A did 28,000 to 37,000 ops/s on two.
OPS_S_PER_CORE: Final = 12_000
THREADS_PER_CORE: Final = 16
MAX_RUNGS: Final = 8
WINDOW: Final = 1 / 30  # of the study's seconds, within the limits below
WARMUP_S: Final = (2, 10)
MEASURE_S: Final = (10, 60)
GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Machine:
    """The smallest machine that is to run it, as far as it is known, and how many load generators drive it."""

    cores: int = 2
    memory_bytes: int = 4 * GIB
    clients: int = 1


@dataclass(frozen=True, slots=True)
class Scaled:
    """A scenario as it is to be run, and what was changed about it; no changes at full scale."""

    template: StudyTemplate
    study: Scenario  # as the study ran it
    scenario: Scenario  # as it is run here
    scale: str
    changes: tuple[str, ...]


def scaled(template: StudyTemplate, scale: Scale, scenario: str = "", machine: Machine | None = None) -> Scaled:
    """The scenario (the first one by default) at that scale. Raises UnknownScenario, ValueError for a scale below 0.

    A factor multiplies records and rungs and leaves the window. "small" fits the records to the memory, the rungs to
    the cores and the window to minutes; of a long ladder it takes eight rungs.
    """
    chosen = template.scenario(scenario)
    if scale == 1:
        return Scaled(template, chosen, chosen, "full", ())
    if scale == "small":
        fitted = _small(chosen, machine or Machine())
        return Scaled(template, chosen, fitted, "small", _changes(chosen, fitted))
    if not scale > 0:
        raise ValueError(f"The scale is {scale}; write a number above 0.")
    rungs = _unique(max(1, round(rung * scale)) for rung in chosen.rungs)
    fitted = replace(chosen, workloads=_with_records(chosen, scale), rungs=rungs)
    return Scaled(template, chosen, fitted, exact(scale), _changes(chosen, fitted))


def _small(scenario: Scenario, machine: Machine) -> Scenario:
    cores = max(1, machine.cores)
    most_threads = THREADS_PER_CORE * cores
    targets = scenario.ladder == "target"
    thinned = _thinned(scenario.rungs)
    top = scenario.rungs[-1]
    factor = _round_factor(OPS_S_PER_CORE * cores / top) if targets else min(1.0, most_threads / top)
    least = 1 if targets else max(1, machine.clients)  # Every client needs a thread.
    return replace(
        scenario,
        workloads=_with_records(scenario, _record_factor(scenario, machine)),
        rungs=_unique(max(least, round(rung * factor)) for rung in thinned),
        threads=max(min(scenario.threads, most_threads), machine.clients) if scenario.threads else None,
        clients=max(1, machine.clients),
        warmup_s=_within(scenario.warmup_s, WARMUP_S),
        measure_s=_within(scenario.measure_s, MEASURE_S),
        repeats=1,
        purpose="demo",
    )


def _record_factor(scenario: Scenario, machine: Machine) -> float:
    bytes_each = max(dataset(w.properties).record_bytes for w in scenario.workloads) * STORAGE_FACTOR
    fits = machine.memory_bytes * SHARE_OF_MEMORY / bytes_each
    return min(1.0, MAX_RECORDS / scenario.records, fits / scenario.records)


def _with_records(scenario: Scenario, factor: float) -> tuple[StudyWorkload, ...]:
    return tuple(
        replace(w, properties={**w.properties, "recordcount": str(max(1, _two_digits(w.records * factor)))})
        for w in scenario.workloads
    )


def _two_digits(value: float) -> int:
    """Down to two significant digits, so that a limit stays kept."""
    step = int(10 ** max(0, math.floor(math.log10(max(value, 1))) - 1))
    return int(value + 1e-6) // step * step


def _round_factor(factor: float) -> float:
    """Down to 1, 2 or 5 times a power of ten; never above 1."""
    if factor >= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(factor))
    return max(step * power for step in (1, 2, 5) if step * power <= factor * (1 + 1e-9))


def _thinned(rungs: tuple[int, ...]) -> tuple[int, ...]:
    """At most eight of them, evenly over the list, the first and the last among them."""
    if len(rungs) <= MAX_RUNGS:
        return rungs
    return tuple(rungs[round(i * (len(rungs) - 1) / (MAX_RUNGS - 1))] for i in range(MAX_RUNGS))


def _unique(rungs: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(rungs)))


def _within(seconds: int, limits: tuple[int, int]) -> int:
    return min(limits[1], max(limits[0], round(seconds * WINDOW)))


def _changes(study: Scenario, here: Scenario) -> tuple[str, ...]:
    unit = "ops/s" if study.ladder == "target" else "threads"
    sentence = (
        (f"records {grouped(study.records)} → {grouped(here.records)}", study.records != here.records),
        (
            f"rungs: {len(study.rungs)} up to {grouped(study.rungs[-1])} {unit} → {len(here.rungs)} up to "
            f"{grouped(here.rungs[-1])} {unit} ({times(here.rungs[-1] / study.rungs[-1])})",
            study.rungs != here.rungs,
        ),
        (f"threads {study.threads} → {here.threads}", study.threads != here.threads),
        (
            f"window {grouped(study.warmup_s)} + {grouped(study.measure_s)} s → {here.warmup_s} + {here.measure_s} s",
            (study.warmup_s, study.measure_s) != (here.warmup_s, here.measure_s),
        ),
        (f"repeats {study.repeats} → {here.repeats}", study.repeats != here.repeats),
        (f"purpose {study.purpose} → {here.purpose}", study.purpose != here.purpose),
    )
    return tuple(text for text, changed in sentence if changed)
