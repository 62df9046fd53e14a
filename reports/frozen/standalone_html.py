"""A report as one HTML file that needs no network: styles, the drawing library, drawings and pictures are all inside.

Only files of this site become scripts, each allowed by its digest; what people wrote is data to them.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from reports.frozen.content import Content
from reports.frozen.pages import page_of
from reports.frozen.permalinks import Place
from reports.frozen.sanitizer import harmless, notes_html

STYLES: Final = (
    "css/tokens.css", "css/base.css", "css/components.css", "css/report.css", "css/report-print.css",
)  # fmt: skip
SCRIPTS: Final = ("js/theme.js", "vendor/plotly-basic-4.1.1/plotly-basic.min.js", "js/report.js")
# Nothing is fetched from anywhere, whatever somebody wrote into the report.
POLICY: Final = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {scripts}; base-uri 'none'; "
    "form-action 'none'"
)


def alone_html(content: Content, place: Place, pictures: Mapping[str, bytes]) -> bytes:
    """The whole file. `pictures` are PNGs by the names of figures, for readers without JavaScript."""
    scripts = [_script(name) for name in SCRIPTS]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    policy = POLICY.format(scripts=" ".join(f"'sha256-{digest}'" for digest in digests))
    drawings = {
        figure["name"]: {name: harmless(drawn) for name, drawn in figure["drawn"].items()}
        for figure in content["figures"]
        if figure["drawn"] and not figure["empty"]
    }
    context: dict[str, Any] = {
        "page": page_of(content),
        "notes": notes_html(content["notes"]),
        "place": place,
        "pictures": {name: f"data:image/png;base64,{base64.b64encode(png).decode()}" for name, png in pictures.items()},
        "policy": policy,
        "styles": _ours("".join(f"<style>{_file(name)}</style>\n" for name in STYLES)),
        "first": _ours(f"<script>{scripts[0]}</script>"),
        "last": _ours("".join(f"<script>{text}</script>\n" for text in scripts[1:])),
        "drawings": json_script(drawings, "drawings"),
    }
    return render_to_string("reports/frozen/alone.html", context).encode()


def _ours(html: str) -> SafeString:
    """Files of this site: never anything that came with a report."""
    return mark_safe(html)


def _file(name: str) -> str:
    path = finders.find(name)
    assert isinstance(path, str), f"{name} is not among the static files"
    return Path(path).read_text(encoding="utf-8")


def _script(name: str) -> str:
    """A script that no text in it can end early."""
    return re.sub(r"</(script)", r"<\\/\1", _file(name), flags=re.IGNORECASE).replace("<!--", "<\\!--")
