"""What somebody is putting together: the selection, what of it is shown in which order, what is said of it. Pure.

`Report.draft` holds it as JSON, which only forms and the API write, within these limits.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from reports.compare.selection import Selection, read

MAX_QUERY_LENGTH: Final = 8_000
MAX_HEADLINE: Final = 600
MAX_NOTES_LENGTH: Final = 40_000
MAX_DISCLOSURE: Final = 500
MAX_FOOTNOTE: Final = 500
MAX_ITEMS: Final = 60
MAX_FOOTNOTES: Final = 40
MAX_KEPT: Final = 500
CELL_SEPARATOR: Final = "\x1f"  # between a table and its column in one choice of the form


class Parameters(dict[str, list[str]]):
    """A query string as `reports.compare.selection.read` wants it."""

    def getlist(self, key: str) -> list[str]:
        return self.get(key, [])


@dataclass(frozen=True, slots=True)
class DraftFootnote:
    """A remark on the cell of one side in one column; by what the reader sees, so that it stays with its cell."""

    table: str
    side: str  # what stands in the first column
    column: str
    text: str

    @property
    def cell(self) -> str:
        """Table and column as one choice of the form."""
        return f"{self.table}{CELL_SEPARATOR}{self.column}"


@dataclass(frozen=True, slots=True)
class Draft:
    """Empty means: as Benchsite proposes it."""

    query: str = ""  # of the compare page, without its question mark
    items: tuple[str, ...] = ()  # names of figures and tables in their order
    headline: str = ""
    notes: str = ""
    paid_by: str = ""
    vendor_relations: str = ""
    settings_reviewed_by: str = ""
    footnotes: tuple[DraftFootnote, ...] = ()
    kept: tuple[str, ...] = ()  # what was found and may be seen nevertheless

    @property
    def selection(self) -> Selection:
        return read(Parameters(parse_qs(self.query, keep_blank_values=True)))

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def parse_draft(stored: Mapping[str, Any]) -> Draft:
    """The draft that `Draft.as_json` wrote."""
    values = dict(stored)
    for name in ("items", "kept"):
        values[name] = tuple(stored.get(name, ()))
    values["footnotes"] = tuple(DraftFootnote(**note) for note in stored.get("footnotes", ()))
    return Draft(**values)
