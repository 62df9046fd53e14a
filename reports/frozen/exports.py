"""A report as files: canonical JSON, one CSV, Markdown. The self-contained page is made in `alone`. Pure."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from reports.figures.table import FORMULA_STARTS, Table
from reports.frozen.content import NOT_STATED, Cells, Content, canonical
from reports.frozen.pages import DISCLOSED

FORMS: Final = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
LONGEST_STEM: Final = 60
SHORT_DIGEST: Final = 16  # characters of it in the name of a file, by which an import notices damage

# In Markdown that others may show with HTML allowed, a tag stays a sign.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def file_name(title: str, digest: str, form: str) -> str:
    """ASCII, without anything that a file system or a header minds: "durability-of-redis-0123456789abcdef.json"."""
    stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:LONGEST_STEM].strip("-") or "report"
    return f"{stem}-{digest[:SHORT_DIGEST]}.{form}"


def as_json(content: Content) -> bytes:
    """The canonical bytes, whose SHA-256 is the report's digest."""
    return canonical(content)


def table_of(cells: Cells) -> Table:
    """A table of the content in the forms that tables have."""
    width = len(cells["columns"])
    rows = tuple(tuple((*row, *[None] * width)[:width]) for row in cells["rows"])
    return Table(tuple(cells["columns"]), rows)


def as_csv(content: Content, digest: str) -> bytes:
    """Every table below the other, each after its name and an empty line; no cell is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out)

    def line(*cells: str) -> None:
        writer.writerow([f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell for cell in cells])

    line("report", content["title"])
    line("headline", content["headline"])
    line("team", content["team"])
    line("published", content["published_at"])
    line("SHA-256", digest)
    if content["demonstration"]:
        line("note", content["demonstration"])
    for name, cells in _tables(content):
        out.write("\r\n")
        line(name)
        out.write(table_of(cells).as_csv())
    return out.getvalue().encode()


def _tables(content: Content) -> Iterator[tuple[str, Cells]]:
    known = {one["name"]: one for one in (*content["figures"], *content["tables"])}
    for name in dict.fromkeys([*(one for one in content["order"] if one in known), *known]):
        yield known[name]["title"], known[name]["table"]
    method = content["method"]
    yield "Environment", method["environment"]
    yield "Validity", method["validity"]
    yield "Left out", method["excluded"]
    yield "Sources", _sources(content)


def _sources(content: Content) -> Cells:
    rows: list[list[str | int | float | None]] = [[s["name"], s["run"], s["sha256"]] for s in content["sources"]]
    return {"columns": ["source", "run", "SHA-256"], "rows": rows}


def as_markdown(content: Content, digest: str, address: str) -> bytes:
    """One document: words, captions and tables; pictures stay at the report's address."""
    said = [f"# {_line(content['title'])}", f"**{_line(content['headline'])}**" if content["headline"] else ""]
    said.append(f"{_line(content['team'])}, published {content['published_at']}: <{address}>")
    said.append(f"> {_line(content['demonstration'])}" if content["demonstration"] else "")
    said.append(_TAG.sub("&lt;", content["notes"]))
    figures = {one["name"]: one for one in content["figures"]}
    tables = {one["name"]: one for one in content["tables"]}
    for name in dict.fromkeys([*content["order"], *figures, *tables]):
        if name in figures:
            one = figures[name]
            said += [f"## {_line(one['title'])}", _line(one["says"]), _line(one["empty"] or one["caption"])]
            said += ["\n".join(f"- {_line(note)}" for note in one["notes"]), table_of(one["table"]).as_markdown()]
        elif name in tables:
            said += [f"## {_line(tables[name]['title'])}", _line(tables[name]["says"])]
            said.append(table_of(tables[name]["table"]).as_markdown())
            said.append(
                "\n".join(
                    f"- row {note['row'] + 1}, {_line(_column(tables[name]['table'], note['column']))}:"
                    f" {_line(note['text'])}"
                    for note in tables[name]["footnotes"]
                )
            )
    said += _appendix(content)
    said.append(f"SHA-256 of the report's canonical JSON: `{digest}`")
    return ("\n\n".join(one.strip("\n") for one in said if one.strip()) + "\n").encode()


def _appendix(content: Content) -> Iterator[str]:
    yield "## Disclosures"
    stated = content["disclosures"]
    yield "\n".join(f"- {label}: {_line(str(stated.get(key) or NOT_STATED))}" for key, label in DISCLOSED)
    method = content["method"]
    yield "## Method"
    yield "\n".join(f"- {_line(sentence)}" for sentence in method["sentences"])
    yield "Algorithms: " + ", ".join(f"{_line(n)} {_line(v)}" for n, v in sorted(method["algorithms"].items()))
    parts = (("Environment", method["environment"]), ("Validity", method["validity"]), ("Left out", method["excluded"]))
    for title, cells in (*parts, ("Sources", _sources(content))):
        if cells["rows"]:
            yield f"## {title}"
            yield table_of(cells).as_markdown()


def _column(cells: Cells, index: int) -> str:
    return cells["columns"][index] if 0 <= index < len(cells["columns"]) else str(index + 1)


def _line(text: str) -> str:
    """A text in one line, in which nothing is markup."""
    said = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]>|~#])", r"\\\1", said)
