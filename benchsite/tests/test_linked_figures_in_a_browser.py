"""Figures and table of Compare share hover, hidden sides and zoom; points open their runs, bars their sweeps."""

from itertools import product

import pytest
from django.urls import reverse

from benchsite.tests.browser import chromium, press, site, touch
from reports.published.links import find_link
from reports.tests.snapshots import published
from runs.models import Run
from runs.tests.factories import make_run, make_sweep

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
WIDE = {"width": 1280, "height": 900}
MAX_TABS = 150  # on the way through a page


def compare(site, *, is_awake=True, **options):
    rival = make_sweep(matrix=site.world.matrix, workload=site.world.workload, mode="off")
    for threads in (2, 4, 8):
        make_run(rival, threads=threads, throughput=1500.0 * threads)
    page = site.open(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
    page.goto(f"{site.url}{reverse('compare')}?v=1&matrix={site.world.matrix.pk}", wait_until="networkidle")
    if not is_awake:
        return page
    page.locator("#plot-ceilings").hover()
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot[role=application]').length === 2")
    return page


@pytest.fixture
def page(site):
    return compare(site)


def find_middle(page, figure, selector):
    part = page.locator(".js-plotly-plot").nth(figure).locator(selector).first
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_arrow_keys_move_over_points_and_enter_opens_run(page, site):
    page.locator(".js-plotly-plot").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert "threads" in page.locator("figure").nth(1).locator("[role=status]").text_content()
    assert page.locator("tr.is-linked").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/**")
    assert Run.objects.filter(pk=page.url.rstrip("/").rpartition("/")[2]).exists()
    assert not site.complaints


HANDS = ((30, 4), (120, 1), (30, 1), (120, 4))  # how many ms they press, and how many times slower the page is
OFFERED = {"bar": (0, ".bars .point path", "**/sweeps/**"), "point": (1, ".scatterlayer .point", "**/runs/**")}
SHORT = (("bar", (30, 4)), ("point", (120, 1)))


def list_presses():
    for name, hand in product(OFFERED, HANDS):
        marks = () if (name, hand) in SHORT else pytest.mark.long
        yield pytest.param(*OFFERED[name], *hand, id=f"{name} {hand[0]} ms, {hand[1]} x", marks=marks)


@pytest.mark.parametrize(("figure", "selector", "address", "ms", "slowness"), [*list_presses()])
def test_press_opens_what_the_cursor_offers(page, figure, selector, address, ms, slowness):
    x, y = find_middle(page, figure, selector)
    page.mouse.move(x, y, steps=4)
    drag_layer = page.locator(".is-link .nsewdrag").first
    assert drag_layer.evaluate("layer => getComputedStyle(layer).cursor") == "pointer"
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowness})
    press(page, x, y, ms=ms)
    page.wait_for_url(address)


def test_drag_over_a_point_zooms_and_opens_nothing(page):
    x, y = find_middle(page, 1, ".scatterlayer .point")
    address = page.url
    press(page, x, y, drift_px=80)
    page.wait_for_url("**#*=*")
    assert page.url.startswith(address.split("#")[0])


@pytest.mark.parametrize(
    "viewport",
    [pytest.param(WIDE, id="tablet", marks=pytest.mark.long), pytest.param({"width": 390, "height": 800}, id="phone")],
)
def test_second_touch_opens_a_point(site, viewport):
    page = compare(site, has_touch=True, viewport=viewport)
    address = page.url
    x, y = find_middle(page, 1, ".scatterlayer .point")
    touch(page, x, y)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    assert page.url == address
    page.wait_for_timeout(400)  # longer than Plotly's double click
    touch(page, x, y)
    page.wait_for_url("**/runs/**")


def test_hidden_side_is_part_of_the_address_until_reset(page):
    page.locator(".side-shown").first.uncheck()
    page.wait_for_url("**#hide=*")
    page.reload(wait_until="networkidle")
    assert not page.locator(".side-shown").first.is_checked()
    assert "#hide=" in page.locator("#permalink").text_content()
    page.get_by_role("button", name="Reset view").click()
    page.wait_for_url(lambda url: "#" not in url)
    assert page.locator(".side-shown").first.is_checked()


def test_back_undoes_a_hidden_side_and_a_zoom(page):
    range_in_view = "document.querySelectorAll('.js-plotly-plot')[1].layout.xaxis.range.join()"
    before, whole = page.url, page.evaluate(range_in_view)
    page.locator(".side-shown").first.uncheck()
    page.wait_for_url("**#hide=*")
    hidden = page.url
    x, y = find_middle(page, 1, ".scatterlayer .point")
    press(page, x, y, drift_px=80)
    page.wait_for_url("**&*=*,*")
    assert page.evaluate(range_in_view) != whole
    page.evaluate("window.isSamePage = true")

    page.go_back()
    assert page.url == hidden and not page.locator(".side-shown").first.is_checked()
    page.wait_for_function(f"whole => {range_in_view} === whole", arg=whole)
    page.go_back()
    assert page.url == before and page.locator(".side-shown").first.is_checked()
    page.go_forward()
    assert not page.locator(".side-shown").first.is_checked()
    assert page.evaluate("window.isSamePage")


def test_tab_reaches_figures_and_focus_stays_when_drawn(site):
    page = compare(site, is_awake=False)
    page.wait_for_function("() => window.Plotly")  # loaded while the page is idle
    assert page.locator(".js-plotly-plot").count() == 0
    page.locator("#op-1").focus()
    page.evaluate("document.querySelector('#plot-ceilings').scrollIntoView()")
    reached = []
    for _ in range(30):
        page.keyboard.press("Shift+Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        if reached[-1] == "plot-ceilings":
            break
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot[role=application]').length === 2")
    assert page.evaluate("document.activeElement.id") == "plot-ceilings", reached
    page.keyboard.press("ArrowRight")
    assert page.locator("tr.is-linked").count() == 1
    assert not site.complaints


def test_tab_reaches_every_figure_of_sweeps_and_reports(site, team):
    page = site.open(viewport=WIDE, reduced_motion="reduce")
    for address in (reverse("sweep", args=[site.world.sweep.pk]), f"/r/{find_link(published(team)).token}"):
        page.goto(f"{site.url}{address}", wait_until="networkidle")
        figures = page.locator(".figure__plot:visible").count()
        focused = "[...document.querySelectorAll('.figure__plot')].filter((plot) => plot.checkVisibility())"
        reached = set()
        for _ in range(MAX_TABS):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(f"{focused}.indexOf(document.activeElement)"))
        assert figures > 1 and reached >= set(range(figures))


def test_arrow_keys_move_over_figures_of_other_pages(site):
    page = site.open(viewport=WIDE, reduced_motion="reduce")
    page.goto(f"{site.url}{reverse('sweep', args=[site.world.sweep.pk])}", wait_until="networkidle")
    page.wait_for_function("!document.querySelector('figure[aria-busy]')")  # Until then the first plot may be another.
    page.locator(".js-plotly-plot[role=application]").first.focus()
    reading = "document.activeElement.querySelector('[role=status]')?.textContent"
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{reading}?.includes('threads')")
    first = page.evaluate(reading)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"first => {reading}?.includes('threads') && {reading} !== first", arg=first)
    assert not site.complaints


def test_dragged_line_is_the_load_of_the_page(page):
    line = page.locator(".js-plotly-plot").nth(1).locator(".shapelayer path").first.bounding_box()
    x, y = line["x"] + line["width"] / 2, line["y"] + line["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=4)
    page.mouse.up()
    page.wait_for_url("**load=*")


def test_table_sorts_with_reference_on_top(page):
    rows = page.locator("table[data-sortable] tbody tr")
    first = rows.first.get_attribute("data-side")
    for _ in range(2):
        page.get_by_role("button", name="Ceiling, ops/s").click()
        assert rows.first.get_attribute("data-side") == first
    assert page.locator("th[aria-sort=ascending]").count() == 1
