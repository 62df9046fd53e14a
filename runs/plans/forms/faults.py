"""The planned faults of a matrix, row by row as they were written in the builder, and what is wrong with a row."""

import math
from dataclasses import astuple, dataclass
from typing import Final

from benchsite.core.formatting import exact
from runs.models import Matrix
from runs.plans.faults import KINDS
from runs.queue.spec import FaultSpec

COLUMNS: Final = ("kind", "at_s", "duration_s", "node", "value")
# A person may send any number of rows.
MAX_ROWS: Final = 100


@dataclass(slots=True)
class FaultRow:
    """One planned fault as it was written. `node` is empty for all nodes, `value` for a kind without one."""

    kind: str = ""
    at_s: str = ""
    duration_s: str = ""
    node: str = ""
    value: str = ""
    error: str = ""

    @property
    def blank(self) -> bool:
        """Whether nothing was written: the kind alone is chosen from a list."""
        return not any(astuple(self))

    def fault(self) -> FaultSpec | None:
        """The fault that this row means; None, and `error` says why, where it means none."""
        names = {"kind of fault": self.kind, "begin": self.at_s, "duration": self.duration_s}
        if missing := [name for name, text in names.items() if not text]:
            self.error = f"Give the {missing[0]}, or clear the row."
            return None
        if self.kind not in KINDS:
            self.error = f"“{self.kind[:40]}” is no kind of fault: choose one from the list."
            return None
        numbers: list[float | None] = []
        for text in (self.at_s, self.duration_s, self.value):
            numbers.append(_number(text) if text else None)
            if text and numbers[-1] is None:
                self.error = f"“{text[:20]}” is no number: write it as in 5 or 0.5."
                return None
        if self.node and not (self.node.isascii() and self.node.isdigit() and len(self.node) < 5):
            self.error = f"“{self.node[:20]}” is no node: write its number, or leave it empty for all."
            return None
        at_s, duration_s, value = numbers
        assert at_s is not None and duration_s is not None
        node = int(self.node) if self.node else None
        return {"kind": self.kind, "at_s": at_s, "duration_s": duration_s, "node": node, "value": value}


def get_rows(source: Matrix | None) -> list[FaultRow]:
    """The faults of a stored matrix as rows of the builder."""
    return [
        FaultRow(*("" if value is None else value if isinstance(value, str) else exact(value).replace(",", "")
                   for value in (fault[name] for name in COLUMNS)))
        for fault in (source.faults if source else [])
    ]  # fmt: skip


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
