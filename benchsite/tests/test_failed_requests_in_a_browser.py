"""A page that polls shows that the server does not answer, and removes the note at the next answer."""

import pytest

from benchsite.tests.browser import chromium, playwright, site

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_polling_page_shows_lost_server_and_its_return(site):
    page = site.open()
    page.goto(f"{site.url}/queue/")
    note = page.locator(".request-note")
    page.route("**/queue/", lambda route: route.abort())
    playwright.expect(note).to_have_text("No answer from the server, retrying.", timeout=15_000)
    page.unroute("**/queue/")
    playwright.expect(note).to_have_count(0, timeout=15_000)


def test_polling_page_shows_server_error(site):
    page = site.open()
    page.goto(f"{site.url}/queue/")
    page.route("**/queue/", lambda route: route.fulfill(status=502))
    playwright.expect(page.locator(".request-note")).to_have_text("The server answered 502, retrying.", timeout=15_000)
