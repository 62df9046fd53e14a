"""A report as files: canonical JSON, one CSV, Markdown. The self-contained page is made in `standalone_html`. Pure."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from benchsite.formatting import not_a_formula
from reports.figures.table import Table
from reports.frozen.content import NOT_STATED, Cells, Content, Footnote, canonical, in_order, sources_table
from reports.frozen.pages import DISCLOSED

FORMS: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
MAX_STEM: Final = 60
SHORT_DIGEST: Final = 16  # characters of it in the name of a file, by which an import notices damage

# In Markdown that others may show with HTML allowed, a tag stays a sign.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def file_name(title: str, digest: str, form: str) -> str:
    """ASCII, without anything that a file system or a header minds: "durability-of-redis-0123456789abcdef.json"."""
    stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:MAX_STEM].strip("-") or "report"
    return f"{stem}-{digest[:SHORT_DIGEST]}.{form}"


def as_json(content: Content) -> bytes:
    """The canonical bytes, whose SHA-256 is the report's digest."""
    return canonical(content)


def table_of(cells: Cells) -> Table:
    """A table of the content in the forms that tables have."""
    width = len(cells["columns"])
    rows = tuple(tuple((*row, *[None] * width)[:width]) for row in cells["rows"])
    return Table(tuple(cells["columns"]), rows)


def as_csv(content: Content, digest: str, imported: str = "") -> bytes:
    """Every table below the other, each after its name and an empty line; no cell is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out)

    def line(*cells: str) -> None:
        writer.writerow(map(not_a_formula, cells))

    line("report", content["title"])
    line("headline", content["headline"])
    line("team", content["team"])
    line("published", content["published_at"])
    line("SHA-256", digest)
    if imported:
        line("imported", imported)
    if content["demonstration"]:
        line("note", content["demonstration"])
    for name, cells in _tables(content):
        out.write("\r\n")
        line(name)
        out.write(table_of(cells).as_csv())
    return out.getvalue().encode()


def _tables(content: Content) -> Iterator[tuple[str, Cells]]:
    for part in in_order(content):
        yield part["title"], part["table"]
    yield from _method_tables(content)


def _method_tables(content: Content) -> Iterator[tuple[str, Cells]]:
    method = content["method"]
    yield "Environment", method["environment"]
    yield "Validity", method["validity"]
    yield "Left out", method["excluded"]
    yield "Sources", sources_table(content)


def as_markdown(content: Content, digest: str, address: str, imported: str = "") -> bytes:
    """One document: words, captions and tables; pictures stay at the report's address."""
    paragraphs = [f"# {_line(content['title'])}", f"**{_line(content['headline'])}**" if content["headline"] else ""]
    paragraphs.append(f"{_line(content['team'])}, published {content['published_at']}: <{address}>")
    paragraphs += [f"> {_line(warning)}" for warning in (imported, content["demonstration"]) if warning]
    paragraphs.append(_TAG.sub("&lt;", content["notes"]))
    for part in in_order(content):
        paragraphs += [f"## {_line(part['title'])}", _line(part["says"])]
        if "drawn" in part:
            paragraphs.append(_line(part["empty"] or part["caption"]))
            paragraphs.append("\n".join(f"- {_line(note)}" for note in part["notes"]))
        paragraphs.append(table_of(part["table"]).as_markdown())
        if "footnotes" in part:
            paragraphs.append("\n".join(_footnote(part["table"], note) for note in part["footnotes"]))
    paragraphs += _appendix(content)
    paragraphs.append(f"SHA-256 of the report's canonical JSON: `{digest}`")
    return ("\n\n".join(paragraph.strip("\n") for paragraph in paragraphs if paragraph.strip()) + "\n").encode()


def _appendix(content: Content) -> Iterator[str]:
    yield "## Disclosures"
    stated = content["disclosures"]
    yield "\n".join(f"- {label}: {_line(str(stated.get(key) or NOT_STATED))}" for key, label in DISCLOSED)
    method = content["method"]
    yield "## Method"
    yield "\n".join(f"- {_line(sentence)}" for sentence in method["sentences"])
    yield "Algorithms: " + ", ".join(f"{_line(n)} {_line(v)}" for n, v in sorted(method["algorithms"].items()))
    for title, cells in _method_tables(content):
        if cells["rows"]:
            yield f"## {title}"
            yield table_of(cells).as_markdown()


def _footnote(cells: Cells, note: Footnote) -> str:
    columns, at = cells["columns"], note["column"]
    column = columns[at] if 0 <= at < len(columns) else str(at + 1)
    return f"- row {note['row'] + 1}, {_line(column)}: {_line(note['text'])}"


def _line(text: str) -> str:
    """A text in one line, in which nothing is markup."""
    escaped = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]>|~#])", r"\\\1", escaped)
