"""Every document is a page below /help/, open without an account, with links that lead to pages."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse

from benchsite.core import documents

pytestmark = pytest.mark.django_db
MAX_USER_WORDS = 35_000


@pytest.mark.parametrize("name", sorted(documents.names()))
def test_document_is_a_page_whose_links_answer(client, name):
    page = client.get(documents.get_address(name))
    assert page.status_code == 200
    content = page.content.decode().partition('<div class="document">')[2].partition("</main>")[0]
    for address in set(re.findall(r'(?:href|src)="(/[^"#]*)', content)):
        if address.startswith("/static/"):
            assert finders.find(address.removeprefix("/static/")), address
        elif not address.startswith("/api/"):
            assert client.get(address).status_code == 200, address


@pytest.mark.parametrize("name", ["nothing", "../README", "openapi.json", "images/compare.png"])
def test_other_files_are_no_pages(client, name):
    assert client.get(f"/help/{name}/").status_code == 404


def test_index_lists_every_document():
    index = (documents.FOLDER / f"{documents.INDEX}.md").read_text("utf-8")
    decisions = {name for name in documents.names() if name.startswith("developers/decisions/")}
    listed = documents.names() - {documents.INDEX} - decisions | {"developers/decisions/README"}
    assert {name for name in listed if f"]({name}.md)" not in index} == set()


def test_documents_for_users_stay_short():
    """Documents for developers and measured tables are not counted."""
    names = [name for name in documents.names() if not name.startswith(("developers/", "evidence/"))]
    assert sum(len((documents.FOLDER / f"{name}.md").read_text("utf-8").split()) for name in names) <= MAX_USER_WORDS


def test_pages_link_to_the_document_that_explains_them(client_in):
    assert set(documents.EXPLAINED_PAGES.values()) <= documents.names()
    page = client_in.get(reverse("schedules")).content.decode()
    assert f'href="{documents.get_address("schedules")}" title="' in page
