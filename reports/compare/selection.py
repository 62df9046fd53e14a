"""The state of the compare page, as its address says it. Pure: text in, values and sentences out.

`v` is the version of this language. Only what differs from the defaults is written, always in the same order, so that
one state has one address.
"""

import datetime as dt
import math
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from benchsite.core.formatting import printable
from reports.compare.analysis.comparability import VARIES
from reports.compare.curves import STATISTICS, Curve, detect_kind
from reports.compare.figures.latency import SCALES
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
# What only the drawing of a figure needs, or needed once; no part of the state.
DRAWING_NAMES = ("theme", "narrow", "with", "zoom", "mix")
# No system does more operations in a second, and no latency is longer in milliseconds than three years.
MAX_OPS_S = 1e12
MAX_MS = 1e11
MAX_LOSS_S = 1e8
YEARS = range(1990, 2200)
NO_MATRIX = "is no matrix; the latest study is shown."
NO_BASELINE = "is no sweep that could be the baseline; the strongest promise is taken."


class Parameters(Protocol):
    """What is needed of Django's QueryDict."""

    def getlist(self, key: str) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...


class _Address:
    """The texts of an address, read by their types. `problems` says what cannot be read, and is left out (None)."""

    def __init__(self, parameters: Parameters) -> None:
        self.problems: list[str] = []
        self.stated: dict[str, list[str]] = {}
        for name in parameters:
            texts = [text for raw in parameters.getlist(name) if (text := _clean(raw))]
            if texts:
                self.stated[name] = texts

    def text(self, name: str) -> str:
        """The last one of a parameter that is given several times."""
        return self.stated[name][-1]

    def texts(self, name: str) -> tuple[str, ...]:
        texts = sorted(set(self.stated[name]))
        if len(texts) > MAX_VALUES:
            self.problems.append(TOO_MANY_VALUES.format(count=len(texts), name=name, limit=MAX_VALUES))
        return tuple(texts[:MAX_VALUES])

    def choices(self, name: str, choices: Sequence[str]) -> tuple[str, ...]:
        """The given choices, in the order of all choices."""
        values = self.texts(name)
        if bad := [value for value in values if value not in choices]:
            self.problems.append(NO_CHOICE.format(name=name, value=_quoted(bad[0]), choices=", ".join(choices)))
        return tuple(choice for choice in choices if choice in values)

    def choice(self, name: str, choices: Sequence[str], instead: str = LEFT_OUT) -> str | None:
        text = self.text(name)
        if text in choices:
            return text
        self.problems.append(f"{name}={_quoted(text)} is none of {', '.join(choices)}; {instead}.")
        return None

    def flag(self, name: str) -> bool:
        return self.choice(name, ("1",)) is not None

    def key(self, name: str, problem: str) -> uuid.UUID | None:
        key = parse_uuid(self.text(name))
        if key is None:
            self.problems.append(f"{_quoted(self.text(name))} {problem}")
        return key

    def keys(self, name: str) -> tuple[uuid.UUID, ...]:
        parsed = list(map(parse_uuid, self.stated[name]))
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

    def matrix(self, name: str) -> str | None:
        if self.text(name) == ALL:
            return ALL
        key = self.key(name, NO_MATRIX)
        return str(key) if key else None

    def sides(self, name: str) -> tuple[str, ...]:
        texts = self.texts(name)
        if ALL in texts:
            return (ALL,)
        return tuple(str(key) for text in texts if (key := parse_uuid(text)))

    def operation(self, name: str) -> str | None:
        text = self.text(name)
        if text == ALL:
            return None
        if all(c.isalnum() or c in "-_" for c in text):
            return text.upper()
        self.problems.append(NO_OPERATION.format(text=_quoted(text)))
        return None

    def number(self, name: str, unit: str, most: float, least: float = 1e-9, factor: float = 1.0) -> float | None:
        """A number with ten significant digits, times the factor; positive unless `least` is 0."""
        text = self.text(name)
        try:
            value = float(f"{float(text):.10g}")
        except ValueError:
            value = math.nan
        if least <= value <= most:
            return value * factor

        above = "above 0" if least else "from 0"
        self.problems.append(
            f"{name}={_quoted(text)} is left out: give {unit} as a number {above}, with a point, like 1250.5."
        )
        return None

    def day(self, name: str) -> dt.date | None:
        text = self.text(name)
        try:
            day = dt.date.fromisoformat(text)
        except ValueError:
            day = dt.date.min
        if day.year in YEARS:
            return day

        self.problems.append(f"{name}={_quoted(text)} is no day; it is left out. Write it like 2026-11-21.")
        return None


def _clean(text: str) -> str:
    """Without control characters (PostgreSQL takes no NUL) and not longer than any name here."""
    return printable(text).strip()[:MAX_VALUE_LENGTH]


def _quoted(text: str) -> str:
    return f"“{text[:40]}{'…' if len(text) > 40 else ''}”"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sweeps are compared, and what of them is drawn. The defaults are those of the bare address.

    Without `matrix` and `sweeps` it is the latest study; with sweeps, exactly those; "all" is every matrix.
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
        others: Any = "" if name == "phase" else tuple(other for other in getattr(self, column) if other != value)
        return replace(self, **{column: others})

    def pairs(self, without: Collection[str] = ()) -> list[tuple[str, str]]:
        """The address' parameters in canonical order, without `v` and without those that a form itself gives."""
        pairs: list[tuple[str, str]] = []
        for name, (column, _) in PARAMETERS.items():
            value = getattr(self, column)
            if name not in without and value != getattr(DEFAULTS, column):
                values = (value,)
                if isinstance(value, tuple):
                    values = value
                pairs += [(name, _write(name, single)) for single in values]

        return pairs

    def query(self) -> str:
        """The canonical query string with its question mark; empty for the defaults."""
        pairs = self.pairs()
        if not pairs:
            return ""
        return "?" + urlencode([("v", VERSION), *pairs])


DEFAULTS: Final = Selection()
# Name in the address -> the field, and how it is read; in the order in which addresses are written.
PARAMETERS: Final[Mapping[str, tuple[str, Callable[[_Address, str], Any]]]] = {
    "matrix": ("matrix", _Address.matrix),
    "sweep": ("sweeps", _Address.keys),
    "run": ("runs", _Address.keys),
    **{name: (column, _Address.texts) for name, column in FACETS.items()},
    "source": ("sources", partial(_Address.choices, choices=SOURCES)),
    "phase": ("phase", partial(_Address.choice, choices=(LOAD,))),
    "since": ("since", _Address.day),
    "until": ("until", _Address.day),
    "op": ("operation", _Address.operation),
    "stat": ("statistic", partial(_Address.choice, choices=tuple(STATISTICS), instead="p99 is shown")),
    "kind": ("kind", partial(_Address.choice, choices=KINDS)),
    "scale": ("scale", partial(_Address.choice, choices=tuple(SCALES), instead="auto is shown")),
    "highlight": ("highlight", _Address.text),
    "baseline": ("baseline", partial(_Address.key, problem=NO_BASELINE)),
    "vary": ("vary", partial(_Address.choices, choices=VARIES)),
    "load": ("load_ops_s", partial(_Address.number, unit="ops/s", most=MAX_OPS_S)),
    "within": ("limit_us", partial(_Address.number, unit="ms", most=MAX_MS, factor=1e3)),
    "loss": ("max_loss_s", partial(_Address.number, unit="seconds", most=MAX_LOSS_S, least=0.0)),
    "anyway": ("anyway", _Address.flag),
    "published": ("published", _Address.texts),
    "side": ("sides", _Address.sides),
}
NAMES: Final = ("v", *PARAMETERS)


def _write(name: str, value: Any) -> str:
    """Numbers with ten digits: more than anybody measures, and what is read again as the same number."""
    if name == "within":
        value /= 1e3
    if value is True:
        return "1"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def read(parameters: Parameters) -> Selection:
    """The selection that an address says. What cannot be read is left out, with a sentence in `problems`."""
    address = _Address(parameters)
    version = VERSION
    if "v" in address.stated:
        version = address.text("v")
    if version != VERSION:
        address.problems.append(
            f"This link speaks version {_quoted(version)} of the address; it is read as version {VERSION}."
        )

    unknown = [name for name in parameters if name not in NAMES and name not in DRAWING_NAMES]
    if unknown:
        address.problems.append(f"The address says {_quoted(unknown[0])}, which means nothing here; it is ignored.")

    values = {}
    for name, (column, read_parameter) in PARAMETERS.items():
        value = None
        if name in address.stated:
            value = read_parameter(address, name)
        if value is not None:
            values[column] = value

    since, until = values.get("since"), values.get("until")
    if since and until and until < since:
        address.problems.append(f"until={until} lies before since={since}: no day is in between, so both are left out.")
        del values["since"], values["until"]

    return Selection(**values, problems=tuple(address.problems))
