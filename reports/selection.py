"""The state of the compare page, as its address says it. Pure: text in, values and sentences out.

`v` is the version of this language. Only what differs from the defaults is written, always in the same order, so that
one state has one address.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlencode

from reports.curves import STATISTICS
from reports.figures.latency import SCALES, Choice

VERSION = "1"
ALL = "all"
MOST_VALUES = 60  # of one name in an address
LONGEST_VALUE = 200
KINDS = ("service", "response")
NAMES = ("v", "matrix", "sweep", "system", "mode", "workload", "purpose", "op", "stat", "kind", "scale", "highlight")


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
    systems: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    operation: str = ""  # empty: every operation that was measured, a figure each
    statistic: str = "p99"
    kind: str = "service"
    scale: str = "auto"
    highlight: str = ""
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def matrix_id(self) -> uuid.UUID | None:
        return uuid.UUID(self.matrix) if self.matrix not in ("", ALL) else None

    def choice(self, operation: str) -> Choice:
        """What the latency figure of one operation draws."""
        return Choice(operation, self.statistic, self.kind, self.scale, self.highlight)

    def facet(self, name: str) -> tuple[str, ...]:
        """The chosen values of one of the facets."""
        return {"system": self.systems, "mode": self.modes, "workload": self.workloads, "purpose": self.purposes}[name]

    def toggled(self, name: str, value: str) -> "Selection":
        """With one value of a facet added, or taken away where it is there."""
        held = self.facet(name)
        kept = tuple(one for one in held if one != value) if value in held else tuple(sorted((*held, value)))
        match name:
            case "system":
                return replace(self, systems=kept)
            case "mode":
                return replace(self, modes=kept)
            case "workload":
                return replace(self, workloads=kept)
            case _:
                return replace(self, purposes=kept)

    def pairs(self) -> list[tuple[str, str]]:
        """The address' parameters in canonical order, without `v`."""
        values: Mapping[str, Sequence[str]] = {
            "matrix": [self.matrix],
            "sweep": [str(sweep) for sweep in self.sweeps],
            "system": self.systems,
            "mode": self.modes,
            "workload": self.workloads,
            "purpose": self.purposes,
            "op": [self.operation],
            "stat": [self.statistic if self.statistic != "p99" else ""],
            "kind": [self.kind if self.kind != "service" else ""],
            "scale": [self.scale if self.scale != "auto" else ""],
            "highlight": [self.highlight],
        }
        return [(name, value) for name in NAMES[1:] for value in values[name] if value]

    def query(self) -> str:
        """The canonical query string with its question mark; empty for the defaults."""
        pairs = self.pairs()
        return "?" + urlencode([("v", VERSION), *pairs]) if pairs else ""


def read(parameters: Parameters) -> Selection:
    """The selection that an address says. What cannot be read is left out, with a sentence in `problems`."""
    problems: list[str] = []
    version = _last(parameters, "v")
    if version not in ("", VERSION):
        problems.append(f"This link speaks version {_quoted(version)} of the address; it is read as version {VERSION}.")
    unknown = [name for name in parameters if name not in NAMES and name not in ("theme", "narrow")]
    if unknown:
        problems.append(f"The address says {_quoted(unknown[0])}, which means nothing here; it is ignored.")
    return Selection(
        matrix=_matrix(_last(parameters, "matrix"), problems),
        sweeps=_sweeps(parameters, problems),
        systems=_texts(parameters, "system", problems),
        modes=_texts(parameters, "mode", problems),
        workloads=_texts(parameters, "workload", problems),
        purposes=_texts(parameters, "purpose", problems),
        operation=_operation(_last(parameters, "op"), problems),
        statistic=_one_of(parameters, "stat", tuple(STATISTICS), "p99", problems),
        kind=_one_of(parameters, "kind", KINDS, "service", problems),
        scale=_one_of(parameters, "scale", tuple(SCALES), "auto", problems),
        highlight=_clean(_last(parameters, "highlight")),
        problems=tuple(problems),
    )


def _last(parameters: Parameters, name: str) -> str:
    values = parameters.getlist(name)
    return _clean(values[-1]) if values else ""


def _clean(text: str) -> str:
    """Without control characters (PostgreSQL takes no NUL) and not longer than any name here."""
    return "".join(c for c in text if c.isprintable()).strip()[:LONGEST_VALUE]


def _quoted(text: str) -> str:
    return f"“{text[:40]}{'…' if len(text) > 40 else ''}”"


def _matrix(text: str, problems: list[str]) -> str:
    if text in ("", ALL):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        problems.append(f"{_quoted(text)} is no matrix; the newest one is shown.")
        return ""


def _sweeps(parameters: Parameters, problems: list[str]) -> tuple[uuid.UUID, ...]:
    found: dict[uuid.UUID, None] = {}
    bad = 0
    for text in parameters.getlist("sweep"):
        try:
            found[uuid.UUID(text.strip())] = None
        except ValueError:
            bad += bool(text.strip())
    if bad:
        problems.append(f"{bad} of the sweeps in the address {'are none' if bad > 1 else 'is none'}; left out.")
    if len(found) > MOST_VALUES:
        problems.append(f"The address names {len(found)} sweeps; the first {MOST_VALUES} are shown. Choose fewer.")
    return tuple(sorted(list(found)[:MOST_VALUES], key=str))


def _texts(parameters: Parameters, name: str, problems: list[str]) -> tuple[str, ...]:
    found = sorted({text for raw in parameters.getlist(name) if (text := _clean(raw))})
    if len(found) > MOST_VALUES:
        problems.append(f"The address gives {len(found)} values of {name}; the first {MOST_VALUES} count.")
    return tuple(found[:MOST_VALUES])


def _operation(text: str, problems: list[str]) -> str:
    if text in ("", ALL):
        return ""
    operation = text.upper()
    if not all(c.isalnum() or c in "-_" for c in operation):
        problems.append(f"{_quoted(text)} is no operation; every operation is shown.")
        return ""
    return operation


def _one_of(parameters: Parameters, name: str, choices: Sequence[str], default: str, problems: list[str]) -> str:
    text = _last(parameters, name)
    if not text or text in choices:
        return text or default
    problems.append(f"{name}={_quoted(text)} is none of {', '.join(choices)}; {default} is shown.")
    return default
