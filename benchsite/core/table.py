"""A table and its exports: CSV, Markdown, LaTeX. Every cell may be a text that a stranger wrote."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchsite.core import formatting

Cell = str | int | float | None

_MARKDOWN = str.maketrans({"&": "&amp;", **{sign: f"\\{sign}" for sign in "\\`*_{}[]<>|~#"}})
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        # Beyond what every LaTeX has a letter for.
        "µ": r"\textmu{}",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "≈": r"$\approx$",
        "\N{MINUS SIGN}": r"$-$",
        "…": r"\ldots{}",
        "\N{NARROW NO-BREAK SPACE}": r"\,",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
    }
)


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def as_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "rows": [list(map(_plain, row)) for row in self.rows]}

    def as_csv(self) -> str:
        return "".join(map(csv_line, (self.columns, *self.rows)))

    def as_markdown(self) -> str:
        """A table of GitHub's Markdown, numbers to the right with the digits of pages."""
        alignments = ["---:" if is_numeric else "---" for is_numeric in self._numeric()]
        lines = [[_escape_markdown(column) for column in self.columns], alignments]
        for row in self.rows:
            lines.append([_escape_markdown(_format(cell)) for cell in row])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def as_latex(self) -> str:
        """A tabular that needs no package, numbers to the right with the digits of pages."""
        alignments = "".join("r" if is_numeric else "l" for is_numeric in self._numeric())
        head = " & ".join(map(_escape_latex, self.columns))
        body = ""
        for row in self.rows:
            line = " & ".join(_escape_latex(_format(cell)) for cell in row)
            body += f"{line} \\\\\n"
        return f"\\begin{{tabular}}{{{alignments}}}\n\\hline\n{head} \\\\\n\\hline\n{body}\\hline\n\\end{{tabular}}\n"

    def _numeric(self) -> list[bool]:
        if not self.rows:
            return [False] * len(self.columns)
        return [any(map(_is_number, column)) for column in zip(*self.rows, strict=True)]


# The columns of a table by their titles: a path of attributes ("curve.mode"), or a function of the row.
Columns = Mapping[str, str | Callable[[Any], Any]]


def tabulated(columns: Columns, rows: Iterable[object]) -> Table:
    """A table of these columns. A path that leads over None is an empty cell."""
    return Table(tuple(columns), tuple(read_row(columns, row) for row in rows))


def read_row(columns: Columns, row: object) -> tuple[Any, ...]:
    return tuple(_read(row, column) for column in columns.values())


def or_empty(path: str) -> Callable[[Any], Any]:
    """A column of texts: what is missing is the empty text."""
    return lambda row: _read(row, path) or ""


def csv_line(cells: Iterable[Any]) -> str:
    """Numbers in full, lists with commas, times as ISO 8601; no cell is a formula to a spreadsheet."""
    out = io.StringIO()
    csv.writer(out).writerow([_format_csv_cell(cell) for cell in cells])
    return out.getvalue()


def _format_csv_cell(cell: Any) -> Any:
    if isinstance(cell, datetime):
        cell = cell.isoformat()
    elif isinstance(cell, list):
        cell = ", ".join(cell)
    return formatting.not_a_formula(_plain(cell))


def _read(row: Any, column: str | Callable[[Any], Any]) -> Any:
    if not isinstance(column, str):
        return column(row)
    for name in column.split("."):
        row = None if row is None else getattr(row, name)
    return row


def bounded_percent(share: float | None, sign: str | None) -> Cell:
    """Per cent as a number; with its sign as a text where it is a bound, nothing where it may be anything."""
    if share is None or sign is None:
        return None
    if sign:
        return f"{sign}{formatting.significant(share * 100, 4)}"
    return share * 100


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float)


def _plain(cell: Cell) -> Cell:
    """Neither JSON nor a spreadsheet knows what is not finite: it is nothing."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell


def _format(cell: Cell) -> str:
    """For reading: the digits that pages show, without the commas between thousands."""
    cell = _plain(cell)
    if cell is None:
        return ""
    if isinstance(cell, float):
        return formatting.cell(cell).replace(",", "").replace(formatting.MINUS, "-")
    return str(cell)


def _escape_markdown(text: str) -> str:
    return _one_line(text).translate(_MARKDOWN)


def _escape_latex(text: str) -> str:
    return _one_line(text).translate(_LATEX)


def _one_line(text: str) -> str:
    """A line break ends a row, and what is no letter may do anything."""
    return "".join(c if c.isprintable() or c == "\N{NARROW NO-BREAK SPACE}" else " " for c in text)
