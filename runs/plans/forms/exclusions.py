"""What a matrix leaves out, row by row as it was written in the builder, and what is wrong with a row."""

from dataclasses import dataclass
from typing import Any

from runs.identifiers import parse_uuid
from runs.models import Matrix
from runs.plans.messages import (
    CHOOSE_EXCLUDED,
    MODE_GONE,
    NOT_A_RUNG,
    REASON_NOT_PLAIN,
    REASON_TOO_LONG,
    WORKLOAD_GONE,
    WRITE_REASON,
)

NO_REASON = "the reason is still to be written"
MAX_REASON_LENGTH = 300
MAX_EXCLUSIONS = 200


@dataclass(slots=True)
class Exclusion:
    """One row of what is left out, as it was written. `entry` is "database:mode", empty for any of them."""

    entry: str = ""
    workload: str = ""
    rung: str = ""
    reason: str = ""
    error: str = ""

    def rule(self) -> dict[str, Any]:
        """The rule of `Matrix.exclusions` that this row means."""
        match: dict[str, object] = {}
        if self.entry:
            match["database"], match["mode"] = self.entry.split(":", 1)
        if self.workload:
            match["workload"] = self.workload
        if self.rung:
            match["rung"] = int(self.rung)
        return {"match": match, "reason": self.reason or NO_REASON}


def get_exclusions(source: Matrix | None) -> list[Exclusion]:
    rows = []
    for rule in source.exclusions if source else []:
        match = rule["match"]
        entry = ""
        if "database" in match and "mode" in match:
            entry = f"{match['database']}:{match['mode']}"
        rows.append(Exclusion(entry, str(match.get("workload", "")), str(match.get("rung", "")), rule["reason"]))
    return rows


def problem_with(row: Exclusion, entries: set[str], workloads: set[str], *, needs_reason: bool) -> str:
    """The problem with a row of exclusions, as a sentence; empty when there is none."""
    if row.entry and row.entry not in entries:
        return MODE_GONE
    if row.workload and (parse_uuid(row.workload) is None or row.workload not in workloads):
        return WORKLOAD_GONE
    if row.rung and not (row.rung.isascii() and row.rung.isdigit() and len(row.rung) < 11):
        return NOT_A_RUNG.format(text=row.rung[:20])
    if not (row.entry or row.workload or row.rung):
        return CHOOSE_EXCLUDED
    if not row.reason.replace("\t", " ").isprintable():
        return REASON_NOT_PLAIN
    if len(row.reason) > MAX_REASON_LENGTH:
        return REASON_TOO_LONG.format(length=len(row.reason), limit=MAX_REASON_LENGTH)
    if needs_reason and not row.reason:
        return WRITE_REASON

    return ""
