"""What may have made two runs differ, the most likely first: rules in a stated order.

The order is that of `RULES`. A number that is not to be believed comes before everything that may explain it; then what
makes it another test; then what changes a database's speed most, the promise of its writes first. What points the
other way than the numbers do (the side that promises more was faster) explains nothing, and comes last.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from benchsite.core.formatting import THIN
from reports.compare.analysis.comparability import NO_MIX
from reports.compare.analysis.run_sides import (
    HOTTEST_PERCENT,
    HOTTEST_TEN,
    OF_THE_PROMISE,
    Group,
    Line,
    RunSide,
    groups,
    machine_pairs,
)
from reports.compare.curves import durability_key
from runs.catalog.durability import same_class
from runs.checks import CheckResult
from runs.checks.facts import parse_number
from runs.checks.pairs import waits_for

BUSY: Final = 0.80  # of a load generator's CPU, as V03 has it
FAILED: Final = 0.001  # of the operations, as V07 has it
# Facts of a machine of which more is faster.
MORE_IS_FASTER: Final = ("cores", "memory", "nic bits per s")
HARDWARE: Final = frozenset(
    {
        "cores", "cores usable", "cores physical", "cpu model", "memory", "disk", "disk file system", "disk device",
        "nic bits per s", "virtualised", "instance type", "architecture", "cache", "swap", "transparent huge pages",
        "burstable",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule that holds, with what it is made of; `why/cause.txt` words it by its title."""

    title: str
    lines: Sequence[Line] = ()
    side: str = ""  # "A" or "B", where it speaks of one of them
    a: object = None
    b: object = None
    finding: CheckResult | None = None
    favours: int = 0  # 1 where it should make B faster, -1 where A, 0 where nobody can say
    against: bool = False  # the numbers point the other way


@dataclass(frozen=True, slots=True)
class RunPair:
    """The two sides with their settings and machines beside each other."""

    a: RunSide
    b: RunSide
    groups: tuple[Group, ...]
    machines: tuple[Group, ...]
    at_ceilings: bool = False  # each at the ceiling of its ladder, wherever on it that is

    def differing(self, title: str) -> list[Line]:
        return list(chain.from_iterable(group.differing for group in self.groups if group.title == title))

    def line(self, title: str, label: str) -> Line | None:
        return next((line for line in self.differing(title) if line.label == label), None)


def run_pair(a: RunSide, b: RunSide, *, at_ceilings: bool = False) -> RunPair:
    return RunPair(a, b, tuple(groups(a, b)), tuple(machine_pairs(a, b)), at_ceilings)


def causes(sides: RunPair, change: float | None) -> list[Cause]:
    """The most likely first. `change` is B's throughput over A's, minus 1; None where it is not known."""
    unjudged = list(chain.from_iterable(rule(sides) for rule in RULES))
    way = 0
    if change:
        way = int(math.copysign(1, change))
    judged = [replace(cause, against=bool(cause.favours and way and cause.favours != way)) for cause in unjudged]
    return sorted(judged, key=lambda cause: cause.against)


def _named(title: str, lines: Sequence[Line], *, favours: int = 0) -> Iterator[Cause]:
    """A cause of the lines that differ, if any does."""
    if lines:
        yield Cause(title, lines, favours=favours)


def _rejected(sides: RunPair) -> Iterator[Cause]:
    for name, side in (("A", sides.a), ("B", sides.b)):
        if side.point is None:
            yield Cause("A missing number", side=name)
        rejection = next((finding for finding in side.findings if finding.severity == "reject"), None)
        if rejection:
            yield Cause("A number that is not to be believed", side=name, finding=rejection)


def _failures(sides: RunPair) -> Iterator[Cause]:
    x, y = (side.point.error_ratio if side.point else None for side in (sides.a, sides.b))
    if x is not None and y is not None and abs(x - y) > FAILED:
        yield Cause("Failed operations", side="A" if x > y else "B", a=x, b=y)


def _workload(sides: RunPair) -> Iterator[Cause]:
    title = "Workload and data set"
    if line := sides.line(title, "phase"):
        yield Cause("Another phase", [line])
    # Sizes are said by a rule of their own; a name alone does no work.
    properties = {*sides.a.spec["workload"]["properties"], *sides.b.spec["workload"]["properties"]} - NO_MIX
    yield from _named("Another workload", [line for line in sides.differing(title) if line.label in properties])
    hottest = (sides.line(title, label) for label in (HOTTEST_PERCENT, HOTTEST_TEN))
    yield from _named("Hottest keys", [line for line in hottest if line])


def _load(sides: RunPair) -> Iterator[Cause]:
    # Where ceilings are compared, another rung is no other test.
    lines = [line for line in sides.differing("Load") if not (sides.at_ceilings and line.label == "threads")]
    yield from _named("Another load", lines)


def _durability(sides: RunPair) -> Iterator[Cause]:
    modes = sides.a.facts.mode, sides.b.facts.mode
    if modes[0] is None or modes[1] is None:
        if line := sides.line("Durability mode", "mode"):
            yield Cause("Durability mode", [line])
        return
    x, y = waits_for(modes[0]), waits_for(modes[1])
    if x != y:
        keys = [durability_key(side.spec["mode"]["record"]) for side in (sides.a, sides.b)]
        yield Cause("Durability class", a=x, b=y, favours=1 if keys[0] < keys[1] else -1)


def _version(sides: RunPair) -> Iterator[Cause]:
    title = "Database"
    if line := sides.line(title, "system"):
        yield Cause("Another system", [line])
        return
    line = sides.line(title, "version, as the server says") or sides.line(title, "version, as stated")
    if line:
        yield Cause("Version", [line])
    if line := sides.line(title, "commit"):
        yield Cause("Commit", [line])


def _settings(sides: RunPair) -> Iterator[Cause]:
    other_rules = {"system", "database", "version, as stated", "version, as the server says", "commit", "branch"}
    lines = [line for line in sides.differing("Database") if line.label not in other_rules]
    modes = sides.a.facts.mode, sides.b.facts.mode
    if sides.a.facts.system == sides.b.facts.system and same_class(modes[0], modes[1]):
        # Where the classes differ, the settings of the mode are what makes them differ.
        lines += [line for line in sides.differing("Durability mode") if line.label not in OF_THE_PROMISE]
    yield from _named("Settings", lines)


def _hardware(sides: RunPair) -> Iterator[Cause]:
    x, y = (side.facts.cluster.nodes for side in (sides.a, sides.b))
    if x and y and x != y:
        yield Cause("Number of nodes", a=x, b=y, favours=1 if y > x else -1)
    yield from _of_machines(sides, "node", "Hardware")


def _of_machines(sides: RunPair, role: str, title: str) -> Iterator[Cause]:
    """Facts that all machines of the role together do not share: two nodes that changed places differ in nothing."""
    facts: dict[str, list[Line]] = {}
    for pair in sides.machines:
        for line in pair.lines if pair.title == role else ():
            facts.setdefault(line.label, []).append(line)

    differing = []
    for name, lines in facts.items():
        left, right = sorted(line.a or "" for line in lines), sorted(line.b or "" for line in lines)
        if left != right and any(line.differs for line in lines):
            differing.append(Line(name, _all(left), _all(right)))

    hardware = [line for line in differing if line.label in HARDWARE]
    yield from _named(title, hardware, favours=_more(hardware))
    yield from _named(f"{title}: operating system", [line for line in differing if line.label in ("kernel", "os")])


def _all(values: Iterable[str]) -> str:
    """Each value once."""
    return ", ".join(value or "not known" for value in dict.fromkeys(values))


def _more(lines: Sequence[Line]) -> int:
    """Which side has more of what counts, where all of it says the same."""
    ways = set()
    for line in lines:
        if line.label in MORE_IS_FASTER and line.a and line.b:
            x, y = (parse_number(text.split(THIN)[0]) for text in (line.a, line.b))
            same_unit = line.a.split(THIN)[1:] == line.b.split(THIN)[1:]
            if x is not None and y is not None and x != y and same_unit:
                ways.add(1 if y > x else -1)
    if len(ways) != 1:
        return 0
    return ways.pop()


def _data(sides: RunPair) -> Iterator[Cause]:
    x, y = sides.a.facts.memory_ratio, sides.b.facts.memory_ratio
    sizes = (sides.line("Workload and data set", label) for label in ("records", "bytes of a record"))
    lines = [line for line in sizes if line]
    if x is not None and y is not None and abs(x - y) > 0.05 * max(x, y):
        yield Cause("Data set against memory", lines, a=x, b=y, favours=1 if y < x else -1)
    else:
        yield from _named("Size of the data set", lines)


def _clients(sides: RunPair) -> Iterator[Cause]:
    busy = [side.point.generator_cpu if side.point else None for side in (sides.a, sides.b)]
    saturated = [share is not None and share > BUSY for share in busy]
    if saturated[0] != saturated[1]:
        name, share = ("A", busy[0]) if saturated[0] else ("B", busy[1])
        yield Cause("A busy load generator", side=name, a=share, favours=1 if saturated[0] else -1)
    yield from _named("Clients", sides.differing("Clients"))
    yield from _of_machines(sides, "load generator", "The load generators' machines")


def _steadiness(sides: RunPair) -> Iterator[Cause]:
    """Findings about the course of one run that the other does not have."""
    for check_id in ("V11", "V12", "V13", "V10", "V18"):
        findings = [side.finding(check_id) for side in (sides.a, sides.b)]
        bad = [finding if finding and finding.severity in ("warn", "reject") else None for finding in findings]
        if (worse := bad[0] or bad[1]) and not (bad[0] and bad[1]):
            yield Cause(worse.title, side="A" if bad[0] else "B", finding=worse)
    titles = ("data before it", "priming", *sides.a.spec["resets"], *sides.b.spec["resets"])
    lines = [line for line in sides.differing("Window and preparation") if line.label in titles]
    yield from _named("What came before", lines)


def _window(sides: RunPair) -> Iterator[Cause]:
    names = ("warm-up asked", "at least measured", "at most measured", "cut off as warm-up", "window")
    yield from _named("Window", [line for line in sides.differing("Window and preparation") if line.label in names])


def _time(sides: RunPair) -> Iterator[Cause]:
    if sides.a.run.is_bracket != sides.b.run.is_bracket:
        yield Cause("Drift", side="A" if sides.a.run.is_bracket else "B")
    elif sides.a.run.started_at and sides.b.run.started_at:
        days = abs(sides.a.run.started_at - sides.b.run.started_at).days
        if days:
            yield Cause("Time", a=days)


RULES: Final[tuple[Callable[[RunPair], Iterator[Cause]], ...]] = (
    _rejected, _failures, _workload, _load, _durability, _version, _settings, _hardware, _data, _clients, _steadiness,
    _window, _time,
)  # fmt: skip
