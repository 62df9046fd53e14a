"""A figure as it is frozen: drawn once in every theme and width, so that readers need no row and no drawing code."""

import io
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from PIL import Image, UnidentifiedImageError

from reports.figures.figure import Figure
from reports.figures.layout import Frame, PlotlyFigure
from reports.figures.table import Table
from reports.frozen.content import Cells, FrozenFigure, table_of
from reports.models import ReportPicture, ReportRevision

MAX_BYTES: Final = 2 * 2**20  # of a picture as it comes
MAX_PIXELS: Final = 4096  # in either direction
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
GROUND: Final = (255, 255, 255)


# A publisher's browser draws these pictures: they are decoded under limits and encoded anew, so nothing else is
# served.
class PictureRefused(ValueError):
    """What is no picture that can be served. The message says why."""


@dataclass(frozen=True, slots=True)
class Picture:
    png: bytes
    width: int
    height: int


def encoded_anew(png: bytes) -> Picture:
    """The pixels of a PNG, on white, in a PNG of our own. Raises PictureRefused."""
    if len(png) > MAX_BYTES:
        raise PictureRefused(
            f"A picture may have at most {MAX_BYTES // 2**20} MB, and this one has {len(png):,} bytes."
        )
    if not png.startswith(SIGNATURE):
        raise PictureRefused("This is no PNG.")
    try:
        with warnings.catch_warnings(action="error"), Image.open(io.BytesIO(png), formats=["PNG"]) as opened:
            # The size stands in the first bytes: nothing is decoded of what claims too much.
            if max(opened.size) > MAX_PIXELS or min(opened.size) < 1:
                raise PictureRefused(f"A picture may have at most {MAX_PIXELS} × {MAX_PIXELS} pixels.")  # noqa: RUF001
            if getattr(opened, "n_frames", 1) != 1:
                raise PictureRefused("A picture that moves is none of a figure.")
            pixels = opened.convert("RGBA")
            ground = Image.new("RGB", pixels.size, GROUND)
            ground.paste(pixels, mask=pixels.getchannel("A"))
            out = io.BytesIO()
            ground.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
                out, "PNG", optimize=True
            )
            return Picture(out.getvalue(), *ground.size)
    except PictureRefused:
        raise
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Warning, Image.DecompressionBombError) as error:
        raise PictureRefused(f"The PNG cannot be decoded: {error}") from error


def keep_pictures(revision: ReportRevision, pictures: Mapping[str, Picture]) -> None:
    """One picture of each figure of a revision."""
    ReportPicture.objects.bulk_create(
        ReportPicture(revision=revision, name=name, png=picture.png, width=picture.width, height=picture.height)
        for name, picture in pictures.items()
    )


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


# A report may have been imported, so nothing in it is trusted, its drawings included.
def harmless(figure: Mapping[str, Any]) -> PlotlyFigure:
    """A figure for plotly.js whose texts set type and do nothing else, and which asks no address for anything."""
    data = [_clean(trace) for trace in figure.get("data", ()) if trace.get("type", "scatter") in TRACES]
    return {"data": data, "layout": _clean(figure.get("layout", {}))}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return harmless_text(value) if "<" in value else value
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


# The drawings' names in a revision -> theme, and whether it is the arrangement for a telephone.
DRAWINGS: Final = {
    "light": ("light", False),
    "dark": ("dark", False),
    "light-narrow": ("light", True),
    "dark-narrow": ("dark", True),
}


def frozen_figure(name: str, title: str, says: str, sheet: Figure) -> FrozenFigure:
    """The sheet in its four drawings with its numbers; without drawings where it has nothing to show."""
    return {
        "name": name,
        "title": title,
        "says": says,
        "caption": sheet.caption,
        "notes": list(sheet.notes),
        "empty": sheet.empty,
        "height_px": 0 if sheet.empty else sheet.height_px,
        "drawn": {}
        if sheet.empty
        else {name: sheet.answer(theme=theme, narrow=narrow)["figure"] for name, (theme, narrow) in DRAWINGS.items()},
        "table": cells(sheet.table),
    }


class ReportFigure(Figure):
    """A figure of a revision, as it was drawn at publishing."""

    def __init__(self, figure: FrozenFigure) -> None:
        self.name = figure["name"]
        self.figure = figure

    def draw(self, frame: Frame) -> PlotlyFigure:
        drawn, theme = self.figure["drawn"], frame.theme.name
        narrow = drawn.get(f"{theme}-narrow") if frame.narrow else None
        return harmless(narrow or drawn.get(theme) or next(iter(drawn.values())))

    @property
    def caption(self) -> str:
        return self.figure["caption"]

    @property
    def table(self) -> Table:
        return table_of(self.figure["table"])

    @property
    def empty(self) -> str:
        return self.figure["empty"] or ("" if self.figure["drawn"] else "This figure was not drawn at publishing.")

    @property
    def height_px(self) -> int:
        return self.figure["height_px"]


def cells(table: Table) -> Cells:
    """The table in the shape of a revision."""
    written = table.as_dict()
    return {"columns": written["columns"], "rows": written["rows"]}
