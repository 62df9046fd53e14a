"""Presenting: the figures of a page one by one over the whole screen, by the arrow keys, and back again."""

import pytest

from benchsite.tests.browser import chromium, site

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SHOWN = "document.querySelector('.is-presented')?.dataset.name"
DRAWN = "() => document.querySelectorAll('figure[data-src] .main-svg').length >= 3"


@pytest.fixture
def page(site):
    page = site.open(viewport={"width": 1280, "height": 800})
    page.goto(site.url + "/compare/")
    page.locator("#plot-ceilings").hover()
    page.wait_for_function(DRAWN)
    yield page
    assert site.complaints == []


def test_it_turns_the_figures_by_keys(page):
    names = page.eval_on_selector_all("figure[data-src]", "all => all.map(one => one.dataset.name)")
    page.click("#more-actions > summary")
    page.click("[data-present]")
    assert page.evaluate(SHOWN) == names[0]
    box = page.locator(".is-presented").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1280, 800)
    heading = page.locator(".present__title").inner_text()
    assert heading.startswith(page.inner_text(".headline__first"))
    assert "Throughput ceilings, " in heading
    last = len(names) - 1
    for key, place in (
        ("Space", 1),
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("PageDown", min(2, last)),
        ("ArrowLeft", min(2, last) - 1),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert page.evaluate(SHOWN) == names[place], key
    assert f"1 of {len(names)}" in page.inner_text(".present__bar [role=status]")


def test_it_gives_the_page_back_as_it_was(page):
    before = page.eval_on_selector_all("figure[data-src]", "all => all.map(one => one.dataset.src)")
    page.click("#more-actions > summary")
    page.click("[data-present]")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.is-presented .main-svg')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('.present__bar')")
    assert page.evaluate(SHOWN) is None and not page.locator(".present__title").count()
    after = page.eval_on_selector_all("figure[data-src]", "all => all.map(one => one.dataset.src)")
    assert [url.replace("%3A", ":") for url in after] == [url.replace("%3A", ":") for url in before]


def test_first_slide_has_its_warning_and_no_focus_box(page):
    page.click("#more-actions > summary")
    page.click("[data-present]")
    page.wait_for_function("() => document.querySelector('.is-presented .main-svg .annotation')")
    page.locator(".is-presented .main-svg", has_text="Demonstration").first.wait_for()
    page.keyboard.press("Home")
    assert page.evaluate("getComputedStyle(document.querySelector('.present__bar')).outlineStyle") == "none"


def test_an_address_begins_with_a_figure(page, site):
    names = page.eval_on_selector_all("figure[data-src]", "all => all.map(one => one.dataset.name)")
    page.goto("about:blank")
    page.goto(site.url + "/compare/#present-2")
    page.wait_for_function("() => document.querySelector('.is-presented')")
    assert page.evaluate(SHOWN) == names[1]
