"""Rows of lists: names of runs are whole, and blocks on a telephone name no column of buttons."""

import pytest
from django.urls import reverse

from benchsite.accounts.models import Team
from benchsite.tests.browser import chromium, site
from runs.tests.factories import make_run, make_sweep

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize("width", [1280, 390])
def test_names_of_runs_are_whole(site, width):
    sweep = make_sweep(matrix=site.world.matrix, name="PostgreSQL at db-17.internal.example.org:5432 fsync-off B")
    run = make_run(sweep, name=f"{sweep.name} 16t @5000 r2")
    page = site.open(viewport={"width": width, "height": 900})
    page.goto(f"{site.url}{reverse('runs')}", wait_until="networkidle")

    link, panel = page.get_by_role("link", name=run.name), page.locator(".table-wrap:has(#runs)")
    assert link.evaluate("link => getComputedStyle(link).overflow") == "visible"
    box, around = link.bounding_box(), panel.bounding_box()
    assert box["x"] + box["width"] <= around["x"] + around["width"]
    assert panel.evaluate("panel => panel.scrollWidth <= panel.clientWidth")


def test_folded_rows_name_no_column_of_buttons(site, team):
    network = "2001:db8:1234:5678:9abc:def0:1234:5678/128"
    Team.objects.filter(pk=team.pk).update(name="Storage of the whole house", external_networks=[network])
    page = site.open(viewport={"width": 390, "height": 800})
    page.goto(f"{site.url}{reverse('networks')}", wait_until="networkidle")

    table = page.locator("table.table--fold")
    assert table.locator("td[data-name=Network]").count() == 1
    assert table.locator("td:has(button)").count() == 1
    assert table.locator("td:has(button)[data-name]").count() == 0


def test_telephone_shows_the_current_tab_and_folds_filters(site):
    page = site.open(viewport={"width": 390, "height": 800})
    page.goto(f"{site.url}{reverse('published')}", wait_until="networkidle")
    box = page.locator(".tabs [aria-current]").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390

    page.goto(f"{site.url}{reverse('runs')}", wait_until="networkidle")
    assert not page.locator("form.filters").is_visible()
    page.locator(".fold > summary").click()
    assert page.locator("form.filters").is_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert not page.locator(".fold > summary").is_visible()
    page.reload(wait_until="networkidle")
    assert page.locator("form.filters").is_visible()
