"""Every page through axe-core, wide and narrow, light and dark: nothing that shuts anybody out."""

import pytest
from django.urls import reverse

from benchsite.tests.browser import addresses, chromium, site
from runs.tests.factories import make_run, make_sweep

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

__all__ = ["chromium", "site"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(500)]
GRAVE = ("serious", "critical")
EVERYTHING = {"resultTypes": ["violations"]}
# What the colours and the width change; the rest is the same page.
COLOURS = {**EVERYTHING, "runOnly": ["color-contrast", "link-in-text-block"]}
NARROW = {
    **EVERYTHING,
    "runOnly": ["scrollable-region-focusable", "target-size", "color-contrast", "aria-hidden-focus"],
}


# The text in a drawing is the drawing library's, and stands in the table below it again.
ALL_BUT_DRAWINGS = {"exclude": [[".main-svg"]]}


def grave(page, options):
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    run = "([context, options]) => axe.run(context, options).then(found => found.violations)"
    value = page.evaluate(run, [ALL_BUT_DRAWINGS, options])
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: " + "; ".join(node["html"][:160] for node in one["nodes"][:3])
        for one in value
        if one["impact"] in GRAVE
    ]


def test_axe_finds_nothing_serious_on_any_page(site):
    rival = make_sweep(matrix=site.world.matrix, database=site.world.database, workload=site.world.workload, mode="off")
    for threads in (2, 4, 8):
        make_run(rival, threads=threads, throughput=2_000.0 * threads)
    page = site.open(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    found = {}
    for address in addresses(site.world):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(site.url + address)
        found[f"{address} light"] = grave(page, EVERYTHING)
        page.emulate_media(color_scheme="dark")
        found[f"{address} dark"] = grave(page, COLOURS)
        page.set_viewport_size({"width": 390, "height": 900})
        found[f"{address} narrow"] = grave(page, NARROW)
    assert {where: said for where, said in found.items() if said} == {}


def test_the_compare_page_with_everything_open(site):
    rival = make_sweep(matrix=site.world.matrix, database=site.world.database, workload=site.world.workload, mode="off")
    for threads in (2, 4, 8):
        make_run(rival, threads=threads, throughput=2_000.0 * threads)
    page = site.open(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.goto(site.url + reverse("compare"), wait_until="networkidle")
    # All at once: what the first one brings would move the others while they are counted.
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    page.locator("#pictures figure .main-svg").first.wait_for()
    page.locator("#points tbody tr").first.wait_for()
    assert grave(page, EVERYTHING) == []


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
