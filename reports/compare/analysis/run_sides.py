"""Two runs beside each other: every recorded setting and fact of both, as lines that differ or not. No rows."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchsite.core import formatting
from reports.compare.analysis.differences import SOURCE_SAYS
from reports.compare.curves import Curve, Point
from runs.checks import CheckResult, SideFacts
from runs.checks.facts import fact
from runs.checks.pairs import waits_for
from runs.plans.spec import MachineSpec, RunSpec
from runs.ycsb.redact import is_secret

NOT_SHOWN: Final = "(not shown)"
NOT_KNOWN: Final = "not known"
MAX_VALUE_LENGTH: Final = 200  # characters of a value in a table
# Facts that are never the same twice, and say nothing of what a machine is.
PASSING: Final = frozenset({"clock_error_us", "data_disk_free_bytes", "disk_free_bytes", "host", "uptime_s"})
MAX_MACHINES: Final = 16  # of one role that are shown beside each other


@dataclass(frozen=True, slots=True)
class ClientSide:
    """One client of a run."""

    number: int
    generator: str
    java: str
    clock_offset_s: float | None


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs. None and empty: nobody knows."""

    run_id: uuid.UUID
    name: str
    spec: RunSpec
    evidence: Mapping[str, Any]
    facts: SideFacts  # with its name as label
    point: Point | None  # None: nothing was measured
    findings: tuple[CheckResult, ...] = ()
    clients: tuple[ClientSide, ...] = ()
    started_at: dt.datetime | None = None
    position: int = 0  # in the queue of its matrix
    matrix: str = ""
    commit: str = ""
    branch: str = ""
    source: str = ""  # how it came about, as `SOURCE_SAYS` knows it
    verdict: str = ""
    excluded_reason: str = ""
    is_bracket: bool = False
    repeats_ops_s: tuple[float, ...] = ()  # of its rung in its sweep, those that count, itself among them
    curve: Curve | None = None  # of its sweep, with its own rung alone; what a comparison is judged by

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

    def shown(self, longest: int = MAX_VALUE_LENGTH) -> tuple[str, str]:
        """Both values, no longer than that, and with the place where they differ."""
        a, b = (NOT_KNOWN if value is None else value for value in (self.a, self.b))
        first = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        begin = first - longest // 4 if a != b and first >= longest - 2 else 0
        return _cut(a, begin, longest), _cut(b, begin, longest)


def _cut(text: str, begin: int, longest: int) -> str:
    kept = f"…{text[begin:]}" if begin else text
    return kept if len(kept) <= longest else f"{kept[: longest - 1]}…"


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    lines: tuple[Line, ...]

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


@dataclass(frozen=True, slots=True)
class MachinePair:
    """The machines of one role that stand at the same place on both sides; None: the other side has one fewer."""

    role: str
    a: str | None
    b: str | None
    group: Group


def groups(a: RunSide, b: RunSide) -> list[Group]:
    """Everything that was submitted, in the order in which it usually matters; groups without any line are left out."""
    x, y = a.spec["load"], b.spec["load"]
    targets = [f"{load['target_ops_s']:,} ops/s" if load["target_ops_s"] else "as fast as it goes" for load in (x, y)]
    all_groups = [
        Group("Database", _database(a, b)),
        Group("Durability mode", _mode(a, b)),
        Group("Workload and data set", _workload(a, b)),
        Group("Load", ((_line("threads", x["threads"], y["threads"]), _line("target", *targets)))),
        Group("Clients", _clients(a, b)),
        Group("Window and preparation", _window(a, b)),
    ]
    return [group for group in all_groups if group.lines]


def _line(label: str, a: object, b: object) -> Line:
    return Line(label, _known(a), _known(b))


def _known(value: object) -> str | None:
    """A value as text; nothing of it is not known."""
    return None if value is None or value == "" else str(value)


def _pairs(a: Mapping[str, object], b: Mapping[str, object], *, known: bool = True) -> list[Line]:
    """Settings by name. One that a side does not set is "not set", unless nobody knows what that side set."""
    missing = "not set" if known else None
    lines = []
    for name in sorted({*a, *b}):
        values = [str(side[name]) or '""' if name in side else missing for side in (a, b)]
        if is_secret(name) and all(values):
            same = values[0] == values[1]
            values = [NOT_SHOWN, NOT_SHOWN if same else f"{NOT_SHOWN[:-1]}, another)"]
        lines.append(Line(name, values[0], values[1]))
    return lines


def _database(a: RunSide, b: RunSide) -> tuple[Line, ...]:
    x, y = a.spec, b.spec
    return (
        _line("system", x["system_name"], y["system_name"]),
        _line("database", x["database"]["name"], y["database"]["name"]),
        _line("version, as stated", x["database"]["version"], y["database"]["version"]),
        _line("version, as the server says", a.evidence.get("server_version"), b.evidence.get("server_version")),
        *(_line(label, *(_of_container(side, key) for side in (a, b))) for label, key in OF_A_CONTAINER),
        _line("commit", a.commit, b.commit),
        _line("branch", a.branch, b.branch),
        _line("copies of the data", x["database"]["replication_factor"], y["database"]["replication_factor"]),
        _line("provisioner", x["cluster"]["provisioner"], y["cluster"]["provisioner"]),
        *_pairs(x["database"]["settings"], y["database"]["settings"], known=_scheduled(a, b)),
        *_pairs(x["database"]["binding_properties"], y["database"]["binding_properties"], known=_scheduled(a, b)),
    )


# What of a server in a container may make the difference. A tag names other images over time, an id never.
OF_A_CONTAINER: Final = (
    ("image", "reference"),
    ("image, by its id", "image_id"),
    ("container's network", "network"),
    ("container's memory, bytes", "memory_bytes"),
    ("container's CPUs", "cpus"),
    ("Docker", "engine"),
)
LIMITS: Final = ("memory_bytes", "cpus")


def _of_container(side: RunSide, key: str) -> object:
    container = side.evidence.get("container")
    if not isinstance(container, Mapping):
        return None
    return container.get(key) or ("no limit" if key in LIMITS else None)


def _scheduled(a: RunSide, b: RunSide) -> bool:
    """Of what was measured elsewhere nobody knows what was not set."""
    return "stated" not in a.spec and "stated" not in b.spec


# What a mode promises, as against the settings that make it so.
OF_THE_PROMISE: Final = ("mode", "a write waits for", "reads", "survives")


def _mode(a: RunSide, b: RunSide) -> tuple[Line, ...]:
    x, y = a.spec["mode"], b.spec["mode"]
    known = _scheduled(a, b)
    modes = a.facts.mode, b.facts.mode
    common = {*_read_back(a)} & {*_read_back(b)}  # Another mode is asked for other settings.
    answers = [{f"{name}, read back": _read_back(side)[name] for name in common} for side in (a, b)]
    return (
        _line("mode", x["slug"], y["slug"]),
        _line("a write waits for", *(waits_for(mode) if mode else None for mode in modes)),
        _line("reads", *(mode.reads.replace("_", " ") if mode else None for mode in modes)),
        _line("survives", *(_survived(mode["record"]) for mode in (x, y))),
        *_pairs(x["server_settings"], y["server_settings"], known=known),
        *_pairs(x["client_properties"], y["client_properties"], known=known),
        *_pairs(answers[0], answers[1]),
    )


def _survived(record: Mapping[str, object]) -> str | None:
    """Which failures an acknowledged write outlives, in words."""
    survives = record.get("survives")
    if not isinstance(survives, Mapping):
        return None
    return ", ".join(str(name).replace("_", " ") for name, does in sorted(survives.items()) if does) or "none of them"


def _read_back(side: RunSide) -> Mapping[str, object]:
    """What the server answered after the run, else before it."""
    for when in ("after", "before"):
        answer = side.evidence.get(when)
        if isinstance(answer, Mapping) and isinstance(answer.get("found"), Mapping):
            return answer["found"]  # type: ignore[no-any-return]
    return {}


def _workload(a: RunSide, b: RunSide) -> tuple[Line, ...]:
    x, y = a.spec, b.spec
    known = bool(x["workload"]["properties"] and y["workload"]["properties"])
    return (
        _line("workload", x["workload"]["name"], y["workload"]["name"]),
        _line("phase", x["phase"], y["phase"]),
        _line("purpose", x["purpose"], y["purpose"]),
        _line("records", *(_optional(spec["dataset"]["records"], "{:,}".format) for spec in (x, y))),
        _line("bytes of a record", *(_optional(spec["dataset"]["record_bytes"], "{:,}".format) for spec in (x, y))),
        _line(
            "data set over memory",
            *(_optional(side.facts.memory_ratio, lambda ratio: formatting.significant(ratio, 2)) for side in (a, b)),
        ),
        *_pairs(x["workload"]["properties"], y["workload"]["properties"], known=known),
    )


def _optional(value: float | None, get_text: Callable[[float], str]) -> str | None:
    """A number as text; None where it is not known."""
    return None if value is None else get_text(value)


def _clients(a: RunSide, b: RunSide) -> tuple[Line, ...]:
    x, y = a.spec, b.spec
    counts = [max(len(spec["generators"]), 1) * spec["load"]["processes"] for spec in (x, y)]
    names = [", ".join(sorted(generator["name"] for generator in spec["generators"])) for spec in (x, y)]
    shared = [{True: "yes", False: "no", None: None}[side.facts.client_on_database_host] for side in (a, b)]
    busy = [_optional(side.point.generator_cpu if side.point else None, formatting.percent) for side in (a, b)]
    java = [", ".join(sorted({client.java for client in side.clients if client.java})) for side in (a, b)]
    return (
        _line("how it was run", *(SOURCE_SAYS.get(side.source) for side in (a, b))),
        _line("YCSB", x["client"]["flavour"], y["client"]["flavour"]),
        _line("YCSB version", x["client"]["ycsb_version"], y["client"]["ycsb_version"]),
        _line("binding", x["client"]["binding"], y["client"]["binding"]),
        _line("digest of the binding", x["client"]["digest"][:16], y["client"]["digest"][:16]),
        _line("Java", *java),
        _line("client processes", *counts),
        _line("load generators", *names),
        _line("on the database's machine", *shared),
        Line("CPU of the busiest generator", *busy, passing=True),
    )


def _window(a: RunSide, b: RunSide) -> tuple[Line, ...]:
    x, y = a.spec, b.spec
    cuts = [side.point for side in (a, b)]
    times = [f"{side.started_at:%Y-%m-%d %H:%M} UTC" if side.started_at else None for side in (a, b)]
    return (
        _line("warm-up asked", _seconds(x["window"]["warmup_s"]), _seconds(y["window"]["warmup_s"])),
        _line("at least measured", _seconds(x["window"]["min_measure_s"]), _seconds(y["window"]["min_measure_s"])),
        _line("at most measured", _seconds(x["window"]["max_measure_s"]), _seconds(y["window"]["max_measure_s"])),
        _line("cut off as warm-up", *(_seconds(cut.warmup_s if cut else None) for cut in cuts)),
        Line("window", *(_seconds(cut.window_s if cut else None) for cut in cuts), passing=_close(cuts)),
        _line("data before it", x["load_policy"], y["load_policy"]),
        *_pairs(x["resets"], y["resets"], known=_scheduled(a, b)),
        _line("priming run", *("yes" if spec["priming"] else "no" for spec in (x, y))),
        _line("matrix", a.matrix, b.matrix),
        Line("place in its matrix", *(str(side.position) if side.matrix else None for side in (a, b)), passing=True),
        Line("began", *times, passing=True),
    )


def _seconds(value: float | None) -> str | None:
    return _optional(value, formatting.duration)


def _close(cuts: Sequence[Point | None]) -> bool:
    """Two windows of one length are never the same to the millisecond."""
    known = [cut.window_s for cut in cuts if cut]
    return len(known) == 2 and abs(known[0] - known[1]) <= 0.02 * max(known)


def machine_pairs(a: RunSide, b: RunSide) -> list[MachinePair]:
    """The nodes of both clusters beside each other in the order of their names, then the load generators' machines."""
    pairs = []
    roles = (
        ("node", lambda side: side.spec["cluster"]["machines"]),
        ("load generator", lambda side: [generator["machine"] for generator in side.spec["generators"]]),
    )
    for role, machines_of in roles:
        left, right = (_distinct(machines_of(side)) for side in (a, b))
        for i in range(min(max(len(left), len(right)), MAX_MACHINES)):
            x, y = (side[i] if i < len(side) else None for side in (left, right))
            lines = _facts(x["facts"] if x else {}, y["facts"] if y else {})
            pairs.append(MachinePair(role, x["name"] if x else None, y["name"] if y else None, Group(role, lines)))
    return pairs


def _distinct(machines: Iterable[MachineSpec]) -> list[MachineSpec]:
    return sorted({machine["id"]: machine for machine in machines}.values(), key=lambda machine: machine["name"])


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
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_bytes"):
            return formatting.size(value)
        if name.endswith("_us"):
            return formatting.latency(value)
    return _known(value)
