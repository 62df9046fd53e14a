"""What the page of a frozen report says, worked out of its content alone. Pure."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.table import Cell
from reports.published.content import NOT_STATED, Cells, Content, Footnote, in_order, sources_table
from runs.plans.files.plan import PlanRefused
from runs.plans.files.script import repeat_script

SIDES_ABREAST: Final = 6  # of the environment: more stand below each other, for a page of paper has no more room
MAX_LINE_LENGTH: Final = 40  # characters of a cell that is no prose yet
SHORT: Final = 12  # characters of a cell that stay together
WIDE_FROM: Final = 10  # columns
FOLDED_FROM: Final = 12  # rows from which an appendix is folded on a screen
OUTCOMES: Final = {"regression": "worse", "slower": "worse", "improvement": "better", "faster": "better"}
VERDICTS: Final = frozenset({"pass", "warn", "reject"})
DISCLOSED: Final = (
    ("paid_by", "Paid by"),
    ("vendor_relations", "Relations to vendors"),
    ("settings_reviewed_by", "Settings reviewed by"),
)


@dataclass(frozen=True, slots=True)
class ReportCell:
    """One cell: what stands there, its full value for a look on hover, the signs of its footnotes."""

    text: str
    full: str = ""
    signs: tuple[int, ...] = ()
    verdict: str = ""  # pass, warn, reject: drawn as a badge

    @property
    def is_prose(self) -> bool:
        """Whether it needs several lines."""
        return len(self.text) > MAX_LINE_LENGTH

    @property
    def is_short(self) -> bool:
        """Whether it stays on one line: a value with its unit."""
        return len(self.text) <= SHORT


def get_page(content: Content) -> dict[str, Any]:
    """The whole report: the page's own words, parts in the order that the author chose."""
    method = content["method"]
    return {
        "title": content["title"],
        "headline": content["headline"],
        "findings": content.get("findings", []),
        "certainty": content.get("certainty", ""),
        "team": content["team"],
        "published_at": _parse_instant(content["published_at"]),
        "demonstration": content["demonstration"],
        "disclosures": list(_describe_disclosures(content)),
        "parts": list(_list_parts(content)),
        "judged": [_describe_verdict(verdict) for verdict in content["verdicts"]],  # against a baseline
        "sentences": method["sentences"],
        "algorithms": sorted((str(name), str(version)) for name, version in method["algorithms"].items()),
        "environment": [grid(cells) for cells in abreast(method["environment"])],
        "validity": grid(method["validity"]),
        "excluded": grid(method["excluded"]),
        "sources": grid(sources_table(content)),
        "again": _build_script(content),
    }


def _describe_disclosures(content: Content) -> Iterator[tuple[str, str, bool]]:
    """Label, text, and whether it was stated."""
    for key, label in DISCLOSED:
        text = str(content["disclosures"].get(key, "")).strip()
        yield label, text or NOT_STATED, bool(text)


def _build_script(content: Content) -> dict[str, str]:
    """The script that repeats the report, or why there is none; empty for a report without a plan."""
    if not content.get("plan"):
        return {}
    try:
        return {"script": repeat_script(content["plan"], content.get("loads", {}))}
    except PlanRefused as refused:
        return {"obstacle": str(refused)}


def part_named(content: Content, name: str, kind: str) -> dict[str, Any] | None:
    """One figure or table of the report."""
    for part in _list_parts(content):
        if part["name"] == name and part["kind"] == kind:
            return part
    return None


def _list_parts(content: Content) -> Iterator[dict[str, Any]]:
    """Figures and tables in their places: what the content says of each, and how its page shows it."""
    numbers = {"figure": 0, "table": 0}
    parts: list[Any] = in_order(content)
    for part in parts:
        kind = "figure" if "drawn" in part else "table"
        numbers[kind] += 1
        cells = grid(part["table"], part.get("footnotes", ()))
        yield {
            **part,
            "kind": kind,
            "number": numbers[kind],  # among its like
            "label": f"{kind.capitalize()} {numbers[kind]}",
            "grid": cells,
            # A table that needs a page of paper turned round.
            "is_wide": kind == "table" and len(cells["columns"]) > WIDE_FROM,
        }


def grid(cells: Cells, footnotes: Sequence[Footnote] = ()) -> dict[str, Any]:
    """The table as it is written: columns and cells, each with whether it is set as a number, and the footnotes with
    their signs.
    """
    columns = cells["columns"]
    numeric = [_is_numeric(cells, column) for column in range(len(columns))]
    signs: dict[tuple[int, int], tuple[int, ...]] = {}
    for sign, note in enumerate(footnotes, 1):
        position = (note["row"], note["column"])
        signs[position] = (*signs.get(position, ()), sign)

    rows = []
    for y, row in enumerate(cells["rows"]):
        written = [build_cell(cell, signs.get((y, x), ())) for x, cell in enumerate(row)]
        # A row may be longer or shorter than the head.
        rows.append(list(zip(written, numeric, strict=False)))

    return {
        "columns": list(zip(columns, numeric, strict=True)),
        "rows": rows,
        "is_long": len(rows) >= FOLDED_FROM,
        "footnotes": [(sign, note["text"]) for sign, note in enumerate(footnotes, 1)],
    }


def build_cell(cell: Cell, signs: tuple[int, ...] = ()) -> ReportCell:
    """A cell as charts.js writes it."""
    if formatting.is_number(cell):
        return ReportCell(formatting.cell(cell), full=repr(cell), signs=signs)
    if cell is None or cell == "":
        return ReportCell(formatting.NOTHING, signs=signs)
    text = str(cell)
    if text in VERDICTS:
        return ReportCell(text, signs=signs, verdict=text)
    return ReportCell(text, signs=signs)


def _is_numeric(cells: Cells, column: int) -> bool:
    """Whether a column is set as numbers: a side of the environment has some, among words that must wrap."""
    values = [row[column] for row in cells["rows"] if column < len(row)]
    numbers = sum(formatting.is_number(value) for value in values)
    words = sum(isinstance(value, str) and value != "" for value in values)
    return numbers > 0 and numbers >= words


def abreast(cells: Cells) -> list[Cells]:
    """A table whose columns are sides, cut into such as fit beside each other; each repeats the first column."""
    columns, rows = cells["columns"], cells["rows"]
    if len(columns) <= SIDES_ABREAST + 1:
        return [cells] if rows else []

    parts: list[Cells] = []
    for start in range(1, len(columns), SIDES_ABREAST):
        sides = slice(start, start + SIDES_ABREAST)
        parts.append({"columns": [columns[0], *columns[sides]], "rows": [[*row[:1], *row[sides]] for row in rows]})
    return parts


def _describe_verdict(verdict: dict[str, Any]) -> dict[str, str]:
    low, high = verdict.get("low"), verdict.get("high")
    interval = formatting.NOTHING
    if formatting.is_number(low) and verdict.get("bound") == "at least":
        interval = f"at least {_format_ratio(low)}"
    elif formatting.is_number(low) and formatting.is_number(high):
        interval = f"{_format_ratio(low)} to {_format_ratio(high)}"
    names = ("side", "baseline", "metric", "outcome", "reason", "algorithm")
    texts = {name: str(verdict.get(name, "")) for name in names}
    tone = OUTCOMES.get(texts["outcome"], "")
    return {**texts, "ratio": _format_ratio(verdict.get("ratio")), "interval": interval, "tone": tone}


def _format_ratio(ratio: object) -> str:
    if formatting.is_number(ratio):
        return f"{formatting.significant(float(ratio))}{formatting.TIMES}"
    return formatting.NOTHING


def _parse_instant(text: str) -> dt.datetime | None:
    """When it was published; a preview is not yet."""
    return dt.datetime.fromisoformat(text) if text else None
