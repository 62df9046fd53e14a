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

    def shown(self, curves: Sequence[Curve]) -> list[Curve]:
        """The sides that are drawn: all of few, of many the chosen ones, else those with the highest ceilings."""
        if chosen := [curve for curve in curves if str(curve.sweep_id) in self.sides]:
            return chosen
        if len(curves) <= MAX_SHOWN or ALL in self.sides:
            return list(curves)
        return sorted(curves, key=lambda curve: -curve.ceiling_ops_s)[:MAX_SHOWN]

    def choice(self, operation: str, curves: Sequence[Curve]) -> Choice:
        """The choice for the latency figure of one operation."""
        return Choice(operation, self.statistic, self.kind_for(curves), self.scale, self.highlight)

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
    problems: list[str] = []
    version = last_value(parameters, "v")
    if version not in ("", VERSION):
        problems.append(f"This link speaks version {_quoted(version)} of the address; it is read as version {VERSION}.")
    unknown = [name for name in parameters if name not in NAMES and name not in DRAWING_NAMES]
    if unknown:
        problems.append(f"The address says {_quoted(unknown[0])}, which means nothing here; it is ignored.")
    since, until = (_day(parameters, name, problems) for name in ("since", "until"))
    if since and until and until < since:
        problems.append(f"until={until} lies before since={since}: no day is in between, so both are left out.")
        since = until = None

    limit_ms = _number(parameters, "within", "ms", MAX_MS, problems)
    facets = {column: _texts(parameters, name, problems) for name, column in FACETS.items()}
    facets["sources"] = _known(facets["sources"], "source", SOURCES, problems)
    texts = _texts(parameters, "side", problems)
    matrix, baseline = last_value(parameters, "matrix"), last_value(parameters, "baseline")
    limit_us = None
    if limit_ms is not None:
        limit_us = limit_ms * 1e3

    return Selection(
        matrix=matrix if matrix in ("", ALL) else str(_id(matrix, NO_MATRIX, problems) or ""),
        sweeps=_ids(parameters, "sweep", problems),
        runs=_ids(parameters, "run", problems),
        **facets,
        phase=_parse_choice(parameters, "phase", (LOAD,), "", problems),
        since=since,
        until=until,
        operation=_operation(last_value(parameters, "op"), problems),
        statistic=_parse_choice(parameters, "stat", tuple(STATISTICS), "p99", problems),
        kind=_parse_choice(parameters, "kind", KINDS, "", problems),
        scale=_parse_choice(parameters, "scale", tuple(SCALES), "auto", problems),
        highlight=_clean(last_value(parameters, "highlight")),
        baseline=_id(baseline, NO_BASELINE, problems) if baseline else None,
        vary=_known(_texts(parameters, "vary", problems), "vary", VARIES, problems),
        load_ops_s=_number(parameters, "load", "ops/s", MAX_OPS_S, problems),
        limit_us=limit_us,
        max_loss_s=_number(parameters, "loss", "seconds", MAX_LOSS_S, problems, least=0.0),
        anyway=_parse_choice(parameters, "anyway", ("1",), "", problems) == "1",
        published=_texts(parameters, "published", problems),
        sides=(ALL,) if ALL in texts else tuple(str(key) for text in texts if (key := parse_uuid(text))),
        problems=tuple(problems),
    )


def last_value(parameters: Parameters, name: str) -> str:
    """The last value of a parameter that is given several times."""
    values = parameters.getlist(name)
    if not values:
        return ""
    return _clean(values[-1])


def _clean(text: str) -> str:
    """Without control characters (PostgreSQL takes no NUL) and not longer than any name here."""
    return printable(text).strip()[:MAX_VALUE_LENGTH]


def _quoted(text: str) -> str:
    return f"“{text[:40]}{'…' if len(text) > 40 else ''}”"


def _id(text: str, problem: str, problems: list[str]) -> uuid.UUID | None:
    key = parse_uuid(text)
    if key is None:
        problems.append(f"{_quoted(text)} {problem}")
    return key


def _ids(parameters: Parameters, name: str, problems: list[str]) -> tuple[uuid.UUID, ...]:
    parsed = [parse_uuid(text.strip()) for text in parameters.getlist(name) if text.strip()]
    keys = dict.fromkeys(key for key in parsed if key)
    if bad := parsed.count(None):
        problems.append(f"{bad} of the {name}s in the address {'are none' if bad > 1 else 'is none'}; left out.")
    if len(keys) > MAX_VALUES:
        problems.append(f"The address names {len(keys)} {name}s; the first {MAX_VALUES} are shown. Choose fewer.")
    return tuple(sorted(list(keys)[:MAX_VALUES], key=str))


def _texts(parameters: Parameters, name: str, problems: list[str]) -> tuple[str, ...]:
    texts = sorted({text for raw in parameters.getlist(name) if (text := _clean(raw))})
    if len(texts) > MAX_VALUES:
        problems.append(TOO_MANY_VALUES.format(count=len(texts), name=name, limit=MAX_VALUES))
    return tuple(texts[:MAX_VALUES])


def _operation(text: str, problems: list[str]) -> str:
    if text in ("", ALL):
        return ""
    operation = text.upper()
    if not all(c.isalnum() or c in "-_" for c in operation):
        problems.append(NO_OPERATION.format(text=_quoted(text)))
        return ""
    return operation


def _number(
    parameters: Parameters, name: str, unit: str, most: float, problems: list[str], least: float = 1e-9
) -> float | None:
    """A number with ten significant digits; positive unless `least` is 0."""
    text = last_value(parameters, name)
    if not text:
        return None

    try:
        value = float(f"{float(text):.10g}")
    except ValueError:
        value = math.nan

    if least <= value <= most:
        return value

    above = "above 0" if least else "from 0"
    problems.append(f"{name}={_quoted(text)} is left out: give {unit} as a number {above}, with a point, like 1250.5.")
    return None


def _day(parameters: Parameters, name: str, problems: list[str]) -> dt.date | None:
    text = last_value(parameters, name)
    try:
        day = None
        if text:
            day = dt.date.fromisoformat(text)
    except ValueError:
        day = dt.date.min
    if day is None or day.year in YEARS:
        return day
    problems.append(f"{name}={_quoted(text)} is no day; it is left out. Write it like 2026-11-21.")
    return None


def _known(values: Sequence[str], name: str, choices: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    """The given choices, in the order of all choices."""
    if bad := [value for value in values if value not in choices]:
        problems.append(NO_CHOICE.format(name=name, value=_quoted(bad[0]), choices=", ".join(choices)))
    return tuple(choice for choice in choices if choice in values)


def _parse_choice(parameters: Parameters, name: str, choices: Sequence[str], default: str, problems: list[str]) -> str:
    text = last_value(parameters, name)
    if not text or text in choices:
        return text or default
    instead = LEFT_OUT
    if default:
        instead = f"{default} is shown"
    problems.append(f"{name}={_quoted(text)} is none of {', '.join(choices)}; {instead}.")
    return default
