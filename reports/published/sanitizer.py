"""What people wrote, made harmless before a reader's browser sees it: notes in Markdown, and text inside figures.

Former versions imported reports of other sites, so nothing in it is trusted, its drawings included.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from reports.compare.figures.layout import PlotlyFigure

MAX_NOTES: Final = 100_000  # characters that are shown
FIRST_HEADING: Final = 3  # a page has its own first two levels
LINK_WORDS: Final = "nofollow noopener ugc"
TAGS: Final = frozenset(
    {
        "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "h5", "h6",
        "a", "table", "thead", "tbody", "tr", "th", "td",
    }
)  # fmt: skip
ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}
SCHEMES: Final = {"http", "https", "mailto"}

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20}).enable(
    ["table", "strikethrough"]
)
_MARKDOWN.disable("image")  # it would tell another site who reads this

# The small HTML that plotly.js reads in every string, as far as it can do nothing but set type.
_ALLOWED: Final = re.compile(r"</?(?:b|i|br|sub|sup|extra)\s*/?>", re.IGNORECASE)
_SPAN: Final = re.compile(
    r"<span style=\"(?:color: ?(?:#[0-9a-fA-F]{3,8}|rgba?\([0-9., ]+\))|font-size: ?0\.\d+em)\">|</span>"
)
_LESS: Final = re.compile("<")
# Whatever can name an address, or run something: never part of a figure of ours.
_FORBIDDEN: Final = frozenset({"images", "source", "updatemenus", "sliders", "topojsonURL", "frames", "template"})
TRACES: Final = frozenset({"scatter", "bar"})  # what the vendored bundle draws


def notes_html(markdown: str) -> SafeString:
    """Safe HTML of somebody's notes: no HTML of theirs, no pictures, links that say they are theirs."""
    tokens = _MARKDOWN.parse(markdown.replace("\0", "")[:MAX_NOTES])
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, max(FIRST_HEADING, int(token.tag[1]) + 1))}"
        if token.type in ("th_open", "td_open"):
            style = str(token.attrs.pop("style", ""))
            if style.startswith("text-align:"):
                token.attrs["align"] = style.removeprefix("text-align:")

    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return mark_safe(
        nh3.clean(
            html, tags=set(TAGS), attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel=LINK_WORDS, strip_comments=True
        )
    )


def harmless(figure: Mapping[str, Any]) -> PlotlyFigure:
    """A figure for plotly.js whose texts set type and do nothing else, and which asks no address for anything."""
    data = [_clean(trace) for trace in figure.get("data", ()) if trace.get("type", "scatter") in TRACES]
    return {"data": data, "layout": _clean(figure.get("layout", {}))}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        if "<" in value:
            return harmless_text(value)
        return value
    if isinstance(value, list):
        return [_clean(item) if isinstance(item, str | list | dict) else item for item in value]
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items() if name not in _FORBIDDEN}
    return value


def harmless_text(text: str) -> str:
    """Only tags that set type stay tags; every other `<` is a sign."""
    out, at = [], 0
    for match in _LESS.finditer(text):
        start = match.start()
        if start < at:
            continue
        tag = _ALLOWED.match(text, start) or _SPAN.match(text, start)
        out.append(text[at:start])
        out.append(tag.group() if tag else "&lt;")
        at = tag.end() if tag else start + 1
    return "".join([*out, text[at:]])
