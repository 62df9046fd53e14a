"""Compare with everything open, through axe-core; its movable line by keyboard."""

import pytest
from django.urls import reverse

from benchsite.tests.browser import axe_findings, chromium, site
from runs.tests.factories import make_run, make_sweep

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(500)]


def test_the_compare_page_with_everything_open(site):
    rival = make_sweep(matrix=site.world.matrix, database=site.world.database, workload=site.world.workload, mode="off")
    for threads in (2, 4, 8):
        make_run(rival, threads=threads, throughput=2_000.0 * threads)
    page = site.open(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.goto(site.url + reverse("compare"), wait_until="networkidle")
    # All at once: what the first one brings would move the others while they are counted.
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    page.locator("#pictures figure").first.scroll_into_view_if_needed()  # Figures are fetched in view.
    page.locator("#pictures figure .main-svg").first.wait_for()
    page.locator("#points tbody tr").first.wait_for()
    assert axe_findings(page) == []


def test_the_line_is_moved_by_keyboard_and_said(site):
    page = site.open(viewport={"width": 1280, "height": 900})
    page.goto(site.url + reverse("compare"), wait_until="networkidle")
    said = page.locator("#equal-said").text_content()
    page.locator("#load-slider").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("said => document.querySelector('#equal-said').textContent !== said", arg=said)
    assert "load=" in page.url
    assert page.evaluate("document.activeElement.id") == "load-slider"
    assert not site.complaints
