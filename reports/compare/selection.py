"""The state of the compare page, as its address says it. Pure: text in, values and sentences out.

`v` is the version of this language. Only what differs from the defaults is written, always in the same order, so that
one state has one address.
"""

import datetime as dt
import math
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from benchsite.core.formatting import printable
from reports.compare.analysis.comparability import VARIES
from reports.compare.curves import STATISTICS, Curve, detect_kind
from reports.compare.figures.latency import SCALES
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.overlay import StudyOverlay, choose_overlays
from reports.compare.messages import LEFT_OUT, NO_CHOICE, NO_OPERATION, TOO_MANY_VALUES
from runs.identifiers import parse_uuid

VERSION = "1"
ALL = "all"
BOTH = "BOTH"  # operations in one figure
MAX_SHOWN = 10  # sides, of more only those that are chosen
MAX_VALUES = 60  # of one name in an address
MAX_VALUE_LENGTH = 200
KINDS = ("service", "response")
LOAD = "load"
SOURCES = ("scheduled", "uploaded")
# Facet in the address -> the field that holds its chosen values.
FACETS: Final[Mapping[str, str]] = {
    "system": "systems",
    "mode": "modes",
    "class": "classes",
    "workload": "workloads",
    "cluster": "clusters",
    "version": "versions",
    "label": "labels",
    "source": "sources",
    "purpose": "purposes",
}
NAMES = (
    "v", "matrix", "sweep", "run", *FACETS, "phase", "since", "until", "op", "stat", "kind", "scale", "highlight",
    "baseline", "vary", "load", "within", "loss", "anyway", "published", "side",
)  # fmt: skip
# What only the drawing of a figure needs; no part of the state.
DRAWING_NAMES = ("theme", "narrow", "with", "zoom", "mix")
# No system does more operations in a second, and no latency is longer in milliseconds than three years.
MAX_OPS_S = 1e12
MAX_MS = 1e11
MAX_LOSS_S = 1e8
YEARS = range(1990, 2200)
NO_MATRIX = "is no matrix; the newest one is shown."
NO_BASELINE = "is no sweep that could be the baseline; the strongest promise is taken."


class Parameters(Protocol):
    """What is needed of Django's QueryDict."""

    def getlist(self, key: str) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sweeps are compared, and what of them is drawn. The defaults are those of the bare address.

    Without `matrix` and `sweeps` it is the newest matrix; with sweeps, exactly those; "all" is every matrix.
    """

    matrix: str = ""  # "", "all" or an id
    sweeps: tuple[uuid.UUID, ...] = ()
    runs: tuple[uuid.UUID, ...] = ()  # of these sweeps, the only runs that are points; none: all
    systems: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # what a write waits for
    workloads: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # of SOURCES
    purposes: tuple[str, ...] = ()
    phase: str = ""  # "load": the loads instead of the measured sweeps
    since: dt.date | None = None  # sweeps made on this day or later (UTC)
    until: dt.date | None = None  # on this day or before
    operation: str = ""  # empty: the first that was measured; "BOTH": the first two in one figure
    statistic: str = "p99"
    kind: str = ""  # of KINDS; empty: as the curves have it
    scale: str = "auto"
    highlight: str = ""
    baseline: uuid.UUID | None = None  # the sweep that all others are compared with; None: the strongest promise
    vary: tuple[str, ...] = ()  # of VARIES; none: what the selection itself crosses
    load_ops_s: float | None = None  # where latencies are read; None: a share of the lowest ceiling
    limit_us: float | None = None  # the latency under which throughputs are read; in the address in ms
    max_loss_s: float | None = None  # of acknowledged writes at a power cut: sides that may lose more are left out
    anyway: bool = False  # ratios even where the sides are not comparable
    published: tuple[str, ...] = ()  # studies whose results are laid over the pictures
    sides: tuple[str, ...] = ()  # of many, the sweeps that are drawn; "all"; none: those with the highest ceilings
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def matrix_id(self) -> uuid.UUID | None:
        if self.matrix in ("", ALL):
            return None
        return uuid.UUID(self.matrix)

    def kind_for(self, curves: Sequence[Curve]) -> str:
        """The chosen kind of latency; where none is, the one that these curves are read by."""
        return self.kind or detect_kind(curves)

    def select_visible(self, curves: Sequence[Curve]) -> list[Curve]:
        """The sides that are drawn: all of few, of many the chosen ones, else those with the highest ceilings."""
        if chosen := [curve for curve in curves if str(curve.sweep_id) in self.sides]:
            return chosen
        if len(curves) <= MAX_SHOWN or ALL in self.sides:
            return list(curves)
        return sorted(curves, key=lambda curve: -curve.ceiling_ops_s)[:MAX_SHOWN]

    def choice(self, operation: str, curves: Sequence[Curve]) -> Choice:
        """The choice for the latency figure of one operation."""
        return Choice(operation, self.statistic, self.kind_for(curves), self.scale, self.highlight)

    def choose_overlays(self, curves: Sequence[Curve], among: Sequence[Curve] = ()) -> list[StudyOverlay]:
        """What the chosen studies printed of the mix and records of the curves, told apart `among` all of the page."""
        return choose_overlays(self.published, self.phase, curves, among)

    def facet(self, name: str) -> tuple[str, ...]:
        """The chosen values of one of the facets."""
        chosen: tuple[str, ...] = getattr(self, FACETS[name])
        return chosen

    def without(self, name: str, value: str) -> "Selection":
        """With one value of a menu taken away: of a facet, of what varies, of what is laid over, or the phase."""
        column = FACETS.get(name, name)
        kept: Any = "" if name == "phase" else tuple(other for other in getattr(self, column) if other != value)
        return replace(self, **{column: kept})

    def pairs(self, without: Collection[str] = ()) -> list[tuple[str, str]]:
        """The address' parameters in canonical order, without `v` and without those that a form itself gives."""
        values: dict[str, Sequence[str]] = {
            "matrix": [self.matrix],
            "sweep": [str(sweep) for sweep in self.sweeps],
            "run": [str(run) for run in self.runs],
            "phase": [self.phase],
            "since": [self.since.isoformat() if self.since else ""],
            "until": [self.until.isoformat() if self.until else ""],
            "op": [self.operation],
            "stat": [self.statistic if self.statistic != "p99" else ""],
            "kind": [self.kind],
            "scale": [self.scale if self.scale != "auto" else ""],
            "highlight": [self.highlight],
            "baseline": [str(self.baseline or "")],
            "vary": self.vary,
            "load": [_number_text(self.load_ops_s)],
            "within": [_number_text(None if self.limit_us is None else self.limit_us / 1e3)],
            "loss": [_number_text(self.max_loss_s)],
            "anyway": ["1" if self.anyway else ""],
            "published": self.published,
            "side": self.sides,
            **{name: self.facet(name) for name in FACETS},
        }
        pairs: list[tuple[str, str]] = []
        for name in NAMES[1:]:
            if name not in without:
                pairs += [(name, value) for value in values[name] if value]

        return pairs

    def query(self) -> str:
        """The canonical query string with its question mark; empty for the defaults."""
        pairs = self.pairs()
        if not pairs:
            return ""
        return "?" + urlencode([("v", VERSION), *pairs])


def _number_text(value: float | None) -> str:
    """Ten digits: more than anybody measures, and what is read again as the same number."""
    if value is None:
        return ""
    return f"{value:.10g}"


def read(parameters: Parameters) -> Selection:
    """The selection that an address says. What cannot be read is left out, with a sentence in `problems`."""
    address = _Address(parameters)
    version = address.value("v")
    if version not in ("", VERSION):
        address.problems.append(
            f"This link speaks version {_quoted(version)} of the address; it is read as version {VERSION}."
        )

    unknown = [name for name in parameters if name not in NAMES and name not in DRAWING_NAMES]
    if unknown:
        address.problems.append(f"The address says {_quoted(unknown[0])}, which means nothing here; it is ignored.")

    since, until = address.day("since"), address.day("until")
    if since and until and until < since:
        address.problems.append(f"until={until} lies before since={since}: no day is in between, so both are left out.")
        since = until = None

    limit_ms = address.number("within", "ms", MAX_MS)
    facets = {column: address.texts(name) for name, column in FACETS.items() if name != "source"}
    sides = address.texts("side")
    matrix, baseline = address.value("matrix"), address.value("baseline")
    limit_us = None
    if limit_ms is not None:
        limit_us = limit_ms * 1e3

    return Selection(
        matrix=matrix if matrix in ("", ALL) else str(address.key(matrix, NO_MATRIX) or ""),
        sweeps=address.keys("sweep"),
        runs=address.keys("run"),
        **facets,
        sources=address.choices("source", SOURCES),
        phase=address.choice("phase", (LOAD,)),
        since=since,
        until=until,
        operation=address.operation("op"),
        statistic=address.choice("stat", tuple(STATISTICS), "p99"),
        kind=address.choice("kind", KINDS),
        scale=address.choice("scale", tuple(SCALES), "auto"),
        highlight=address.value("highlight"),
        baseline=address.key(baseline, NO_BASELINE) if baseline else None,
        vary=address.choices("vary", VARIES),
        load_ops_s=address.number("load", "ops/s", MAX_OPS_S),
        limit_us=limit_us,
        max_loss_s=address.number("loss", "seconds", MAX_LOSS_S, least=0.0),
        anyway=address.choice("anyway", ("1",)) == "1",
        published=address.texts("published"),
        sides=(ALL,) if ALL in sides else tuple(str(key) for text in sides if (key := parse_uuid(text))),
        problems=tuple(address.problems),
    )


class _Address:
    """Reads the parameters of an address by their types. `problems` says what cannot be read, and is left out."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.problems: list[str] = []

    def value(self, name: str) -> str:
        """The last value of a parameter that is given several times."""
        values = self.parameters.getlist(name)
        if not values:
            return ""
        return _clean(values[-1])

    def texts(self, name: str) -> tuple[str, ...]:
        texts = sorted({text for raw in self.parameters.getlist(name) if (text := _clean(raw))})
        if len(texts) > MAX_VALUES:
            self.problems.append(TOO_MANY_VALUES.format(count=len(texts), name=name, limit=MAX_VALUES))
        return tuple(texts[:MAX_VALUES])

    def choices(self, name: str, choices: Sequence[str]) -> tuple[str, ...]:
        """The given choices, in the order of all choices."""
        values = self.texts(name)
        if bad := [value for value in values if value not in choices]:
            self.problems.append(NO_CHOICE.format(name=name, value=_quoted(bad[0]), choices=", ".join(choices)))
        return tuple(choice for choice in choices if choice in values)

    def choice(self, name: str, choices: Sequence[str], default: str = "") -> str:
        text = self.value(name)
        if not text or text in choices:
            return text or default

        instead = LEFT_OUT
        if default:
            instead = f"{default} is shown"
        self.problems.append(f"{name}={_quoted(text)} is none of {', '.join(choices)}; {instead}.")
        return default

    def key(self, text: str, problem: str) -> uuid.UUID | None:
        key = parse_uuid(text)
        if key is None:
            self.problems.append(f"{_quoted(text)} {problem}")
        return key

    def keys(self, name: str) -> tuple[uuid.UUID, ...]:
        parsed = [parse_uuid(text.strip()) for text in self.parameters.getlist(name) if text.strip()]
        keys = dict.fromkeys(key for key in parsed if key)
        if bad := parsed.count(None):
            self.problems.append(
                f"{bad} of the {name}s in the address {'are none' if bad > 1 else 'is none'}; left out."
            )
        if len(keys) > MAX_VALUES:
            self.problems.append(
                f"The address names {len(keys)} {name}s; the first {MAX_VALUES} are shown. Choose fewer."
            )
        return tuple(sorted(list(keys)[:MAX_VALUES], key=str))

    def operation(self, name: str) -> str:
        text = self.value(name)
        if text in ("", ALL):
            return ""

        operation = text.upper()
        if not all(c.isalnum() or c in "-_" for c in operation):
            self.problems.append(NO_OPERATION.format(text=_quoted(text)))
            return ""

        return operation

    def number(self, name: str, unit: str, most: float, least: float = 1e-9) -> float | None:
        """A number with ten significant digits; positive unless `least` is 0."""
        text = self.value(name)
        if not text:
            return None

        try:
            value = float(f"{float(text):.10g}")
        except ValueError:
            value = math.nan

        if least <= value <= most:
            return value

        above = "above 0" if least else "from 0"
        self.problems.append(
            f"{name}={_quoted(text)} is left out: give {unit} as a number {above}, with a point, like 1250.5."
        )
        return None

    def day(self, name: str) -> dt.date | None:
        text = self.value(name)
        try:
            day = None
            if text:
                day = dt.date.fromisoformat(text)
        except ValueError:
            day = dt.date.min

        if day is None or day.year in YEARS:
            return day

        self.problems.append(f"{name}={_quoted(text)} is no day; it is left out. Write it like 2026-11-21.")
        return None


def _clean(text: str) -> str:
    """Without control characters (PostgreSQL takes no NUL) and not longer than any name here."""
    return printable(text).strip()[:MAX_VALUE_LENGTH]


def _quoted(text: str) -> str:
    return f"“{text[:40]}{'…' if len(text) > 40 else ''}”"
