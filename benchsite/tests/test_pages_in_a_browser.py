"""The pages in a real browser: figures and their tables, the cut of a run, the theme, the preview, no scripts."""

import re

import pytest
from django.urls import reverse

from benchsite.tests.browser import chromium, site
from runs.models import LoadGenerator
from runs.tests.factories import make_database, make_matrix, make_run, make_sweep, make_workload
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder", "chromium", "site"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_it_draws_figures_and_their_tables(site):
    page = site.open()
    page.goto(f"{site.url}{reverse('sweep', args=[site.world.sweep.pk])}", wait_until="networkidle")
    figures = page.locator("figure[data-src]")
    assert figures.count() >= 1
    assert page.locator("figure .main-svg").count() >= figures.count()
    first = figures.first
    first.locator("summary").click()
    first.locator("table tbody tr").first.wait_for()  # Its table is filled when it opens.
    with page.expect_download() as saved:
        first.get_by_text("Paper SVG").click()
    assert saved.value.suggested_filename.endswith("-paper.svg")
    assert not site.complaints


def test_preset_of_a_workload_keeps_what_is_typed(site):
    page = site.open()
    page.goto(f"{site.url}{reverse('workload-add')}", wait_until="networkidle")
    page.locator("[name=name]").fill("Orders")
    page.locator("[name=recordsize]").fill("4 KB")
    page.locator("[name=properties]").fill("insertorder=ordered")

    def read(*names):
        return [page.locator(f"[name={name}]").input_value() for name in names]

    page.get_by_role("link", name="E 95/5").click()
    assert read("name", "recordsize", "fieldlength", "short_name") == ["Orders", "4 KB", "400", "E"]
    assert read("scanproportion", "readproportion") == ["95", "0"]
    assert "insertorder=ordered\nmaxscanlength=100\n" in read("properties")[0]
    page.get_by_role("link", name="D 95/5").click()
    assert read("readproportion", "requestdistribution", "short_name") == ["95", "latest", "D"]
    assert read("name", "properties") == ["Orders", "insertorder=ordered"]
    assert "read latest" in page.locator("nav[aria-label=Presets] output").inner_text()
    assert not site.complaints


@pytest.mark.parametrize("width", [390, 1280])
def test_latest_result_moves_nothing_on_the_home_page(site, team, width):
    matrix = make_matrix(team=team)
    for mode in ("off", "always"):
        sweep = make_sweep(matrix=matrix, mode=mode)
        for threads in (2, 4, 8):
            make_run(sweep, threads=threads, throughput=1000.0 * threads)
    tops = []
    for is_refused in (True, False):
        page = site.open(viewport={"width": width, "height": 900})
        if is_refused:
            page.route("**/latest/", lambda route: route.abort())
        page.goto(f"{site.url}{reverse('home')}", wait_until="networkidle")
        tops.append(page.locator("#now").bounding_box()["y"])
    assert tops[0] == pytest.approx(tops[1], abs=96) or min(tops) > 900  # below the fold


def test_it_says_so_when_a_figure_cannot_be_fetched(site):
    page = site.open()
    page.route("**/figures/**", lambda route: route.fulfill(status=503, body="{}"))
    page.goto(f"{site.url}{reverse('sweep', args=[site.world.sweep.pk])}", wait_until="networkidle")
    assert "could not be drawn" in page.locator("figure [role=alert]").first.inner_text()


def test_zooming_into_a_run_fills_in_its_next_cut(site, team, artifact_folder):
    run = recorded_run(team)
    page = site.open(viewport={"width": 1280, "height": 900})
    page.goto(f"{site.url}{reverse('run', args=[run.pk])}", wait_until="networkidle")
    warmup, tail = page.locator("#cut [name=warmup_s]"), page.locator("#cut [name=tail_s]")
    planned = (warmup.input_value(), tail.input_value())
    area = page.locator("figure[data-fills] .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.45, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=5)
    page.mouse.up()
    page.wait_for_function("planned => document.querySelector('#cut').warmup_s.value !== planned", arg=planned[0])
    zoomed = warmup.input_value(), tail.input_value()
    assert float(zoomed[0]) > 1.5
    assert float(zoomed[1]) > 0
    page.go_back()
    page.wait_for_function("planned => document.querySelector('#cut').warmup_s.value === planned", arg=planned[0])
    # The axis is whole again as soon as the figure is drawn.
    page.wait_for_function(
        "() => document.querySelector('figure[data-fills] .js-plotly-plot').layout.xaxis.range[0] < 1"
    )
    page.go_forward()
    page.wait_for_function("zoomed => document.querySelector('#cut').warmup_s.value === zoomed", arg=zoomed[0])
    # Plotly takes two clicks for two single ones while it draws the part that was asked for: a hand clicks again.
    for _ in range(10):
        page.mouse.dblclick(box["x"] + box["width"] / 2, middle)
        page.wait_for_timeout(500)
        if warmup.input_value() == planned[0]:
            break
    assert warmup.input_value() == planned[0]
    assert tail.input_value() == planned[1]
    warmup.fill("2")
    page.get_by_role("button", name="Cut again").click()
    page.get_by_text("Cut 2 is the current one").wait_for()
    assert not site.complaints


def test_a_run_is_cut_again_without_javascript(site, team, artifact_folder):
    run = recorded_run(team)
    page = site.open(java_script_enabled=False)
    page.goto(f"{site.url}{reverse('run', args=[run.pk])}")
    page.locator("#cut [name=warmup_s]").fill("2")
    page.get_by_role("button", name="Cut again").click()
    page.get_by_role("button", name="Make current").click()
    page.get_by_text("Cut 1 is the current one").wait_for()


def test_it_keeps_the_chosen_theme_and_redraws(site):
    page = site.open(color_scheme="light")
    address = f"{site.url}{reverse('sweep', args=[site.world.sweep.pk])}"
    page.goto(address, wait_until="networkidle")
    with page.expect_response(re.compile("theme=dark")):
        page.get_by_role("button", name="Dark").click()
    assert background(page) == "rgb(15, 18, 23)"
    page.goto(address, wait_until="commit")
    page.locator("html[data-theme=dark]").wait_for(state="attached")  # At "commit" there may be no element yet.
    page.get_by_role("button", name="System", exact=True).click()
    assert background(page) == "rgb(247, 248, 250)"
    assert not site.complaints


def background(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_it_previews_a_matrix_while_it_is_chosen(site):
    page = site.open()
    page.goto(f"{site.url}{reverse('matrix-add')}", wait_until="networkidle")
    assert "Choose at least one workload." in page.locator("#preview").inner_text()
    # Another button of that name is there for the key Enter alone.
    assert page.get_by_role("button", name="Preview").count() == 1
    page.locator("input[name=entries][value$=':always']").check()
    page.locator("input[name=workloads]").first.check()
    for box in page.locator("input[name=load_generators]").all():
        box.set_checked("load-1" in box.locator("xpath=..").inner_text())
    page.locator("input[name=rungs]").fill("2, 4")
    page.locator("#preview >> text=6 runs").wait_for()  # 2 rungs x 3 repeats
    assert page.url.endswith(reverse("matrix-add"))
    page.get_by_role("button", name="leave out").first.click()
    assert page.locator("input[name=exclude_reason]").first.evaluate("box => box === document.activeElement")
    page.wait_for_load_state("networkidle")
    assert not site.complaints


def test_promises_of_modes_fit_beside_what_can_be_set(site):
    page = site.open(viewport={"width": 1280, "height": 800})
    page.goto(f"{site.url}{reverse('database-add')}", wait_until="networkidle")
    assert page.locator("#system-modes .table-wrap").evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_what_was_done_is_in_view_where_an_address_leads(site, team):
    database = make_database(team=team, cluster=site.world.cluster, name="Redis of modes")
    page = site.open()
    page.goto(f"{site.url}{reverse('own-mode-add', args=[database.pk, 'everysec'])}", wait_until="networkidle")
    page.get_by_label("Name").fill("seldom")
    page.get_by_label("Where the disk is slow").fill("9")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**#mode-seldom-stated")
    message, title = page.get_by_text("The mode seldom-stated of"), page.locator("#mode-seldom-stated h3")
    below = message.bounding_box()
    assert below["y"] >= 0 and below["y"] + below["height"] < title.bounding_box()["y"] < page.viewport_size["height"]


def test_matrix_of_two_databases_takes_four_clicks(site, team):
    """From the home page to its runs in the queue: in their modes, under two workloads, over the ladder as it is."""
    LoadGenerator.objects.filter(pk=site.world.generator.pk).update(enabled=False)  # It has no clients.
    cluster = site.world.cluster
    make_database(team=team, name="PostgreSQL", system="postgresql", cluster=cluster)
    make_workload(team=team, name="Reads", short_name="C")
    page = site.open()
    page.goto(site.url, wait_until="networkidle")
    page.get_by_role("link", name="New matrix").click()
    page.get_by_role("button", name="One mode for each loss, of all databases").click()
    page.get_by_role("button", name="All workloads").click()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_text("was put in the queue.").wait_for()
    assert not site.complaints


def test_it_can_be_used_without_javascript(site):
    page = site.open(java_script_enabled=False, viewport={"width": 390, "height": 900})
    page.goto(f"{site.url}{reverse('home')}")
    page.locator("details.menu--nav summary").click()
    page.locator("details.menu--nav >> text=Databases").click()
    page.get_by_role("link", name="Study of everything").first.click()
    assert page.locator("h1").inner_text() == "Study of everything"
    page.goto(f"{site.url}{reverse('matrix-add')}")
    page.locator("input[name=entries][value$=':always']").check()
    page.get_by_role("button", name="Preview").last.click()
    assert "Choose at least one workload." in page.locator("#preview").inner_text()
    assert page.locator("input[name=entries][value$=':always']").is_checked()
