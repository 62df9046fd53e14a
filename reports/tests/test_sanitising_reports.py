"""Whatever is written into a report does nothing in its reader's browser but stand there."""

import json
import re
from html.parser import HTMLParser

import pytest

from reports.published.links import find_link
from reports.published.publication import load_content
from reports.published.sanitizer import harmless, harmless_text, notes_html
from reports.tests.snapshots import published

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>\"'{{ 7*7 }}</script>\u202e"


class Tags(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


NOTES = [
    EVIL,
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&colon;alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/x.png)",
    '[x](https://e.example "\\" onmouseover=\\"alert(1)")',
    "<a href='https://e.example' onclick='alert(1)'>x</a>",
    "<style>*{display:none}</style><iframe src=x></iframe><form action=x><input></form>",
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    "> " * 500 + "deep",
    "[" * 5_000 + "](x)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]


@pytest.mark.parametrize("notes", NOTES, ids=range(len(NOTES)))
def test_notes_become_harmless_html(notes):
    for tag, attributes in Tags(notes_html(notes)).found:
        assert tag not in ("script", "img", "svg", "style", "iframe", "form", "input", "object")
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "id", "class")]
        address = attributes.get("href")
        assert address is None or re.match(r"(https?:|mailto:|[^:]*$)", address)
        assert tag != "a" or attributes["rel"] == "nofollow noopener ugc"


def test_notes_keep_what_markdown_is_for():
    html = notes_html("# Head\n\n**bold** `code` [link](https://e.example/a?b=1)\n\n- one\n\n|a|b|\n|-|-:|\n|1|2|\n")
    for tag in ("h3", "strong", "code", "ul", "li", "table", "th", "td"):
        assert f"<{tag}" in html
    assert 'href="https://e.example/a?b=1"' in html and 'align="right"' in html


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("<b>x</b><br>y<extra></extra>", "<b>x</b><br>y<extra></extra>"),
        ('<span style="color:#0072B2">x</span>', '<span style="color:#0072B2">x</span>'),
        ("<a href='javascript:x'>y</a>", "&lt;a href='javascript:x'>y&lt;/a>"),
        ('<span style="background:url(x)">y</span>', '&lt;span style="background:url(x)">y</span>'),
        ("a < b <3 <<b>", "a &lt; b &lt;3 &lt;<b>"),
        ("<b onclick=x>", "&lt;b onclick=x>"),
        ("&lt;b&gt;", "&lt;b&gt;"),
    ],
)
def test_a_text_in_a_figure_may_set_type_only(text, becomes):
    assert harmless_text(text) == becomes


def test_a_figure_names_no_address():
    figure = {
        "data": [{"type": "scatter", "x": [1], "text": [EVIL]}, {"type": "image", "source": "https://e.example/x"}],
        "layout": {"images": [{"source": "https://e.example/x"}], "annotations": [{"text": "<a href='x'>y</a>"}]},
    }
    clean = harmless(figure)
    text = json.dumps(clean)
    assert "e.example" not in text and "<a" not in text and "<script" not in text
    assert len(clean["data"]) == 1


@pytest.mark.slow
@pytest.mark.django_db
def test_the_figures_that_we_draw_stay_as_they_are(team):
    content = load_content(published(team).revisions.get())
    drawn = [one for figure in content["figures"] for one in figure["drawn"].values()]
    assert drawn
    for one in drawn:
        assert harmless(one) == one


def spoilt(value):
    """Every text in it, however deep, followed by evil."""
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, list):
        return [spoilt(one) for one in value]
    return {name: spoilt(one) for name, one in value.items()} if isinstance(value, dict) else value


KEPT = {"format", "version", "published_at", "order", "name", "drawn", "plan"}


def spoilt_content(team):
    content = load_content(published(team).revisions.get())
    found = {key: value if key in KEPT else spoilt(value) for key, value in content.items()}
    for kind in ("figures", "tables"):
        for one, was in zip(found[kind], content[kind], strict=True):
            one["name"] = was["name"]
            one["empty"] = was.get("empty", "")
            if "drawn" in was:
                drawings = was["drawn"].items()
                one["drawn"] = {k: {"data": d["data"], "layout": spoilt_layout(d["layout"])} for k, d in drawings}
    return found


def spoilt_layout(layout):
    return {**layout, "annotations": [{"text": EVIL}, *layout["annotations"]]}


@pytest.mark.slow
@pytest.mark.django_db
def test_no_text_of_a_report_becomes_an_element(team, client):
    content = spoilt_content(team)
    clean = published(team)
    token = find_link(published(team, **content)).token
    plain = [tag for tag, _ in Tags(client.get(f"/r/{find_link(clean).token}").content.decode()).found]
    for end in ("", "/embed", ".html"):
        html = client.get(f"/r/{token}{end}").content.decode()
        for tag, attributes in Tags(html).found:
            assert tag != "img" and (tag != "svg" or "onload" not in attributes)
            assert not [name for name in attributes if name.startswith("on")]
            assert tag != "script" or end == ".html" or attributes["src"].startswith("/static/")
        assert "{{ 7*7 }}" in html and "alert(1)</script><img" not in html
    tags = [tag for tag, _ in Tags(client.get(f"/r/{token}").content.decode()).found]
    assert tags.count("script") == plain.count("script")
    text = client.get(f"/r/{token}@1/figures/ceilings/").json()["figure"]
    assert "<script" not in json.dumps(text)
