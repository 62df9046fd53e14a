"""The planned faults of a matrix, row by row as they were written in the builder, and what is wrong with a row."""

from dataclasses import asdict, astuple, dataclass
from typing import Any, Final

from pydantic import ValidationError

from benchsite.core.formatting import exact
from runs.plans.plan_spec import PlanFault

COLUMNS: Final = tuple(PlanFault.model_fields)
# A person may send any number of rows.
MAX_ROWS: Final = 100
MISSING: Final = {"kind": "kind of fault", "at_s": "begin", "duration_s": "duration"}
UNREADABLE: Final = {
    "kind": "is no kind of fault: choose one from the list.",
    "node": "is no node: write its number, or leave it empty for all.",
}


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

    def fault(self) -> PlanFault | None:
        """The fault that this row means; None, and `error` says why, where it means none."""
        cells = {name: text for name, text in asdict(self).items() if text and name in COLUMNS}
        try:
            return PlanFault.model_validate(cells)
        except ValidationError as refusal:
            problem = refusal.errors()[0]
        column = str(problem["loc"][0])
        if problem["type"] == "missing":
            self.error = f"Give the {MISSING[column]}, or clear the row."
        else:
            limit = problem.get("ctx", {}).get("error", "is no number: write it as in 5 or 0.5")
            reason = UNREADABLE.get(column, f"{limit}.")
            self.error = f"“{cells[column][:40]}” {reason}"
        return None


def get_rows(faults: list[dict[str, Any]]) -> list[FaultRow]:
    """Stored faults as rows of the builder."""
    return [FaultRow(**{name: _as_typed(fault[name]) for name in COLUMNS}) for fault in faults]


def _as_typed(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return exact(value).replace(",", "")
