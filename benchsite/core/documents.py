"""The documents below docs/ as HTML, for the pages below /help/."""

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs"
INDEX: Final = "README"
# A document that explains a page, by the name of the page's address.
EXPLAINED_PAGES: Final = {
    "baselines": "ci",
    "cluster-add": "own-cluster",
    "clusters": "own-cluster",
    "compare": "reading-the-figures",
    "database-add": "own-cluster",
    "databases": "own-cluster",
    "history": "changes-over-time",
    "imports": "importing-results",
    "load-generators": "troubleshooting",
    "matrices": "load",
    "matrix": "load",
    "matrix-add": "load",
    "members": "teams",
    "notifications": "notifications",
    "own-server": "own-cluster",
    "plan-import": "running-again",
    "published": "evidence/coverage-of-the-studies",
    "queue": "troubleshooting",
    "run": "troubleshooting",
    "schedules": "schedules",
    "sweep": "reading-the-figures",
    "sweeps": "reading-the-figures",
    "thresholds": "how-results-are-judged",
    "tokens": "api",
    "why": "how-results-are-compared",
}
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table")


class Document(NamedTuple):
    title: str
    html: SafeString


@cache
def names() -> frozenset[str]:
    """Paths below docs/, without .md."""
    return frozenset(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.md"))


@cache
def read_document(name: str) -> Document:
    """The document of this name; a KeyError for a name that is not in `names()`."""
    if name not in names():
        raise KeyError(name)

    first, _, body = (FOLDER / f"{name}.md").read_text("utf-8").partition("\n")
    tokens = _MARKDOWN.parse(body)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            # As hosting sites make the anchors of headings.
            token.attrs["id"] = re.sub(r"[^\w -]", "", tokens[index + 1].content).lower().replace(" ", "-")
        elif token.type == "table_open":
            token.attrs["class"] = "table"
        for child in token.children or ():
            _resolve_address(child, name)

    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    html = html.replace("<table ", '<div class="table-wrap" tabindex="0"><table ').replace("</table>", "</table></div>")
    html = html.replace("<pre>", '<pre class="log log--whole" tabindex="0">')
    return Document(first.removeprefix("# ").replace("`", ""), mark_safe(html))


def get_address(name: str) -> str:
    if name == INDEX:
        return reverse("help")
    return reverse("help-document", args=[name])


def _resolve_address(token: Token, name: str) -> None:
    """Turn a relative link into the address of its page; a ValueError for a link that leaves docs/."""
    attribute = {"link_open": "href", "image": "src"}.get(token.type)
    if attribute is None:
        return

    path, hash_sign, anchor = str(token.attrs[attribute]).partition("#")
    if not path or ":" in path:
        return

    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    if target.startswith("images/"):
        token.attrs[attribute] = static(f"docs/{target.removeprefix('images/')}")
    elif target == "openapi.json":
        token.attrs[attribute] = reverse("api-v1:openapi-json")
    elif target == "glossary.md":
        token.attrs[attribute] = reverse("glossary") + hash_sign + anchor
    elif target.removesuffix(".md") in names():
        token.attrs[attribute] = get_address(target.removesuffix(".md")) + hash_sign + anchor
    else:
        raise ValueError(f"docs/{name}.md links to {path}, which is not part of the documentation.")
