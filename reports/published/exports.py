"""A report as files: canonical JSON, a CSV for each table, Markdown, and a page that needs no network."""

import base64
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile, ZipInfo

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from benchsite.core.table import csv_line
from reports.published.content import NOT_STATED, Cells, Content, build_table, in_order, sources_table
from reports.published.links import Opened
from reports.published.messages import NO_STATIC_FILE
from reports.published.pages import DISCLOSED, get_page
from reports.published.sanitizer import harmless, notes_html

STYLES: Final = (
    "css/tokens.css", "css/base.css", "css/components.css", "css/report.css", "css/report-print.css",
)  # fmt: skip
SCRIPTS: Final = ("js/theme.js", "vendor/plotly-basic-4.1.1/plotly-basic.min.js", "js/report.js", "js/tables.js")
# Nothing is fetched from anywhere, whatever somebody wrote into the report.
POLICY: Final = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {scripts}; base-uri 'none'; "
    "form-action 'none'"
)
FORMS: Final = {
    "json": "application/json",
    "zip": "application/zip",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
MAX_STEM: Final = 60
SHORT_DIGEST: Final = 16  # characters of it in the name of a file, by which a reader notices damage
# In Markdown that others may show with HTML allowed, a tag stays a sign.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
NOTES: Final = "\ue000"  # in the place of the author's notes, whose blank lines stay


# Only files of this site become scripts, each allowed by its digest; what people wrote is data to them.
def alone_html(content: Content, opened: Opened, pictures: Mapping[str, bytes]) -> bytes:
    """The whole file. `pictures` are PNGs by the names of figures, for readers without JavaScript."""
    styles = [f"<style>{_read_static(name)}</style>\n" for name in STYLES]
    first_script, *last_scripts = [_read_script(name) for name in SCRIPTS]
    digests = [hashlib.sha256(script.encode()).digest() for script in (first_script, *last_scripts)]
    sources = [f"'sha256-{_encode_base64(digest)}'" for digest in digests]
    drawings: dict[str, dict[str, Any]] = {}
    for figure in content["figures"]:
        if figure["drawn"] and not figure["empty"]:
            drawings[figure["name"]] = {name: harmless(drawn) for name, drawn in figure["drawn"].items()}

    context: dict[str, Any] = {
        "page": get_page(content),
        "notes": notes_html(content["notes"]),
        "place": opened,
        "pictures": {name: f"data:image/png;base64,{_encode_base64(png)}" for name, png in pictures.items()},
        "policy": POLICY.format(scripts=" ".join(sources)),
        "styles": _mark_ours("".join(styles)),
        "first": _mark_ours(f"<script>{first_script}</script>"),
        "last": _mark_ours("".join(f"<script>{script}</script>\n" for script in last_scripts)),
        "drawings": json_script(drawings, "drawings"),
    }
    return render_to_string("reports/frozen/alone.html", context).encode()


def _mark_ours(html: str) -> SafeString:
    """Files of this site: never anything that came with a report."""
    return mark_safe(html)


def _encode_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _read_script(name: str) -> str:
    """A script that no text in it can end early."""
    script = re.sub(r"</(script)", r"<\\/\1", _read_static(name), flags=re.IGNORECASE)
    return script.replace("<!--", "<\\!--")


def _read_static(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), NO_STATIC_FILE.format(name=name)
    return Path(path).read_text(encoding="utf-8")


def file_name(title: str, digest: str, form: str) -> str:
    """ASCII, without anything that a file system or a header minds: "durability-of-redis-0123456789abcdef.json"."""
    return f"{_build_stem(title)}-{digest[:SHORT_DIGEST]}.{form}"


def _build_stem(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:MAX_STEM].strip("-") or "report"


def as_zip(content: Content, digest: str, imported: str = "") -> bytes:
    """One CSV for each table in the report's order, and `report.csv` with its title and what else stands above them.

    Not compressed, so that the same report has the same bytes, which are signed, with every version of zlib.
    """
    heads = [
        ("name", "value"),
        ("report", content["title"]),
        ("headline", content["headline"]),
        ("team", content["team"]),
        ("published", content["published_at"]),
        ("SHA-256", digest),
    ]
    if imported:
        heads.append(("imported", imported))
    if content["demonstration"]:
        heads.append(("note", content["demonstration"]))
    parts = [(part["name"], part["table"]) for part in in_order(content)]
    archive = io.BytesIO()
    with ZipFile(archive, "w") as files:
        files.writestr(ZipInfo("report.csv"), "".join(map(csv_line, heads)))
        for number, (name, cells) in enumerate([*parts, *_list_method_tables(content)], start=1):
            # A column without a heading on the page needs a name to be read by.
            headings = [column or "name" for column in cells["columns"]]
            table = build_table(Cells(columns=headings, rows=cells["rows"]))
            stem = _build_stem(f"{number:02d} {name}")
            files.writestr(ZipInfo(f"{stem}.csv"), table.as_csv())

    return archive.getvalue()


def _list_method_tables(content: Content) -> Iterator[tuple[str, Cells]]:
    method = content["method"]
    yield "Environment", method["environment"]
    yield "Validity", method["validity"]
    yield "Left out", method["excluded"]
    yield "Sources", sources_table(content)


def as_markdown(content: Content, digest: str, address: str, imported: str = "") -> bytes:
    """One document: words, captions and tables; pictures stay at the report's address."""
    disclosures = content["disclosures"]
    context = {
        "content": content,
        "digest": digest,
        "address": address,
        "imported": imported,
        "notes": NOTES,
        "parts": in_order(content),
        "disclosed": [(label, str(disclosures.get(key) or NOT_STATED)) for key, label in DISCLOSED],
        "algorithms": sorted(content["method"]["algorithms"].items()),
        "tables": [(title, cells) for title, cells in _list_method_tables(content) if cells["rows"]],
    }
    rendered = render_to_string("reports/frozen/report.md", context)
    text = re.sub(r"\n{3,}", "\n\n", rendered)
    notes = _TAG.sub("&lt;", content["notes"]).strip("\n")
    text = text.replace(NOTES, notes).strip("\n")
    return f"{text}\n".encode()


def escape_line(text: object) -> str:
    """A text in one line, in which nothing is markup."""
    escaped = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]>|~#])", r"\\\1", escaped)
