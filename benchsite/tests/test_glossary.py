"""The glossary page and the help on terms show docs/glossary.md, which has a line for each product noun."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.urls import reverse
from django.utils.html import escape

from benchsite.core.glossary import SOURCE, definitions, sections

ROOT = Path(__file__).resolve().parents[2]
HELP = re.compile(r'(?:{% term |{% term_help |field.html" with .*\bterm=)"([^"]+)"')
PRODUCT_NOUNS = (
    "matrix", "sweep", "rung", "ladder", "ceiling", "knee", "durability mode", "window", "verdict", "probe", "block",
    "session", "warm-up", "guard", "search", "bound",
)  # fmt: skip


def test_every_line_of_the_document_is_a_term():
    lines = [line for line in SOURCE.read_text("utf-8").splitlines() if line.startswith("-")]
    assert len(lines) == sum(map(len, sections().values())) == len(definitions())
    assert set(PRODUCT_NOUNS) <= set(definitions())


def test_help_names_terms_of_the_document():
    templates = [path.read_text("utf-8") for path in ROOT.glob("[!.]*/**/templates/**/*.html")]
    terms = {term for template in templates for term in HELP.findall(template)}
    assert len(terms) > 25
    assert terms <= set(definitions())
    # Neither touch nor keyboard reaches the title of an <abbr>.
    assert not [template for template in templates if "<abbr" in template]


def test_help_is_a_button_that_opens_the_definition():
    html = Template('{% load glossary %}{% term "rung" "Rungs" %}').render(Context())
    button = r'<button type="button" [^>]*popovertarget="term-rung" aria-label="Help: rung"></button>'
    assert re.match(f"Rungs{button}", html)
    assert f'id="term-rung" popover><b>rung</b>: {escape(definitions()["rung"])}</span>' in html


@pytest.mark.django_db
def test_page_shows_every_definition_without_an_account(client):
    page = client.get(reverse("glossary")).content.decode()
    missing = [term for term, text in definitions().items() if f">{escape(text)}</td>" not in page]
    assert missing == []
