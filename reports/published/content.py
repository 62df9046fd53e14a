"""What one revision of a report holds: all that its page, its exports and its script need, and not one row of a run.

The digest is over canonical JSON: the same content has the same one everywhere. Pure.
"""

import hashlib
import json
from typing import Any, Final, NotRequired, TypedDict, final

from benchsite.core.table import Table

FORMAT: Final = "benchsite-report"
VERSION: Final = 1  # of this shape; readers take every version that there ever was
NOT_STATED: Final = "not stated"


class Cells(TypedDict):
    """A table: `benchsite.core.table.Table.as_dict()`."""

    columns: list[str]
    rows: list[list[str | int | float | None]]


class Drawing(TypedDict):
    """What plotly.js draws, once it is harmless (`rendering`)."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


@final
class FrozenFigure(TypedDict):
    """One picture, as it was drawn at publishing, with its numbers."""

    name: str  # slug, unique in the report: "ceilings", "latency-read"
    title: str
    says: str  # how to read it
    caption: str
    conditions: NotRequired[list[list[str]]]  # term and sentence; older revisions have them in their captions
    notes: list[str]
    empty: str  # what is said instead of a picture
    height_px: int  # 0: the ordinary height
    # Empty where `empty` says why.
    drawn: dict[str, Drawing]  # by theme: light, dark, light-narrow, dark-narrow
    table: Cells


class Footnote(TypedDict):
    """A remark on one cell of a table."""

    row: int
    column: int
    text: str


@final
class FrozenTable(TypedDict):
    name: str
    title: str
    says: str
    table: Cells
    footnotes: list[Footnote]


class Disclosures(TypedDict):
    """Whatever is empty reads "not stated"."""

    paid_by: str
    vendor_relations: str
    settings_reviewed_by: str


class Method(TypedDict):
    """How the numbers were made; written by Benchsite itself."""

    sentences: list[str]
    algorithms: dict[str, str]  # name -> version: "log-Welch or blocked 13", readers, merging, checks
    environment: Cells  # a column for each side
    validity: Cells  # what the checks say of each run
    excluded: Cells  # runs that were left out, with the reasons


class Source(TypedDict):
    """One run that the numbers come from; it may be deleted since."""

    run: str  # its id on the site that published
    name: str
    sha256: str  # over its current measurement set and its artifacts' digests


class Content(TypedDict):
    """One revision. Plain text everywhere; `notes` is Markdown, sanitised when it is shown."""

    format: str
    version: int
    title: str  # never blank
    headline: str  # as one text; `findings` and `certainty` are its sentences, where Benchsite wrote them
    findings: NotRequired[list[str]]
    certainty: NotRequired[str]
    notes: str
    team: str
    published_at: str  # RFC 3339, UTC
    demonstration: str  # what every reader must know first ("demonstration: too short to publish"), or empty
    order: list[str]  # names of figures and tables, as they follow one another
    figures: list[FrozenFigure]
    tables: list[FrozenTable]
    verdicts: list[dict[str, Any]]  # each with side, baseline, metric, ratio, low, high, outcome, reason, algorithm
    disclosures: Disclosures
    method: Method
    sources: list[Source]
    plan: NotRequired[str]  # the plan file (TOML) by which it can be run again; absent for uploaded results
    loads: NotRequired[dict[str, list[int]]]  # name of a sweep -> the loads that a search measured


def in_order(content: Content) -> list[FrozenFigure | FrozenTable]:
    """Figures and tables in the order that the author chose; what it forgets comes last."""
    parts: dict[str, FrozenFigure | FrozenTable] = {
        **{figure["name"]: figure for figure in content["figures"]},
        **{table["name"]: table for table in content["tables"]},
    }
    return [parts[name] for name in dict.fromkeys([*content["order"], *parts]) if name in parts]


def sources_table(content: Content) -> Cells:
    """The runs that the numbers come from."""
    rows: list[list[str | int | float | None]] = [[s["name"], s["run"], s["sha256"]] for s in content["sources"]]
    return {"columns": ["source", "run", "SHA-256"], "rows": rows}


def canonical(content: Content) -> bytes:
    """UTF-8 JSON with sorted keys and no blanks: the same content has the same bytes everywhere."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(content: Content) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(content)).hexdigest()


def build_table(cells: Cells) -> Table:
    """A table of the content in the forms that tables have."""
    width = len(cells["columns"])
    rows = tuple(tuple((*row, *[None] * width)[:width]) for row in cells["rows"])
    return Table(tuple(cells["columns"]), rows)
