"""What a benchmark of Benchsite found, as a table in the terminal and as JSON in `var/bench/`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from workers.facts import machine_facts


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark: every measurement it rests on, the one figure that counts, and what is wanted of it."""

    name: str  # of the JSON file
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    figure: float
    unit: str  # "ratio", "s" or "MB/s"
    wanted: str  # in words: "at least 0.98"
    met: bool
    notes: str = ""
    statistic: str = "median"  # what the figure is of the rows
    raw: dict[str, object] = field(default_factory=dict)

    def table(self) -> str:
        """The table, right-aligned, with the figure and the verdict below it."""
        cells = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.columns))]
        lines = ["  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        verdict = "met" if self.met else "NOT met"
        unit = "" if self.unit == "ratio" else f" {self.unit}"
        figure = f"{self.statistic} {self.figure:.3f}{unit}, wanted {self.wanted}: {verdict}"
        return "\n".join([self.title, *lines, f"  {figure}", *([f"  {self.notes}"] if self.notes else [])])

    def write(self, folder: Path) -> Path:
        """`<name>.json` in the folder, replacing that of an earlier time."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        content = {"measured_at": datetime.now(UTC).isoformat(), "machine": machine_facts(), **asdict(self)}
        path.write_text(json.dumps(content, indent=2, default=str) + "\n")
        return path


def _cell(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else value
