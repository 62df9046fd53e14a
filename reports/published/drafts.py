"""What somebody is putting together: the selection, what of it is shown in which order, what is said of it. Pure.

`Report.draft` holds it as JSON. Whatever cannot be read of it is as if it had never been written.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

from reports.compare.selection import Selection, read

MAX_QUERY_LENGTH: Final = 8_000
MAX_HEADLINE: Final = 600
MAX_NOTES_LENGTH: Final = 40_000
MAX_DISCLOSURE: Final = 500
MAX_FOOTNOTE: Final = 500
MAX_NAME_LENGTH: Final = 200  # of a part, a side or a column
MAX_KEPT_LENGTH: Final = 600  # of what was found: a connection string may be long
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
    footnotes: tuple[DraftFootnote, ...] = field(default=())
    kept: tuple[str, ...] = ()  # what was found and may be seen nevertheless

    @property
    def selection(self) -> Selection:
        return read(Parameters(parse_qs(self.query, keep_blank_values=True)))

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


def parse_draft(stored: Mapping[str, Any]) -> Draft:
    """The draft in a row."""

    def text(name: str, longest: int) -> str:
        value = stored.get(name, "")
        if isinstance(value, str):
            return _kept(value, longest)
        return ""

    def texts(name: str, most: int) -> tuple[str, ...]:
        value = stored.get(name, ())
        strings = []
        if isinstance(value, list | tuple):
            strings = [text for text in value if isinstance(text, str)]
        return tuple(_kept(text, MAX_KEPT_LENGTH) for text in strings[:most])

    return Draft(
        query=text("query", MAX_QUERY_LENGTH),
        items=texts("items", MAX_ITEMS),
        headline=text("headline", MAX_HEADLINE),
        notes=text("notes", MAX_NOTES_LENGTH),
        paid_by=text("paid_by", MAX_DISCLOSURE),
        vendor_relations=text("vendor_relations", MAX_DISCLOSURE),
        settings_reviewed_by=text("settings_reviewed_by", MAX_DISCLOSURE),
        footnotes=_footnotes(stored.get("footnotes", ())),
        kept=texts("kept", MAX_KEPT),
    )


def _kept(text: str, longest: int) -> str:
    """The text as a row can hold it: no NUL, and of bounded length."""
    return text[:longest].replace("\0", "")


def _footnotes(stored: Any) -> tuple[DraftFootnote, ...]:
    names = ("table", "side", "column", "text")
    if not isinstance(stored, list | tuple):
        return ()

    whole = [
        note for note in stored if isinstance(note, dict) and all(isinstance(note.get(name), str) for name in names)
    ]

    return tuple(
        DraftFootnote(
            table=_kept(note["table"], MAX_NAME_LENGTH),
            side=_kept(note["side"], MAX_NAME_LENGTH),
            column=_kept(note["column"], MAX_NAME_LENGTH),
            text=_kept(note["text"], MAX_FOOTNOTE),
        )
        for note in whole[:MAX_FOOTNOTES]
        if note["text"].strip()
    )
