"""May two sides be compared? What a comparison declares to be about may differ between them, and nothing else.

The axes and what each implies:

| axis | may differ with it |
|---|---|
| mode | the durability mode, its settings, what a write waits for, how many copies there are |
| database | the system, its version, settings and YCSB binding, and its mode while it promises the same |
| nodes | the number of nodes, the records where they grow by the same factor, how the data set fits in memory |
| version | the version of one system, and the name of the database where it says the version |
| data | the number of records and their size, how they fit in memory |
| generators | the number of clients, and where they run |
| groups | the client groups beside the ladder |

What nobody knows stops nothing, and is said.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

from pydantic import ConfigDict, Field

from benchsite.core.formatting import exact
from reports.compare.curves import Curve, collect_measured
from reports.compare.messages import NOT_KNOWN_OF_BOTH, NUMBER_OF_NODES, NUMBER_OF_RECORDS, SIZE_OF_RECORD
from runs.checks import CheckResult
from runs.ycsb.properties import WORKLOAD_PROPERTIES

VARIES: Final = ("mode", "database", "nodes", "version", "data", "generators", "groups")
# How far the records of two clusters may be from growing with their nodes.
SCALED_WITHIN: Final = 0.01
DATA_PROPERTIES: Final = frozenset(
    {"recordcount", "fieldcount", "fieldlength", "minfieldlength", "fieldlengthdistribution", "insertstart"}
)
# What says how long and how it is measured, and is judged elsewhere or not at all.
NO_MIX: Final = DATA_PROPERTIES | {"operationcount", "insertcount", "maxexecutiontime", "threadcount", "target"}
# What a check of pairs says differs -> the axes that imply it; what is not here is implied by none.
OF_PAIRS: Final[Mapping[str, tuple[str, ...]]] = {
    "memory_fit": ("nodes", "data"),
    "hit_ratio": ("nodes", "data", "groups"),
    "durability": ("mode",),
    "version": ("version", "database"),
    "placement": ("generators",),
}


def required_fields(schema: dict[str, Any]) -> None:
    """Every field of an answer is required: a default is none for those who read it."""
    schema["required"] = list(schema["properties"])
    for field_schema in schema["properties"].values():
        field_schema.pop("default", None)


@dataclass(frozen=True, slots=True)
class DiffersAnswer:
    field: Annotated[str, Field(description="What differs, in a word: `hardware`, `workload`, `threads`, `mode` ...")]
    detail: str


@dataclass(frozen=True, slots=True)
class EnvironmentAnswer:
    """Whether both sides were measured under the same conditions."""

    __pydantic_config__ = ConfigDict(json_schema_extra=required_fields)

    comparable: bool = True
    differs: tuple[DiffersAnswer, ...] = ()
    ignored: Annotated[
        tuple[str, ...], Field(description="What differs and is what a verdict is about, such as the version.")
    ] = ()
    unknown: Annotated[tuple[str, ...], Field(description="What is not stated. It stops nothing.")] = ()

    @property
    def stops(self) -> tuple[str, ...]:
        """The sentences of what differs."""
        return tuple(difference.detail for difference in self.differs)


class _Differs(NamedTuple):
    field: str
    detail: str
    axes: tuple[str, ...] = ()  # each of them implies it


def gate(
    a: Curve, b: Curve, findings: Sequence[CheckResult], varying: Collection[str], *, declared: bool = True
) -> EnvironmentAnswer:
    """Judge what differs between two sweeps by what the comparison is about.

    `findings` are those of `judge_pair` (V17, V18, V20, V24). What varies may be declared by a person, or implied by
    the selection (`implied_axes`); where it is only implied, sides of different databases have to promise the same:
    nobody asked to compare a database that waits for its disk with one that does not.
    """
    differences = [*_of_curves(a, b), *_of_findings(a, b, findings, declared=declared)]
    implied = [difference for difference in differences if not set(varying).isdisjoint(difference.axes)]
    stops = [DiffersAnswer(*difference[:2]) for difference in differences if difference not in implied]
    unknown = _unknown(a, b) + [finding.message for finding in findings if finding.severity == "not_assessed"]
    return EnvironmentAnswer(
        comparable=not stops,
        differs=tuple(stops),
        ignored=tuple(difference.detail for difference in implied),
        unknown=tuple(unknown),
    )


def _of_findings(a: Curve, b: Curve, findings: Sequence[CheckResult], *, declared: bool) -> Iterator[_Differs]:
    """What the checks of pairs say differs, but for what the curves say themselves."""
    said_by_curves = {"number_of_nodes"}
    if a.setup.version and b.setup.version:
        said_by_curves.add("version")
    for finding in findings:
        if finding.severity not in ("warn", "reject"):
            continue
        for field, detail in finding.differing:
            axes = OF_PAIRS.get(field, ())
            if field == "durability" and not declared and a.system != b.system:
                axes = ()
            if field not in said_by_curves:
                yield _Differs(field, detail, axes)


def _of_curves(a: Curve, b: Curve) -> Iterator[_Differs]:
    if a.phase != b.phase:
        yield _Differs("phase", "One side loads its data, the other works on it.")
    if a.publishable != b.publishable:
        purpose = (b if a.publishable else a).purpose
        yield _Differs("purpose", f"One side is a {purpose} run, the other was measured to be compared.")

    yield from _workload(a, b)
    yield from _ladder(a, b)
    # A service time and a response time are different things, so that one kind has to be known of both.
    kinds = [{operation.kind for operation in collect_measured(side.points)} for side in (a, b)]
    if all(kinds) and not kinds[0] & kinds[1]:
        yield _Differs("latency_kind", "One side measured service times only, the other response times only.")
    one_system = a.system == b.system
    versions = (a.setup.version, b.setup.version)
    newer = one_system and all(versions) and versions[0] != versions[1]
    if not one_system or a.database_name != b.database_name:
        axes = ("database", "version") if newer else ("database",)
        yield _Differs("database", f"The databases differ: {a.database_name} and {b.database_name}.", axes)

    if newer:
        yield _Differs("version", f"The versions differ: {versions[0]} and {versions[1]}.", ("version", "database"))
    if one_system and not (a.uploaded or b.uploaded):
        settings = [{**side.setup.server_settings, **side.setup.binding_properties} for side in (a, b)]
        if differing := _differing(*settings):
            yield _Differs("settings", f"The settings differ: {differing}.", ("database",))

    if a.mode != b.mode:
        # Modes of different systems have names of their own; whether they promise the same is V20's to say.
        axes = ("mode",) if one_system else ("mode", "database")
        yield _Differs("mode", f"The durability modes differ: {a.mode} and {b.mode}.", axes)

    yield from _sizes(a, b)
    if a.setup.groups != b.setup.groups:
        names = [", ".join(side.setup.groups) or "none" for side in (a, b)]
        how = "The client groups beside the ladder differ"
        sentence = f"{how}: {names[0]} and {names[1]}."
        if names[0] == names[1]:
            sentence = f"{how} in their load: {names[0]}."
        yield _Differs("groups", sentence, ("groups",))

    if a.setup.clients != b.setup.clients:
        sentence = f"The number of clients differs: {a.setup.clients} and {b.setup.clients}."
        yield _Differs("clients", sentence, ("generators",))


def _workload(a: Curve, b: Curve) -> Iterator[_Differs]:
    """The mix, the distribution and what operations touch; where the properties are not known, the name."""
    if not a.setup.workload_properties or not b.setup.workload_properties:
        if a.workload and b.workload and a.workload != b.workload:
            yield _Differs("workload", f"The workloads differ: {a.workload} and {b.workload}.")
        return
    if a.setup.workload_properties == b.setup.workload_properties:
        return
    if differing := _differing(_mix(a), _mix(b)):
        yield _Differs("workload", f"The workloads differ in {differing}.")


def _mix(curve: Curve) -> dict[str, str]:
    """The effective mix: absent properties have YCSB's defaults, and 0.50 is 0.5."""
    defaults = {name: definition.default or "" for name, definition in WORKLOAD_PROPERTIES.items()}
    stated = {**defaults, **curve.setup.workload_properties}
    return {name: _plain(str(value)) for name, value in stated.items() if name not in NO_MIX}


def _plain(value: str) -> str:
    try:
        return f"{exact(float(value))}"
    except ValueError:
        return value.strip().lower()


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> str:
    """ "requestdistribution (zipfian and uniform), ..."; empty where they are the same."""
    names = [name for name in sorted({*a, *b}) if a.get(name, "") != b.get(name, "")]
    return ", ".join(f"{name} ({a.get(name) or 'not set'} and {b.get(name) or 'not set'})" for name in names)


def _ladder(a: Curve, b: Curve) -> Iterator[_Differs]:
    arrivals = (a.setup.arrivals, b.setup.arrivals)
    if bool(arrivals[0]) != bool(arrivals[1]):
        yield _Differs("load", "On one side operations wait for a free thread, on the other they do not.")
        return

    if arrivals[0] != arrivals[1]:
        yield _Differs("load", f"Operations arrive differently: {arrivals[0]} and {arrivals[1]}.")
    if a.ladder != b.ladder:
        yield _Differs("load", "One side climbs a ladder of threads, the other of target throughputs.")
        return

    # A search chooses its rungs after each side's own ceiling, so they need not meet.
    searched = a.is_searched and b.is_searched
    if not searched and a.rungs and b.rungs and not set(a.rungs) & set(b.rungs):
        unit = "number of threads"
        if a.ladder == "target":
            unit = "target throughput"
        yield _Differs("target" if a.ladder == "target" else "threads", f"The ladders have no {unit} in common.")

    threads = [{point.threads for point in side.points} - {0} for side in (a, b)]  # 0: an upload does not tell
    if a.ladder == "target" and all(threads) and threads[0] != threads[1]:
        offered = [", ".join(map(str, sorted(values))) for values in threads]
        yield _Differs("threads", f"The targets were offered by {offered[0]} and by {offered[1]} threads.")


# Fields of a setup, how they differ, and the axis that implies it.
SIZES: Final = (
    ("nodes", "The number of nodes differs: {} and {}.", "nodes"),
    ("replication_factor", "The number of copies of the data differs: {} and {}.", "mode"),
    ("records", "The number of records differs: {:,} and {:,}.", "data"),
    ("record_bytes", "The size of a record differs: {:,} B and {:,} B.", "data"),
)


def _sizes(a: Curve, b: Curve) -> Iterator[_Differs]:
    for field, sentence, axis in SIZES:
        values = [getattr(side.setup, field) for side in (a, b)]
        if all(values) and values[0] != values[1]:
            grown = field == "records" and scaled_with_nodes(a, b)
            yield _Differs(field, sentence.format(*values), (axis, "nodes") if grown else (axis,))


def scaled_with_nodes(a: Curve, b: Curve) -> bool:
    """Whether the records grew by the same factor as the nodes, within one per cent."""
    if not (a.setup.nodes and b.setup.nodes and a.setup.records and b.setup.records):
        return False
    factor = (a.setup.records / b.setup.records) / (a.setup.nodes / b.setup.nodes)
    return abs(factor - 1) <= SCALED_WITHIN


def _unknown(a: Curve, b: Curve) -> list[str]:
    facts: tuple[tuple[str, tuple[object, object]], ...] = (
        ("the workload's properties", (a.setup.workload_properties, b.setup.workload_properties)),
        (NUMBER_OF_RECORDS, (a.setup.records, b.setup.records)),
        (SIZE_OF_RECORD, (a.setup.record_bytes, b.setup.record_bytes)),
        (NUMBER_OF_NODES, (a.setup.nodes, b.setup.nodes)),
        ("the replication factor", (a.setup.replication_factor, b.setup.replication_factor)),
    )
    missing = [label for label, values in facts if not all(values)]
    if missing:
        return [NOT_KNOWN_OF_BOTH.format(facts=", ".join(missing))]
    return []


def implied_axes(curves: Sequence[Curve]) -> tuple[str, ...]:
    """The axes that a selection compares where nobody declared them, in the order of VARIES.

    Database and mode, as a matrix crosses them, wherever they vary. Each other axis only where it is all that varies
    between two of the sides: then those two were made to be compared along it. So Redis on 4 nodes beside MongoDB on 6
    is about databases, and the nodes stop it; both on 4 and on 6 is about nodes too.
    """
    axes = {"database"} if len({_where(curve)["database"] for curve in curves}) > 1 else set()
    # Modes of different systems have names of their own, so that only those of one system vary.
    if len({_where(curve)["mode"] for curve in curves}) > len({c.system for c in curves}):
        axes |= {"mode"}
    setups = {repr(where): where for curve in curves if (where := _where(curve))}
    for axis in VARIES[2:]:
        seen: dict[str, set[str]] = {}
        for where in setups.values():
            rest = repr({name: value for name, value in where.items() if name not in (axis, *ALONG.get(axis, ()))})
            seen.setdefault(rest, set()).add(repr(where[axis]))
        if any(len(values) > 1 for values in seen.values()):
            axes.add(axis)

    return tuple(axis for axis in VARIES if axis in axes)


# What may go along with an axis: versions have databases of their own, and larger clusters more records.
ALONG: Final[Mapping[str, tuple[str, ...]]] = {"version": ("database",), "nodes": ("data",)}


def _where(curve: Curve) -> dict[str, object]:
    """Where a sweep stands on each axis, and on what is none."""
    setup = curve.setup
    return {
        "mode": (curve.system, curve.mode),
        "database": (curve.system, curve.database_name),
        "nodes": setup.nodes,
        "version": (curve.system, setup.version),
        "data": (setup.records, setup.record_bytes),
        "generators": (setup.clients, setup.client_on_database_host),
        "groups": tuple(setup.groups.items()),
        "rest": (curve.workload, curve.phase, curve.ladder, curve.publishable),
    }
