"""The API's page in Chromium: drawn under the site's own policy, without a word on the console."""

import pytest

from benchsite.tests.browser import chromium, site
from runs.tests.pages import artifact_folder

__all__ = ["artifact_folder", "chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
DRAWN_MS = 90_000  # Swagger UI draws all endpoints at once, beside other tests


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.long), 390])
def test_it_is_drawn_and_complains_of_nothing(site, width):
    page = site.open(viewport={"width": width, "height": 900})
    # A figure that arrives during the press would move the link at the foot of the page.
    page.goto(site.url, wait_until="networkidle")
    page.get_by_role("link", name="API", exact=True).click()
    page.wait_for_url("**/docs")
    page.locator(".opblock-tag").first.wait_for(timeout=DRAWN_MS)
    assert page.get_by_role("heading", level=1).inner_text() == "REST API"
    page.locator(".opblock-tag", has_text="Runs").click()
    page.locator(".opblock-summary-control").first.click()
    page.locator(".opblock-body").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
    for theme, ground in (("Dark", "rgb(15, 18, 23)"), ("Light", "rgb(247, 248, 250)")):
        page.get_by_role("button", name=theme).click()
        shown = page.evaluate("[document.documentElement, document.body].map(x => getComputedStyle(x).backgroundColor)")
        assert set(shown) - {"rgba(0, 0, 0, 0)"} == {ground}
    assert not site.complaints
