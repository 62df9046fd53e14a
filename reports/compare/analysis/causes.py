"""What may have made two runs differ, the most likely first: rules in a stated order, each with the sentence why.

The order is that of `RULES`. A number that is not to be believed comes before everything that may explain it; then what
makes it another test; then what changes a database's speed most, the promise of its writes first. What points the
other way than the numbers do (the side that promises more was faster) explains nothing, and comes last.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import THIN, plain_percent, significant
from reports.compare.analysis.comparability import NO_MIX
from reports.compare.analysis.run_sides import OF_THE_PROMISE, Group, Line, MachinePair, RunSide, groups, machine_pairs
from reports.compare.curves import durability_key
from runs.catalog.durability import same_class
from runs.checks.facts import parse_number
from runs.checks.pairs import memory_ratio, waits_for

BUSY: Final = 0.80  # of a load generator's CPU, as V03 has it
FAILED: Final = 0.001  # of the operations, as V07 has it
MAX_VALUE_LENGTH: Final = 80  # characters of a value in a sentence
MAX_NAMED: Final = 4  # settings that a sentence names; the tables below it name all
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
    """`favours`: 1 where it should make B faster, -1 where A, 0 where nobody can say."""

    title: str
    why: str  # a whole sentence or two
    favours: int = 0
    against: bool = False  # the numbers point the other way


@dataclass(frozen=True, slots=True)
class RunPair:
    """The two sides with their settings and machines beside each other."""

    a: RunSide
    b: RunSide
    groups: tuple[Group, ...]
    machines: tuple[MachinePair, ...]
    at_ceilings: bool = False  # each at the ceiling of its ladder, wherever on it that is

    def differing(self, title: str) -> list[Line]:
        return [line for group in self.groups if group.title == title for line in group.differing]

    def line(self, title: str, label: str) -> Line | None:
        return next((line for line in self.differing(title) if line.label == label), None)


def run_pair(a: RunSide, b: RunSide, *, at_ceilings: bool = False) -> RunPair:
    return RunPair(a, b, tuple(groups(a, b)), tuple(machine_pairs(a, b)), at_ceilings)


def causes(sides: RunPair, change: float | None) -> list[Cause]:
    """The most likely first. `change` is B's throughput over A's, minus 1; None where it is not known."""
    unjudged = [cause for rule in RULES for cause in rule(sides)]
    way = 0 if not change else 1 if change > 0 else -1
    judged = [
        Cause(cause.title, cause.why, cause.favours, against=bool(cause.favours and way and cause.favours != way))
        for cause in unjudged
    ]
    return sorted(judged, key=lambda cause: cause.against)


def _rejected(sides: RunPair) -> Iterator[Cause]:
    for name, side in (("A", sides.a), ("B", sides.b)):
        if side.point is None:
            yield Cause(
                "A missing number", f"{name} has no throughput: it did not end, or nothing could be read of it."
            )
        rejection = next((finding for finding in side.findings if finding.severity == "reject"), None)
        if rejection:
            reason = f"{name} is rejected by {rejection.title} ({rejection.check_id}): {rejection.message}"
            yield Cause("A number that is not to be believed", reason)


def _failures(sides: RunPair) -> Iterator[Cause]:
    shares = [side.point.error_ratio if side.point else None for side in (sides.a, sides.b)]
    if None in shares:
        return
    x, y = (share or 0.0 for share in shares)
    if abs(x - y) > FAILED:
        worse = "A" if x > y else "B"
        yield Cause(
            "Failed operations",
            f"{plain_percent(x)} of A's operations failed and {plain_percent(y)} of B's: a failure costs other time "
            f"than an answer, and the throughput of {worse} counts what succeeded only.",
        )


def _workload(sides: RunPair) -> Iterator[Cause]:
    title = "Workload and data set"
    if line := sides.line(title, "phase"):
        yield Cause("Another phase", f"A is a {line.a} run and B a {line.b} run: they do different work.")
    # Sizes are said by a rule of their own; a name alone does no work.
    properties = {*sides.a.spec["workload"]["properties"], *sides.b.spec["workload"]["properties"]} - NO_MIX
    lines = [line for line in sides.differing(title) if line.label in properties]
    if lines:
        yield Cause("Another workload", f"{_named(lines)}. Each operation costs its own, so this is another test.")


def _load(sides: RunPair) -> Iterator[Cause]:
    # Where ceilings are compared, another rung is no other test.
    lines = [line for line in sides.differing("Load") if not (sides.at_ceilings and line.label == "threads")]
    if lines:
        yield Cause(
            "Another load",
            f"{_named(lines)}. Throughput and latency are points of one curve: at another load another point is read.",
        )


def _durability(sides: RunPair) -> Iterator[Cause]:
    modes = sides.a.facts.mode, sides.b.facts.mode
    if modes[0] is None or modes[1] is None:
        if sides.line("Durability mode", "mode"):
            yield Cause("Durability mode", "The modes have other names, and what one of them promises is not known.")
        return
    x, y = waits_for(modes[0]), waits_for(modes[1])
    if x == y:
        return
    keys = durability_key(sides.a.spec["mode"]["record"]), durability_key(sides.b.spec["mode"]["record"])
    yield Cause(
        "Durability class",
        f"In A a write waits for {x}, in B for {y}. Waiting for a disk or for other copies costs more than anything "
        "else that a database does with a write.",
        favours=1 if keys[0] < keys[1] else -1,
    )


def _version(sides: RunPair) -> Iterator[Cause]:
    title = "Database"
    if line := sides.line(title, "system"):
        yield Cause("Another system", f"A is {line.a} and B is {line.b}.")
        return
    line = sides.line(title, "version, as the server says") or sides.line(title, "version, as stated")
    if line:
        yield Cause("Version", f"A is version {line.a}, B is version {line.b}.")
    if line := sides.line(title, "commit"):
        yield Cause("Commit", f"A measured commit {line.a}, B commit {line.b}.")


def _settings(sides: RunPair) -> Iterator[Cause]:
    other_rules = {"system", "database", "version, as stated", "version, as the server says", "commit", "branch"}
    lines = [line for line in sides.differing("Database") if line.label not in other_rules]
    modes = sides.a.facts.mode, sides.b.facts.mode
    if sides.a.facts.system == sides.b.facts.system and same_class(modes[0], modes[1]):
        # Where the classes differ, the settings of the mode are what makes them differ.
        lines += [line for line in sides.differing("Durability mode") if line.label not in OF_THE_PROMISE]
    if lines:
        yield Cause("Settings", f"{_named(lines)}.")


def _hardware(sides: RunPair) -> Iterator[Cause]:
    nodes = [len(side.spec["cluster"]["machines"]) for side in (sides.a, sides.b)]
    if all(nodes) and nodes[0] != nodes[1]:
        reason = f"A ran on {nodes[0]} and B on {nodes[1]} nodes."
        yield Cause("Number of nodes", reason, favours=1 if nodes[1] > nodes[0] else -1)
    yield from _of_machines(sides, "node", "Hardware", "The database stood on other machines")


def _of_machines(sides: RunPair, role: str, title: str, reason: str) -> Iterator[Cause]:
    """Facts that all machines of the role together do not share: two nodes that changed places differ in nothing."""
    lines = [line for pair in sides.machines if pair.role == role for line in pair.group.lines]
    held: dict[str, list[Line]] = {}
    for line in lines:
        held.setdefault(line.label, []).append(line)
    differing = [
        Line(name, _all(a for a in left), _all(b for b in right))
        for name, same in held.items()
        if any(line.differs for line in same)
        and (left := sorted(line.a or "" for line in same)) != (right := sorted(line.b or "" for line in same))
    ]
    hardware = [line for line in differing if line.label in HARDWARE]
    if hardware:
        yield Cause(title, f"{reason}: {_named(hardware)}.", favours=_more(hardware))
    if software := [line for line in differing if line.label in ("kernel", "os")]:
        yield Cause(f"{title}: operating system", f"{_named(software)}.")


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
    return ways.pop() if len(ways) == 1 else 0


def _data(sides: RunPair) -> Iterator[Cause]:
    ratios = memory_ratio(sides.a.facts), memory_ratio(sides.b.facts)
    title = "Workload and data set"
    lines = [line for label in ("records", "bytes of a record") if (line := sides.line(title, label))]
    sizes = f"{_named(lines)}. " if lines else ""
    if (
        ratios[0] is not None
        and ratios[1] is not None
        and abs(ratios[0] - ratios[1]) > 0.05 * max(ratios[0], ratios[1])
    ):
        yield Cause(
            "Data set against memory",
            f"{sizes}The data set is {significant(ratios[0], 2)} times the nodes' memory in A and "
            f"{significant(ratios[1], 2)} times in B: what does not fit is read from disk.",
            favours=1 if ratios[1] < ratios[0] else -1,
        )
    elif lines:
        yield Cause("Size of the data set", f"{sizes}How it compares with the memory is not known of both sides.")


def _clients(sides: RunPair) -> Iterator[Cause]:
    busy = [side.point.generator_cpu if side.point else None for side in (sides.a, sides.b)]
    saturated = [share is not None and share > BUSY for share in busy]
    if saturated[0] != saturated[1]:
        name, share = ("A", busy[0]) if saturated[0] else ("B", busy[1])
        yield Cause(
            "A busy load generator",
            f"The busiest load generator of {name} used {plain_percent(share or 0.0)} of its cores: it may have been "
            "the limit, and the database not.",
            favours=1 if saturated[0] else -1,
        )
    if lines := sides.differing("Clients"):
        yield Cause("Clients", f"{_named(lines)}.")
    yield from _of_machines(
        sides, "load generator", "The load generators' machines", "The clients ran on other machines"
    )


def _steadiness(sides: RunPair) -> Iterator[Cause]:
    """What one run's own checks say of its course, where the other's do not."""
    for check_id in ("V11", "V12", "V13", "V10", "V18"):
        findings = [side.finding(check_id) for side in (sides.a, sides.b)]
        bad = [finding if finding and finding.severity in ("warn", "reject") else None for finding in findings]
        if (worse := bad[0] or bad[1]) and not (bad[0] and bad[1]):
            yield Cause(worse.title, f"Of {'A' if bad[0] else 'B'} only: {worse.message}")
    titles = ("data before it", "priming run", *sides.a.spec["resets"], *sides.b.spec["resets"])
    lines = [line for line in sides.differing("Window and preparation") if line.label in titles]
    if lines:
        yield Cause("What came before", f"{_named(lines)}. A cold cache and a warm one are different databases.")


def _window(sides: RunPair) -> Iterator[Cause]:
    names = ("warm-up asked", "at least measured", "at most measured", "cut off as warm-up", "window")
    lines = [line for line in sides.differing("Window and preparation") if line.label in names]
    if lines:
        yield Cause("Window", f"{_named(lines)}. A longer one holds more of what happens seldom.")


def _time(sides: RunPair) -> Iterator[Cause]:
    if sides.a.is_bracket != sides.b.is_bracket:
        name = "A" if sides.a.is_bracket else "B"
        reason = f"{name} is the bracket of its matrix, the same test at its end: what changed is the machines' drift."
        yield Cause("Drift", reason)
        return
    if sides.a.started_at and sides.b.started_at:
        apart = abs(sides.a.started_at - sides.b.started_at).days
        if apart >= 1:
            yield Cause(
                "Time", f"They began {apart} day{'' if apart == 1 else 's'} apart: other things ran since then."
            )


RULES: Final[tuple[Callable[[RunPair], Iterator[Cause]], ...]] = (
    _rejected, _failures, _workload, _load, _durability, _version, _settings, _hardware, _data, _clients, _steadiness,
    _window, _time,
)  # fmt: skip


def _named(lines: Sequence[Line]) -> str:
    """ "threads is 8 in A and 16 in B; ..."."""
    shown = []
    for line in lines[:MAX_NAMED]:
        a, b = line.shown(MAX_VALUE_LENGTH)
        shown.append(f"{line.label[:MAX_VALUE_LENGTH]} is {a} in A and {b} in B")
    if len(lines) > MAX_NAMED:
        shown.append(f"and {len(lines) - MAX_NAMED} more")
    text = "; ".join(shown)
    return text[:1].upper() + text[1:]
