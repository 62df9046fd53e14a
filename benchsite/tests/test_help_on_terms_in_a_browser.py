"""The "?" beside a term opens its definition by keyboard and by touch, without scripts and within a narrow page."""

import pytest
from django.urls import reverse

from benchsite.core.glossary import definitions
from benchsite.tests.browser import chromium, playwright, site

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
NARROW = {"width": 390, "height": 700}


def test_help_opens_by_keyboard_and_touch_without_scripts(site):
    page = site.open(viewport=NARROW, has_touch=True, java_script_enabled=False)
    page.goto(site.url + reverse("run", args=[site.world.run.pk]))
    button = page.get_by_role("button", name="Help: warm-up")  # In a table that is wider than the page.
    text = page.get_by_text(definitions()["warm-up"])
    button.press("Enter")
    playwright.expect(text).to_be_visible()
    box = text.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"]
    page.keyboard.press("Escape")
    playwright.expect(text).to_be_hidden()
    button.tap()
    playwright.expect(text).to_be_visible()
    size = button.bounding_box()
    assert min(size["width"], size["height"]) >= 24


def test_help_beside_sorted_heading_does_not_sort(site):
    page = site.open()
    page.goto(site.url + reverse("compare"))
    heading = page.locator("#sides th", has=page.get_by_role("button", name="Help: ceiling"))
    heading.get_by_role("button", name="Help: ceiling").click()
    playwright.expect(page.get_by_text(definitions()["ceiling"])).to_be_visible()
    assert heading.get_attribute("aria-sort") is None
    page.keyboard.press("Escape")
    heading.get_by_role("button", name="Ceiling, ops/s").click()
    assert heading.get_attribute("aria-sort") == "descending"


def test_open_help_survives_replaced_part_of_the_page(site):
    page = site.open()
    page.goto(site.url + reverse("compare"))
    page.get_by_role("button", name="Help: knee").click()
    text = page.get_by_text(definitions()["knee"])
    page.evaluate("document.querySelector('#load-number').value = 1500")
    with page.expect_response("**/compare/**"):
        page.evaluate("document.querySelector('#load-number').form.requestSubmit()")
    page.locator("#load-number[value='1500']").wait_for()
    playwright.expect(text).to_be_visible()
