"""Client groups planned in the builder, measured on a real Redis and a real PostgreSQL, and what their pages say."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from benchsite.accounts.models import Role, Team
from benchsite.local.demo.study import plan_study
from benchsite.tests.browser import chromium, opened_site
from benchsite.tests.live_site import GENERATORS, LiveSite, shared_site as site
from runs.models import LoadGenerator, Matrix, Workload
from runs.models.run import Phase, Status
from runs.tests.factories import make_team, make_user, make_workload

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
RUN_TIMEOUT_S = 200


@pytest.fixture
def team(site: LiveSite) -> Team:
    """With the databases and the workload of the quick study, and a workload of scans over the same records."""
    team = make_team()
    generators = list(LoadGenerator.objects.filter(name__in=GENERATORS).select_related("machine"))
    plan_study(team, make_user(team=team, role=Role.ADMIN), generators)
    own = Workload.objects.get(team=team).properties
    mix = {"readproportion": "0.0", "updateproportion": "0.0", "scanproportion": "1.0", "maxscanlength": "20"}
    make_workload(team=team, name="Scans", short_name="S", properties={**own, **mix})
    return team


@pytest.fixture
def page(chromium: Any, team: Team, live_server: Any) -> Iterator[Page]:
    client = Client()
    client.force_login(make_user(team=team, role=Role.ADMIN))
    with opened_site(chromium, live_server.url, client) as opened:
        yield opened.open()
    assert opened.complaints == []


def fill_in(page: Page, team: Team, name: str) -> None:
    page.goto("/matrices/new")
    for mode in ("everysec", "on"):  # Redis and PostgreSQL
        page.locator(f'[name="entries"][value$=":{mode}"]').first.check()
    own = Workload.objects.exclude(name="Scans").get(team=team)
    page.locator(f'[name="workloads"][value="{own.pk}"]').check()
    page.locator('[name="rungs"]').fill("8")
    page.locator('[name="warmup_s"]').fill("1")
    page.locator('[name="min_measure_s"]').fill("5")
    page.locator('[name="repeats"]').fill("1")
    page.locator('[name="name"]').fill(name)


def add_group(page: Page, **cells: str) -> None:
    row = page.get_by_role("group", name="Client group").last
    if not row.is_visible():
        page.get_by_role("heading", name="Client groups").click()
    for name, text in cells.items():
        cell = row.locator(f'[name="group_{name}"]')
        if cell.evaluate("cell => cell.tagName") == "SELECT":
            cell.select_option(text)
        else:
            cell.fill(text)


def test_groups_from_builder_to_results(page: Page, team: Team, site: LiveSite) -> None:
    fill_in(page, team, "Beside scans")
    add_group(page, name="scans", workload="Scans", threads="2", target_ops_s="20")
    expect(page.locator("#preview")).to_contain_text("Predicted")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Beside scans")

    runs = site.until_ended(Matrix.objects.get(name="Beside scans"), RUN_TIMEOUT_S)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    measured = [run for run in runs if run.phase == Phase.MEASURE]
    assert {run.system for run in measured} == {"redis", "postgresql"}
    for run in measured:
        page.goto(f"/runs/{run.pk}")
        panel = page.locator("#groups")
        expect(panel).to_contain_text("background")
        expect(panel).to_contain_text("Scans, 2 threads")
        expect(panel).to_contain_text("SCAN")
    assert measured[0].sweep is not None
    page.goto(f"/sweeps/{measured[0].sweep.pk}")
    expect(page.locator("body")).to_contain_text("Beside it: scans")


def test_refused_before_submission(page: Page, team: Team) -> None:
    fill_in(page, team, "Refused")
    preview = page.locator("#preview")
    add_group(page, name="scans", workload="Scans", threads="0")
    expect(preview).to_contain_text("A row of the client groups needs attention")
    add_group(page, threads="1")
    expect(preview).to_contain_text("cannot be split over 2 clients")
    add_group(page, threads="2", generators="2")
    expect(preview).to_contain_text("the ladder needs one: choose more, or let groups share")
    add_group(page, generators="", arrivals="poisson")
    expect(preview).to_contain_text("need a rate: give its target")
    add_group(page, arrivals="", start_s="4", length_s="9")
    expect(preview).to_contain_text("it ends at second 13, after the window")
    add_group(page, start_s="", length_s="")
    expect(preview).not_to_contain_text("Group scans")
