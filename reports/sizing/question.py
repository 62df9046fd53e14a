"""What the sizing page is asked, as its address says it. Pure: text in, values and sentences out."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchsite.core.formatting import exact
from reports.compare.curves import COMPOSITE, STATISTICS
from reports.compare.selection import Parameters, last_value
from reports.sizing.analysis import FILL, HEADROOM

OPERATIONS: Final = ("READ", "UPDATE", "INSERT", "SCAN", "DELETE", COMPOSITE)
EVENTS: Final = {
    "process_crash": "a crash of the server process",
    "node_loss": "the loss of a node with its disk",
    "power_loss": "a power loss of all nodes at once",
}
MAX_NUMBER: Final = 1e12
MAX_COPIES: Final = 20
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d{1,2}))?\s*([kmg]?)(?:\s*ops/s)?", re.IGNORECASE)
_LETTERS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


@dataclass(frozen=True, slots=True)
class Question:
    """A need. None and empty: not asked; `problems` says by field what cannot be read."""

    throughput_ops_s: float | None = None
    operation: str = ""  # empty: every operation that was measured
    statistic: str = "p99"
    limit_us: float | None = None
    survives: tuple[str, ...] = ()
    workload: str = ""
    data_gb: float | None = None
    copies: int | None = None  # None: as measured
    node_gb: float | None = None
    headroom: float = HEADROOM
    fill: float = FILL
    price: float | None = None  # US$ per node and hour; None: what the machines' facts say
    every_purpose: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def answerable(self) -> bool:
        return self.throughput_ops_s is not None and not self.problems


def read_question(parameters: Parameters) -> Question:
    """The question in an address. What cannot be read has a sentence in `problems`, by the field's name."""
    texts = {name: last_value(parameters, name) for name in FIELDS}
    problems: dict[str, str] = {}

    def number(name: str, default: float | None = None, *, most: float = MAX_NUMBER) -> float | None:
        """A positive number: 200000, 200,000, 200k, 1.5M, 2e5."""
        text = texts[name]
        if not text:
            return default
        match = _NUMBER.fullmatch(re.sub(r"(?<=\d)[\s,_'](?=\d{3}\b)", "", text))
        value = float(match[1]) * 10.0 ** int(match[2] or 0) * _LETTERS[match[3].lower()] if match else math.nan
        if not 0 < value <= most:
            limit = f" of at most {exact(most)}" if most < MAX_NUMBER else ""
            problems[name] = f"“{text[:40]}” is no number above 0{limit}. Write it like 200000, 200k or 1.5."
            return default
        return value

    data_gb, node_gb, copies = number("data"), number("node"), number("copies", most=MAX_COPIES)
    if data_gb is not None and node_gb is None and "node" not in problems:
        problems["node"] = "Say how many GB a node holds, or leave the size of the data empty."
    if copies is not None and copies != int(copies):
        problems["copies"] = "Copies are a whole number."
    limit_ms, throughput_ops_s = number("within"), number("throughput")
    operation, statistic = texts["op"].upper(), texts["stat"] or "p99"
    if operation and operation not in OPERATIONS:
        problems["op"] = f"“{texts['op'][:40]}” is none of {', '.join(OPERATIONS)}."
        operation = ""
    if statistic not in STATISTICS:
        problems["stat"] = f"“{statistic[:40]}” is none of {', '.join(STATISTICS)}."
        statistic = "p99"
    return Question(
        throughput_ops_s=throughput_ops_s,
        operation=operation,
        statistic=statistic,
        limit_us=None if limit_ms is None else limit_ms * 1000,
        survives=_events(parameters, problems),
        workload=texts["workload"],
        data_gb=data_gb,
        copies=None if copies is None else int(copies),
        node_gb=node_gb,
        headroom=number("headroom", HEADROOM, most=1) or HEADROOM,
        fill=number("fill", FILL, most=1) or FILL,
        price=number("price"),
        every_purpose=bool(texts["any"]),
        texts=texts,
        problems=problems,
    )


FIELDS: Final = (
    "throughput",
    "op",
    "stat",
    "within",
    "workload",
    "data",
    "copies",
    "node",
    "headroom",
    "fill",
    "price",
    "any",
)


def _events(parameters: Parameters, problems: dict[str, str]) -> tuple[str, ...]:
    wanted = set(parameters.getlist("survives")) - {""}
    if wanted - EVENTS.keys():
        problems["survives"] = f"Writes can be asked to survive {', '.join(EVENTS)}; something else is in the address."
    return tuple(event for event in EVENTS if event in wanted)
