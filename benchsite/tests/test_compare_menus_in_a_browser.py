"""Menus of Compare change the page in place: scroll position, focus and opened parts stay, the address follows."""

import pytest
from django.urls import reverse

from benchsite.tests.browser import chromium, playwright, site
from runs.tests.factories import make_run, make_sweep

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def page(site):
    rival = make_sweep(matrix=site.world.matrix, workload=site.world.workload, mode="off")
    for threads in (2, 4, 8):
        make_run(rival, threads=threads, throughput=1500.0 * threads)
    page = site.open(viewport={"width": 1280, "height": 700}, reduced_motion="reduce")
    page.goto(f"{site.url}{reverse('compare')}?v=1&matrix={site.world.matrix.pk}", wait_until="networkidle")
    return page


def reach_figure(page):
    page.locator("#plot-ceilings").hover()
    page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot[role=application]').length === 2")


def test_drawings_of_the_server_stay_until_a_figure_is_reached(page, site):
    plots = page.locator(".js-plotly-plot")
    drawings = page.locator(".figure__plot img")
    drawn = [image.evaluate("image => [image.naturalWidth, image.naturalHeight]") for image in drawings.all()]
    boxes = [page.locator(f"#plot-{name}").bounding_box() for name in ("ceilings", "latency")]
    assert drawn == [[round(box["width"]), round(box["height"])] for box in boxes]
    page.locator("#choose-stat").select_option("p95")
    playwright.expect(page.locator("#plot-latency > img[src*='stat=p95']")).to_be_visible()
    page.evaluate(
        "document.documentElement.dataset.theme = 'dark'; document.dispatchEvent(new Event('benchsite:theme'))"
    )
    playwright.expect(page.locator("#plot-latency > img[src*='theme=dark']")).to_be_visible()
    assert plots.count() == 0
    page.locator("#plot-latency").focus()
    playwright.expect(page.locator(".js-plotly-plot[role=application]")).to_have_count(2)
    assert drawings.count() == 0
    assert not site.complaints


def test_sides_fit_a_telephone(page):
    """Rows are blocks, whose values are named."""
    page.set_viewport_size({"width": 390, "height": 844})

    wrap = page.locator(".table-wrap:has(#sides)")
    assert wrap.evaluate("element => element.scrollWidth <= element.clientWidth")
    names = page.locator("#sides tbody tr").first.locator("[data-name]")
    assert names.first.evaluate("cell => getComputedStyle(cell, '::before').content").strip('"') == "Ceiling, ops/s: "


def test_menu_keeps_scroll_focus_opened_parts_and_drawing(page, site):
    reach_figure(page)
    page.evaluate("document.querySelector('#plot-ceilings').mark = 1; document.querySelector('#filters').open = true")
    page.locator("#choose-stat").focus()
    page.evaluate("scrollTo(0, 300)")
    page.locator("#choose-stat").select_option("p95")
    page.wait_for_url("**stat=p95*")
    playwright.expect(page.locator("#plot-latency .ytitle")).to_contain_text("READ p95")
    assert page.evaluate("scrollY") == 300
    assert page.evaluate("document.activeElement.id") == "choose-stat"
    assert page.evaluate("document.querySelector('#plot-ceilings').mark") == 1
    assert page.evaluate("document.querySelector('#filters').open")
    assert "stat=p95" in page.locator("#permalink").text_content()
    page.go_back()
    playwright.expect(page.locator("#choose-stat")).to_have_value("p99")
    assert "stat" not in page.url and page.locator("#choose-stat").input_value() == "p99"
    assert not site.complaints


@pytest.mark.parametrize(
    ("choose", "address", "title"),
    [
        pytest.param(lambda page: page.select_option("#choose-stat", "mean"), "stat=mean", "READ mean", id="menu"),
        pytest.param(lambda page: page.click("text='UPDATE'"), "op=UPDATE", "UPDATE p99", id="link"),
    ],
)
def test_drawing_of_a_choice_waits_for_no_page_nor_plot(page, site, choose, address, title):
    reach_figure(page)
    held = []
    page.route("**/compare/?*", lambda route: held.append(route))
    choose(page)
    drawing = page.locator(f"#plot-latency > img[src*='{address}']")
    playwright.expect(drawing).to_be_visible()
    playwright.expect(page.locator("#plot-latency .ytitle")).to_contain_text("READ p99")
    held[0].continue_()
    playwright.expect(page.locator("#plot-latency .ytitle")).to_contain_text(title)
    playwright.expect(drawing).to_have_count(0)
    assert not site.complaints


def test_figures_are_linked_that_a_swap_met_while_drawn(page, site):
    held = []
    page.route("**/plotly*.js", lambda route: held.append(route))
    page.reload()
    with page.expect_response("**/figures/ceilings/**"), page.expect_response("**/figures/latency/**"):
        page.locator("#plot-ceilings").hover()
    page.locator("#choose-stat").select_option("p95")
    page.wait_for_url("**stat=p95*")
    held[0].continue_()
    playwright.expect(page.locator(".js-plotly-plot[role=application]")).to_have_count(2)
    playwright.expect(page.locator("#plot-latency .ytitle")).to_contain_text("READ p95")
    assert not site.complaints


def test_request_under_way_is_shown_and_failure_retried(page):
    reach_figure(page)
    page.route("**/compare/?*", lambda route: route.abort())
    page.get_by_role("link", name="UPDATE").click()
    note = page.locator(".request-note")
    playwright.expect(note).to_have_text("No answer from the server, retrying.")
    held = []
    page.unroute("**/compare/?*")
    page.route("**/compare/?*", lambda route: held.append(route))
    playwright.expect(page.locator("#comparison.htmx-request")).to_have_count(1, timeout=10_000)
    held[0].continue_()
    playwright.expect(page.locator("#plot-latency .ytitle")).to_contain_text("UPDATE p99")
    playwright.expect(note).to_have_count(0)


def test_changed_matrix_can_be_presented(page, site):
    page.goto(f"{site.url}{reverse('compare')}", wait_until="networkidle")
    page.click("#more-actions > summary")
    playwright.expect(page.locator("[data-present]")).to_be_visible()
    page.locator("#choose-matrix").select_option("all")
    page.wait_for_url("**matrix=all*")
    playwright.expect(page.locator("[data-present]")).to_be_visible()


def test_sides_beyond_ten_are_listed_and_ticked(page, site):
    for number in range(9):
        extra = make_sweep(matrix=site.world.matrix, workload=site.world.workload, mode=f"m{number}")
        make_run(extra, threads=2, throughput=100.0 + number)
    page.reload(wait_until="networkidle")
    page.locator("#plot-ceilings").hover()
    bars = page.locator("#plot-ceilings .bars .point")
    playwright.expect(bars).to_have_count(10)
    assert page.locator("tr[data-side]:visible").count() == 10
    page.get_by_text("1 more side").click()
    page.locator("tr.beyond .side-shown").check()
    page.wait_for_url("**side=*")
    playwright.expect(bars).to_have_count(11)
    page.get_by_role("link", name="the ten highest").click()
    playwright.expect(bars).to_have_count(10)


def test_each_workload_has_its_own_figures_until_one_is_chosen(page, site):
    other = make_sweep(matrix=site.world.matrix, mode="off")
    make_run(other, threads=2, throughput=900.0)
    page.reload(wait_until="networkidle")
    titles = page.locator(".group-title")
    assert set(titles.all_text_contents()) == {site.world.workload.name, other.workload.name}
    assert page.locator("figure[data-src]").count() == 4
    page.locator("#choose-workload").select_option(other.workload.name)
    page.wait_for_url("**workload=*")
    playwright.expect(titles).to_have_count(0)
    playwright.expect(page.locator("tr[data-side]")).to_have_count(1)
    assert not site.complaints
