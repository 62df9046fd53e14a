"""The budget of hand-written files, and what no page may hold."""

import functools
import hashlib
import re

import pytest
from django.conf import settings

STATIC = settings.BASE_DIR / "static"
TEMPLATES = sorted(
    path
    for folder in ("templates", "benchsite", "runs", "reports", "workers")
    for path in (settings.BASE_DIR / folder).rglob("*.html")
)
# Digests of what the makers published.
HTMX = "htmx-2.0.11/htmx.min.js"
BASIC = "plotly-basic-4.1.1/plotly-basic.min.js"
VENDORED = {
    HTMX: "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    BASIC: "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba",
}


# What every page loads. Any other file is loaded only by the few pages that need it.
EVERYWHERE = ("css/tokens.css", "css/base.css", "css/components.css", "css/pages.css")
EVERYWHERE_JS = ("js/theme.js", "js/charts.js", "js/site.js", "js/tables.js")
SOMEWHERE = sorted(
    path for kind in ("css/*.css", "js/*.js") for path in STATIC.glob(kind)
    if str(path.relative_to(STATIC)) not in EVERYWHERE + EVERYWHERE_JS
)  # fmt: skip
MAX_SOMEWHERE = {".css": 6 * 1024, ".js": 10 * 1024}


def get_size(*names):
    return sum((STATIC / name).stat().st_size for name in names)


def test_it_keeps_its_own_styles_small():
    assert 0 < get_size(*EVERYWHERE) < 45_000


def test_it_keeps_its_own_scripts_small():
    assert 0 < get_size(*EVERYWHERE_JS) < 35_000


@pytest.mark.parametrize("path", SOMEWHERE, ids=lambda path: path.name)
def test_it_keeps_what_few_pages_need_small_and_off_the_others(path):
    assert 0 < path.stat().st_size <= MAX_SOMEWHERE[path.suffix]
    assert path.name not in (settings.BASE_DIR / "templates/base.html").read_text()


@pytest.mark.parametrize("name", VENDORED)
def test_it_vendors_unmodified_scripts_with_their_licence(name):
    path = STATIC / "vendor" / name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == VENDORED[name]
    assert (path.parent / "LICENSE").exists()


@functools.cache
def templates():
    """The text of every template, by its path."""
    return {str(path.relative_to(settings.BASE_DIR)): path.read_text() for path in TEMPLATES}


def holding(pattern):
    """The templates in which it is found."""
    return [name for name, text in templates().items() if re.search(pattern, text)]


@pytest.mark.parametrize("pattern", [
    r"<script(?![^>]*\bsrc=)(?![^>]*application/json)",
    r"\son[a-z]+\s*=",  # onclick and its like
    r"hx-on|hx-vals=['\"]js:|javascript:",
    r"hx-trigger=\"[^\"]*\[",  # a trigger's filter needs eval
])  # fmt: skip
def test_it_has_no_inline_script_in_any_template(pattern):
    assert holding(pattern) == []


def test_it_asks_no_other_site_for_anything():
    assert holding(r"(src|href|action)=\"(https?:)?//") == []


def test_it_gives_every_partial_link_an_address_too():
    links = [(name, tag) for name, text in templates().items() for tag in re.findall(r"<a\b[^>]*>", text, re.DOTALL)]
    assert links and [(name, tag) for name, tag in links if "hx-get" in tag and "href=" not in tag] == []
