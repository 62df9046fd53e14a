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

    def text(name: str, max_length: int) -> str:
        value = stored.get(name)
        if isinstance(value, str):
            return _truncate(value, max_length)
        return ""

    def texts(name: str, max_count: int) -> tuple[str, ...]:
        value = stored.get(name)
        if not isinstance(value, list | tuple):
            return ()
        strings = [entry for entry in value if isinstance(entry, str)]
        return tuple(_truncate(entry, MAX_KEPT_LENGTH) for entry in strings[:max_count])

    return Draft(
        query=text("query", MAX_QUERY_LENGTH),
        items=texts("items", MAX_ITEMS),
        headline=text("headline", MAX_HEADLINE),
        notes=text("notes", MAX_NOTES_LENGTH),
        paid_by=text("paid_by", MAX_DISCLOSURE),
        vendor_relations=text("vendor_relations", MAX_DISCLOSURE),
        settings_reviewed_by=text("settings_reviewed_by", MAX_DISCLOSURE),
        footnotes=_parse_footnotes(stored.get("footnotes")),
        kept=texts("kept", MAX_KEPT),
    )


def _truncate(text: str, max_length: int) -> str:
    """The text as a row can hold it: no NUL, and of bounded length."""
    return text[:max_length].replace("\0", "")


def _parse_footnotes(stored: Any) -> tuple[DraftFootnote, ...]:
    if not isinstance(stored, list | tuple):
        return ()

    whole = [note for note in stored if _is_footnote(note)]
    footnotes = []
    for note in whole[:MAX_FOOTNOTES]:
        if note["text"].strip():
            footnotes.append(
                DraftFootnote(
                    table=_truncate(note["table"], MAX_NAME_LENGTH),
                    side=_truncate(note["side"], MAX_NAME_LENGTH),
                    column=_truncate(note["column"], MAX_NAME_LENGTH),
                    text=_truncate(note["text"], MAX_FOOTNOTE),
                )
            )
    return tuple(footnotes)


def _is_footnote(note: Any) -> bool:
    """Whether it has the four texts of a footnote."""
    if not isinstance(note, dict):
        return False
    return all(isinstance(note.get(name), str) for name in ("table", "side", "column", "text"))
