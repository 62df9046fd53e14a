"""What the page of a frozen report says, worked out of its content alone. Pure."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.formatting import is_number
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
class Shown:
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


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it is written."""

    columns: tuple[tuple[str, bool], ...]  # with whether its cells are numbers
    rows: tuple[tuple[tuple[Shown, bool], ...], ...]
    footnotes: tuple[tuple[int, str], ...] = ()

    @property
    def is_long(self) -> bool:
        return len(self.rows) >= FOLDED_FROM


def get_page(content: Content) -> dict[str, Any]:
    """The whole report: the page's own words, parts in the order that the author chose."""
    method = content["method"]
    disclosed: list[tuple[str, str, bool]] = []  # label, text, whether it was stated
    for key, label in DISCLOSED:
        text = str(content["disclosures"].get(key, "")).strip()
        disclosed.append((label, text or NOT_STATED, bool(text)))

    return {
        "title": content["title"],
        "headline": content["headline"],
        "team": content["team"],
        "published_at": _instant(content["published_at"]),
        "demonstration": content["demonstration"],
        "disclosures": disclosed,
        "parts": list(_parts(content)),
        "judged": [_judged(verdict) for verdict in content["verdicts"]],  # against a baseline
        "sentences": method["sentences"],
        "algorithms": sorted((str(name), str(version)) for name, version in method["algorithms"].items()),
        "environment": [grid(cells) for cells in abreast(method["environment"])],
        "validity": grid(method["validity"]),
        "excluded": grid(method["excluded"]),
        "sources": grid(sources_table(content)),
        "again": _again(content),
    }


def _again(content: Content) -> dict[str, str]:
    """The script that repeats the report, or why there is none; empty for a report without a plan."""
    if not content.get("plan"):
        return {}
    try:
        return {"script": repeat_script(content["plan"], content.get("loads", {}))}
    except PlanRefused as refused:
        return {"obstacle": str(refused)}


def part_named(content: Content, name: str, kind: str) -> dict[str, Any] | None:
    """One figure or table of the report."""
    return next((part for part in _parts(content) if part["name"] == name and part["kind"] == kind), None)


def _parts(content: Content) -> Iterator[dict[str, Any]]:
    """Figures and tables in their places: what the content says of each, and how its page shows it."""
    numbers = {"figure": 0, "table": 0}
    parts: list[Any] = in_order(content)
    for part in parts:
        kind = "table"
        if "drawn" in part:
            kind = "figure"
        numbers[kind] += 1
        cells = grid(part["table"], part.get("footnotes", ()))
        yield {
            **part,
            "kind": kind,
            "number": numbers[kind],  # among its like
            "label": f"{kind.capitalize()} {numbers[kind]}",
            "grid": cells,
            # A table that needs a page of paper turned round.
            "is_wide": kind == "table" and len(cells.columns) > WIDE_FROM,
        }


def grid(cells: Cells, footnotes: Sequence[Footnote] = ()) -> Grid:
    """The cells with their signs, numbers to the right."""
    columns, rows = cells["columns"], cells["rows"]
    numeric = [_is_of_numbers([row[i] for row in rows if i < len(row)]) for i in range(len(columns))]
    signs: dict[tuple[int, int], list[int]] = {}
    for sign, note in enumerate(footnotes, 1):
        signs.setdefault((note["row"], note["column"]), []).append(sign)

    return Grid(
        tuple(zip(columns, numeric, strict=True)),
        tuple(
            tuple((shown(cell, tuple(signs.get((y, x), ()))), numeric[x]) for x, cell in enumerate(row[: len(columns)]))
            for y, row in enumerate(rows)
        ),
        tuple((sign, note["text"]) for sign, note in enumerate(footnotes, 1)),
    )


def shown(cell: Cell, signs: tuple[int, ...] = ()) -> Shown:
    """A cell as charts.js writes it."""
    if not is_number(cell):
        text = formatting.NOTHING if cell is None or cell == "" else str(cell)
        verdict = ""
        if text in VERDICTS:
            verdict = text
        return Shown(text, signs=signs, verdict=verdict)
    assert isinstance(cell, int | float)
    return Shown(formatting.cell(cell), repr(cell), signs)


def _is_of_numbers(column: Sequence[Cell]) -> bool:
    """Whether a column is set as numbers: a side of the environment has some, among words that must wrap."""
    numbers = sum(is_number(cell) for cell in column)
    words = sum(isinstance(cell, str) and cell != "" for cell in column)
    return numbers > 0 and numbers >= words


def abreast(cells: Cells) -> list[Cells]:
    """A table whose columns are sides, cut into such as fit beside each other; each repeats the first column."""
    columns, rows = cells["columns"], cells["rows"]
    if len(columns) <= SIDES_ABREAST + 1:
        if rows:
            return [cells]
        return []

    return [
        {
            "columns": [columns[0], *columns[at : at + SIDES_ABREAST]],
            "rows": [[*row[:1], *row[at : at + SIDES_ABREAST]] for row in rows],
        }
        for at in range(1, len(columns), SIDES_ABREAST)
    ]


def _judged(verdict: dict[str, Any]) -> dict[str, str]:
    low, high = verdict.get("low"), verdict.get("high")
    interval = f"{_times(low)} to {_times(high)}" if is_number(low) and is_number(high) else formatting.NOTHING
    if verdict.get("bound") == "at least" and is_number(low):
        interval = f"at least {_times(low)}"
    texts = {
        name: str(verdict.get(name, "")) for name in ("side", "baseline", "metric", "outcome", "reason", "algorithm")
    }
    tone = OUTCOMES.get(texts["outcome"], "")
    return {**texts, "ratio": _times(verdict.get("ratio")), "interval": interval, "tone": tone}


def _times(ratio: object) -> str:
    if isinstance(ratio, int | float):
        return f"{formatting.significant(float(ratio))}\N{MULTIPLICATION SIGN}"
    return formatting.NOTHING


def _instant(text: str) -> dt.datetime | None:
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo:
        return instant
    return instant.replace(tzinfo=dt.UTC)
