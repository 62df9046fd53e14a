"""Everything that differs between two runs, and what of it may have made their numbers differ.

What the plan of both varies (database, durability mode, workload, commit, load) comes first, as planned; uploaded runs
have no plan, and the load of a ceiling is a result. The rest is in the order of `RULES`, the most likely cause first: a
number that is not to be believed comes before everything that may explain it; then what makes it another test; then
what changes a database's speed most. What points the other way than the numbers do (the side that promises more was
faster) explains nothing, and comes last. What no rule is about ends the list.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from benchsite.core.formatting import THIN
from reports.compare.analysis.comparability import NO_MIX
from reports.compare.analysis.differences import PLANNED
from reports.compare.analysis.run_sides import (
    HOTTEST_PERCENT,
    HOTTEST_TEN,
    OF_THE_PROMISE,
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

# What a plan varies, by title; the load among the runs of its sweeps.
PLAN_AXES: Final = frozenset(label.capitalize() for label in PLANNED)
PLAN_LOADS: Final = frozenset({"Threads", "Target", "Client groups"})
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
OPERATING_SYSTEM: Final = frozenset({"kernel", "os"})
LEFTOVERS: Final = "Also different"  # what no rule is about
IMPLIED: Final = frozenset({"data set over memory"})  # by lines that differ too


@dataclass(frozen=True, slots=True)
class Step:
    """A measured pair that differs in one planned thing alone, as A and B do."""

    before: str
    after: str
    times: str  # what `after` did of `before`
    at: str = ""  # the load of both, where ceilings are not compared: "16 threads"


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
    is_planned: bool = False  # the plan of both varies it
    steps: Sequence[Step] = ()  # its effect, where it was measured


class RunPair:
    """The two sides with their settings and machines beside each other."""

    def __init__(self, a: RunSide, b: RunSide) -> None:
        self.a, self.b = a, b
        self.groups = groups(a, b)
        self.machines = machine_pairs(a, b)

    def differing(self, title: str) -> list[Line]:
        return list(chain.from_iterable(group.differing for group in self.groups if group.title == title))

    def line(self, title: str, label: str) -> Line | None:
        return next((line for line in self.differing(title) if line.label == label), None)

    def find_lines(self, title: str, *labels: str) -> list[Line]:
        return [line for label in labels if (line := self.line(title, label))]

    @property
    def lines(self) -> list[Line]:
        """Every line that differs; of machines together those facts that they do not share."""
        lines = chain.from_iterable(group.differing for group in self.groups)
        return [*lines, *_differing_facts(self, "node"), *_differing_facts(self, "load generator")]


def causes(
    sides: RunPair,
    change: float | None,
    steps: Mapping[str, Sequence[Step]] | None = None,
    *,
    at_ceilings: bool = False,
) -> list[Cause]:
    """The planned ones first, then the most likely.

    `change` is B's throughput over A's, minus 1; None where it is not known. `steps` are measured effects, by title.
    `at_ceilings` where each run stands for the ceiling of its sweep.
    """
    planned = _list_planned(sides, at_ceilings=at_ceilings)
    unjudged = list(chain.from_iterable(rule(sides) for rule in RULES))
    covered = set(chain.from_iterable(cause.lines for cause in unjudged))
    way = 0
    if change:
        way = int(math.copysign(1, change))
    measured = steps or {}
    judged = [
        replace(
            cause,
            against=bool(cause.favours and way and cause.favours != way),
            is_planned=cause.title in planned,
            steps=measured.get(cause.title, ()),
        )
        for cause in unjudged
    ]
    leftovers = _named(LEFTOVERS, [line for line in sides.lines if line not in covered and line.label not in IMPLIED])
    return [*sorted(judged, key=lambda cause: (not cause.is_planned, cause.against)), *leftovers]


def _list_planned(sides: RunPair, *, at_ceilings: bool) -> frozenset[str]:
    """The titles of what the plan of both sides varies between them; none of sides without a common plan."""
    if sides.a.run.matrix is None or sides.a.run.matrix != sides.b.run.matrix:
        return frozenset()
    if at_ceilings:
        return PLAN_AXES
    return PLAN_AXES | PLAN_LOADS


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
    yield from _named("Another phase", sides.find_lines(title, "phase"))
    # Sizes are said by a rule of their own; a name alone does no work.
    properties = {*sides.a.spec["workload"]["properties"], *sides.b.spec["workload"]["properties"]} - NO_MIX
    lines = [line for line in sides.differing(title) if line.label in properties]
    name = sides.line(title, "workload")
    if name:
        yield Cause("Workload", [name, *lines])
    else:
        yield from _named("Another workload", lines)
    yield from _named("Hottest keys", sides.find_lines(title, HOTTEST_PERCENT, HOTTEST_TEN))


def _load(sides: RunPair) -> Iterator[Cause]:
    for line in sides.differing("Load"):
        yield Cause(line.label.capitalize(), [line])


def _database(sides: RunPair) -> Iterator[Cause]:
    yield from _named("Database", sides.find_lines("Database", "database", "system"))
    yield from _named("Commit", sides.find_lines("Database", "commit"))


def _durability(sides: RunPair) -> Iterator[Cause]:
    title = "Durability mode"
    modes = sides.a.facts.mode, sides.b.facts.mode
    line = sides.line(title, "mode")
    if modes[0] is None or modes[1] is None:
        if line:
            yield Cause(title, [line])
        return
    x, y = waits_for(modes[0]), waits_for(modes[1])
    if x == y and not line:
        return
    favours = 0
    lines = [line] if line else []
    if not same_class(*modes):
        # Where the classes differ, the settings of the mode are what makes them differ.
        lines += [other for other in sides.differing(title) if other is not line]
        keys = [durability_key(side.spec["mode"]["record"]) for side in (sides.a, sides.b)]
        favours = 1 if keys[0] < keys[1] else -1
    yield Cause(title, lines, a=x, b=y, favours=favours)


def _version(sides: RunPair) -> Iterator[Cause]:
    title = "Database"
    if sides.line(title, "system"):
        return
    yield from _named("Version", sides.find_lines(title, "version, as the server says", "version, as stated"))


def _settings(sides: RunPair) -> Iterator[Cause]:
    other_rules = {"system", "database", "version, as stated", "version, as the server says", "commit", "branch"}
    lines = [line for line in sides.differing("Database") if line.label not in other_rules]
    modes = sides.a.facts.mode, sides.b.facts.mode
    if sides.a.facts.system == sides.b.facts.system and same_class(modes[0], modes[1]):
        lines += [line for line in sides.differing("Durability mode") if line.label not in OF_THE_PROMISE]
    yield from _named("Settings", lines)


def _hardware(sides: RunPair) -> Iterator[Cause]:
    x, y = (side.facts.cluster.nodes for side in (sides.a, sides.b))
    if x and y and x != y:
        yield Cause("Number of nodes", a=x, b=y, favours=1 if y > x else -1)
    yield from _of_machines(sides, "node", "Hardware")


def _of_machines(sides: RunPair, role: str, title: str) -> Iterator[Cause]:
    differing = _differing_facts(sides, role)
    hardware = [line for line in differing if line.label in HARDWARE]
    yield from _named(title, hardware, favours=_more(hardware))
    yield from _named(f"{title}: operating system", [line for line in differing if line.label in OPERATING_SYSTEM])


def _differing_facts(sides: RunPair, role: str) -> list[Line]:
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
    return differing


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
    lines = sides.find_lines("Workload and data set", "records", "bytes of a record")
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
    _rejected, _failures, _database, _durability, _workload, _load, _version, _settings, _hardware, _data, _clients,
    _steadiness, _window, _time,
)  # fmt: skip
