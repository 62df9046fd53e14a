"""Two runs beside each other: every recorded setting and fact of both, as lines that differ or not. No rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from operator import attrgetter, itemgetter
from typing import Any, Final, cast

from benchsite.core import formatting
from reports.compare.analysis.differences import SOURCE_SAYS, have_close_key_shares
from reports.compare.curves import Curve, Point
from runs.checks import CheckResult, SideFacts
from runs.checks.facts import fact
from runs.checks.pairs import waits_for
from runs.checks.spec_facts import describe_groups, describe_key_share, get_key_shares
from runs.queue.spec import MachineSpec, RunSpec
from runs.ycsb.redact import is_secret

NOT_SHOWN: Final = "(not shown)"
NOT_KNOWN: Final = "not known"
MAX_VALUE_LENGTH: Final = 200  # characters of a value in a table
MAX_SENTENCE_LENGTH: Final = 80
# Facts that are never the same twice, and say nothing of what a machine is.
PASSING: Final = frozenset({"clock_error_us", "data_disk_free_bytes", "disk_free_bytes", "host", "uptime_s"})
MAX_MACHINES: Final = 16  # of one role that are shown beside each other
HOTTEST_PERCENT: Final = "request share of the hottest 1 % of the keys"
HOTTEST_TEN: Final = "request share of the 10 hottest keys"
YES_OR_NO: Final = {True: "yes", False: "no", None: None}


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs. None and empty: nobody knows."""

    run: Any  # a `runs.models.Run` with its matrix
    facts: SideFacts  # with its name as label
    curve: Curve  # of its sweep, with its own rung alone; what a comparison is judged by
    point: Point | None  # None: nothing was measured
    findings: tuple[CheckResult, ...] = ()
    java: tuple[str, ...] = ()  # versions of its clients
    repeats_ops_s: tuple[float, ...] = ()  # of its rung in its sweep, those that count, itself among them

    @property
    def spec(self) -> RunSpec:
        return cast(RunSpec, self.run.spec)

    def finding(self, check_id: str) -> CheckResult | None:
        return next((finding for finding in self.findings if finding.check_id == check_id), None)


@dataclass(frozen=True, slots=True)
class Line:
    """One setting or fact. None: not known."""

    label: str
    a: str | None
    b: str | None
    passing: bool = field(default=False, kw_only=True)  # it differs by nature

    @property
    def differs(self) -> bool:
        """Where one of the two is not known, nobody can say."""
        return self.a is not None and self.b is not None and self.a != self.b and not self.passing

    @property
    def unknown(self) -> bool:
        return (self.a is None) != (self.b is None)

    @property
    def short(self) -> tuple[str, str]:
        """Both values in a sentence."""
        return self.shown(MAX_SENTENCE_LENGTH)

    def shown(self, longest: int = MAX_VALUE_LENGTH) -> tuple[str, str]:
        """Both values, no longer than that, and with the place where they differ."""
        a, b = (NOT_KNOWN if value is None else value for value in (self.a, self.b))
        first = formatting.first_difference(a, b)
        begin = 0
        if a != b and first >= longest - 2:
            begin = first - longest // 4
        return _cut(a, begin, longest), _cut(b, begin, longest)


def _cut(text: str, begin: int, longest: int) -> str:
    excerpt = text
    if begin:
        excerpt = f"…{text[begin:]}"
    if len(excerpt) <= longest:
        return excerpt
    return f"{excerpt[: longest - 1]}…"


@dataclass(frozen=True, slots=True)
class Group:
    """Lines of one subject. `a` and `b` name the machines that they are about; None: that side has no such machine."""

    title: str
    lines: tuple[Line, ...]
    a: str | None = None
    b: str | None = None

    @property
    def differing(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.differs)

    @property
    def unclear(self) -> tuple[Line, ...]:
        """Known of one side only."""
        return tuple(line for line in self.lines if line.unknown)

    @property
    def alike(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if not line.differs and not line.unknown)


def spec_value(spec: Mapping[str, Any], path: str) -> Any:
    """The value at a path of names with dots between them; None where there is none."""
    value: Any = spec
    for name in path.split("."):
        value = value.get(name) if value else None
    return value


def _spec(path: str, text: Callable[[Any], str] = str) -> Callable[[RunSide], str | None]:
    def read(side: RunSide) -> str | None:
        value = spec_value(side.spec, path)
        if value is None:
            return None
        return text(value)

    return read


def _evidence(part: str, key: str, absent: str | None = None) -> Callable[[RunSide], object]:
    """A value of the own build that was started, or of the container that the server ran in; None where it was none."""

    def read(side: RunSide) -> object:
        evidence = side.run.evidence.get(part)
        if not isinstance(evidence, Mapping):
            return None
        return evidence.get(key) or absent

    return read


def _point(name: str, text: Callable[[float], str]) -> Callable[[RunSide], str | None]:
    def read(side: RunSide) -> str | None:
        value = getattr(side.point, name, None)
        if value is None:
            return None
        return text(value)

    return read


def _waits_for(side: RunSide) -> str | None:
    if not side.facts.mode:
        return None
    return waits_for(side.facts.mode)


def _reads(side: RunSide) -> str | None:
    if not side.facts.mode:
        return None
    return side.facts.mode.reads.replace("_", " ")


def _survives(side: RunSide) -> str | None:
    """Which failures an acknowledged write outlives."""
    survives = side.spec["mode"]["record"].get("survives")
    if not isinstance(survives, Mapping):
        return None
    return ", ".join(str(name).replace("_", " ") for name, does in sorted(survives.items()) if does) or "none of them"


def _memory_ratio(side: RunSide) -> str | None:
    ratio = side.facts.memory_ratio
    if ratio is None:
        return None
    return formatting.significant(ratio, 2)


def _began(side: RunSide) -> str | None:
    if not side.run.started_at:
        return None
    return f"{side.run.started_at:%Y-%m-%d %H:%M} UTC"


_grouped: Final = "{:,}".format
# Everything that was submitted, in the order in which it usually matters: each title with its fields, and the paths of
# settings that are compared by their own names.
GROUPS: Final[Mapping[str, tuple[Mapping[str, Callable[[RunSide], object]], tuple[str, ...]]]] = {
    "Database": (
        {
            "system": _spec("system_name"),
            "database": _spec("database.name"),
            "version, as stated": _spec("database.version"),
            "version, as the server says": lambda side: side.run.evidence.get("server_version"),
            # A tag names other images over time, an id never.
            "image": _evidence("container", "reference"),
            "image, by its id": _evidence("container", "image_id"),
            "container's network": _evidence("container", "network"),
            "container's memory, bytes": _evidence("container", "memory_bytes", "no limit"),
            "container's CPUs": _evidence("container", "cpus", "no limit"),
            "Docker": _evidence("container", "engine"),
            "commit": attrgetter("run.commit"),
            "branch": attrgetter("run.branch"),
            "build": lambda side: _spec("stated.ci_url")(side) or _spec("build.ci_url")(side),
            "own build, by its digest": _evidence("build", "digest"),
            "labels": lambda side: ", ".join(side.run.tags),
            "copies of the data": _spec("database.replication_factor"),
            "provisioner": _spec("cluster.provisioner"),
        },
        ("database.settings", "database.binding_properties"),
    ),
    "Durability mode": (
        {"mode": _spec("mode.slug"), "a write waits for": _waits_for, "reads": _reads, "survives": _survives},
        ("mode.server_settings", "mode.client_properties"),
    ),
    "Workload and data set": (
        {
            "workload": _spec("workload.name"),
            "phase": _spec("phase"),
            "purpose": _spec("purpose"),
            "records": _spec("dataset.records", _grouped),
            "bytes of a record": _spec("dataset.record_bytes", _grouped),
            "data set over memory": _memory_ratio,
            HOTTEST_PERCENT: lambda side: describe_key_share(side.spec, "hottest_percent"),
            HOTTEST_TEN: lambda side: describe_key_share(side.spec, "hottest_ten"),
        },
        ("workload.properties",),
    ),
    "Load": (
        {
            "threads": lambda side: spec_value(side.spec, "load.threads") or None,  # 0: an upload does not tell
            "target": lambda side: _spec("load.target_ops_s", "{:,} ops/s".format)(side) or "as fast as it goes",
            "client groups": lambda side: "; ".join(map(": ".join, describe_groups(side.spec).items())) or "none",
        },
        (),
    ),
    "Clients": (
        {
            "how it was run": lambda side: SOURCE_SAYS.get(side.run.source),
            "YCSB": _spec("client.flavour"),
            "YCSB version": _spec("client.ycsb_version"),
            "binding": _spec("client.binding"),
            "digest of the binding": _spec("client.digest", lambda digest: digest[:16]),
            "Java": lambda side: ", ".join(side.java),
            "client processes": lambda side: max(len(side.spec["generators"]), 1) * side.spec["load"]["processes"],
            "load generators": lambda side: ", ".join(sorted(entry["name"] for entry in side.spec["generators"])),
            "on the database's machine": lambda side: YES_OR_NO[side.facts.client_on_database_host],
            "CPU of the busiest generator": _point("generator_cpu", formatting.percent),
        },
        (),
    ),
    "Window and preparation": (
        {
            "warm-up asked": _spec("window.warmup_s", formatting.duration),
            "longer until steady, at most": _spec("window.settle_s", formatting.duration),
            "at least measured": _spec("window.min_measure_s", formatting.duration),
            "at most measured": _spec("window.max_measure_s", formatting.duration),
            "cut off as warm-up": _point("warmup_s", formatting.duration),
            "window": _point("window_s", formatting.duration),
            "data before it": _spec("load_policy"),
            "priming": _spec("priming", formatting.duration),
            "matrix": lambda side: side.run.matrix and side.run.matrix.name,
            "place in its matrix": lambda side: side.run.position if side.run.matrix else None,
            "began": _began,
        },
        ("resets",),
    ),
}  # fmt: skip
# What a mode promises, as against the settings that make it so.
OF_THE_PROMISE: Final = frozenset(GROUPS["Durability mode"][0])
BY_NATURE: Final = frozenset({"CPU of the busiest generator", "place in its matrix", "began"})  # never the same twice


def groups(a: RunSide, b: RunSide) -> list[Group]:
    """Everything that was submitted; groups without any line are left out."""
    rows = []
    for title, (fields, settings) in GROUPS.items():
        lines = [
            Line(
                label,
                _text(read(a)),
                _text(read(b)),
                passing=label in BY_NATURE or (label in CLOSE and CLOSE[label](a, b)),
            )
            for label, read in fields.items()
        ]
        for path in settings:
            lines += _settings(a, b, path)

        if title == "Durability mode":
            # Another mode is asked for other settings.
            answers = _read_back(a), _read_back(b)
            common = sorted({*answers[0]} & {*answers[1]})
            lines += [_setting(f"{name}, read back", *(answer[name] for answer in answers)) for name in common]

        rows.append(Group(title, tuple(lines)))

    return [group for group in rows if group.lines]


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    return str(value)


def _settings(a: RunSide, b: RunSide, path: str) -> Iterator[Line]:
    """Settings by name. One that a side does not set is "not set", unless nobody knows what that side set."""
    x, y = (spec_value(side.spec, path) for side in (a, b))
    # Of uploaded runs nobody knows what was not set.
    is_complete = x and y if path == "workload.properties" else "stated" not in a.spec and "stated" not in b.spec
    missing = "not set" if is_complete else None
    for name in sorted({*x, *y}):
        yield _setting(name, x.get(name, missing), y.get(name, missing))


def _setting(name: str, a: object, b: object) -> Line:
    values = [None if value is None else str(value) or '""' for value in (a, b)]
    if is_secret(name) and all(values):
        values = [NOT_SHOWN, NOT_SHOWN if values[0] == values[1] else f"{NOT_SHOWN[:-1]}, another)"]
    return Line(name, *values)


def _read_back(side: RunSide) -> Mapping[str, object]:
    """The server's answer after the run, else before it."""
    for when in ("after", "before"):
        answer = side.run.evidence.get(when)
        if isinstance(answer, Mapping) and isinstance(answer.get("found"), Mapping):
            return answer["found"]  # type: ignore[no-any-return]
    return {}


def _have_close_windows(a: RunSide, b: RunSide) -> bool:
    """Two windows of one length are never the same to the millisecond."""
    if not a.point or not b.point:
        return False
    return abs(a.point.window_s - b.point.window_s) <= 0.02 * max(a.point.window_s, b.point.window_s)


def _have_close_key_shares(a: RunSide, b: RunSide) -> bool:
    return have_close_key_shares([get_key_shares(side.spec) for side in (a, b)])


# Values that count as the same, by what they are called.
CLOSE: Final[Mapping[str, Callable[[RunSide, RunSide], bool]]] = {
    "window": _have_close_windows,
    HOTTEST_PERCENT: _have_close_key_shares,
    HOTTEST_TEN: _have_close_key_shares,
}


def machine_pairs(a: RunSide, b: RunSide) -> list[Group]:
    """The nodes of both clusters beside each other in the order of their names, then the load generators' machines."""
    nodes = [side.spec["cluster"]["machines"] for side in (a, b)]
    drivers = [[*map(itemgetter("machine"), side.spec["generators"])] for side in (a, b)]
    pairs = []
    for role, both in (("node", nodes), ("load generator", drivers)):
        for x, y in islice(zip_longest(*map(_distinct, both)), MAX_MACHINES):
            lines = _facts(x["facts"] if x else {}, y["facts"] if y else {})
            pairs.append(Group(role, lines, x and x["name"], y and y["name"]))
    return pairs


def _distinct(machines: Iterable[MachineSpec]) -> list[MachineSpec]:
    return sorted({machine["id"]: machine for machine in machines}.values(), key=itemgetter("name"))


def _facts(a: Mapping[str, object], b: Mapping[str, object]) -> tuple[Line, ...]:
    return tuple(
        Line(
            name.removesuffix("_bytes").removesuffix("_us").replace("_", " "),
            _fact_text(a, name),
            _fact_text(b, name),
            passing=name in PASSING,
        )
        for name in sorted({*a, *b})
    )


def _fact_text(machine: Mapping[str, object], name: str) -> str | None:
    """A machine's fact as people read it; None where nobody knows it."""
    value = fact(machine, name)
    if formatting.is_number(value):
        if name.endswith("_bytes"):
            return formatting.size(value)
        if name.endswith("_us"):
            return formatting.latency(value)
    return _text(value)
