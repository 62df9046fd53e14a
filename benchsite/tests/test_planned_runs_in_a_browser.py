"""Client groups and open loads planned in the builder, measured on real servers, and what their pages say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from benchsite.accounts.models import Role, Team
from benchsite.local.demo.study import plan_study
from benchsite.tests.browser import chromium, opened_site
from benchsite.tests.live_site import GENERATORS, LiveSite, shared_site as site
from reports.models import Report
from reports.published.drafts import Draft
from reports.published.links import find_link
from reports.published.publication import publish_once
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


def fill_in(page: Page, team: Team, name: str, *modes: str, rung: str) -> None:
    page.goto("/matrices/new")
    for mode in modes:
        page.locator(f'[name="entries"][value$=":{mode}"]').first.check()
    own = Workload.objects.exclude(name="Scans").get(team=team)
    page.locator(f'[name="workloads"][value="{own.pk}"]').check()
    page.locator('[name="rungs"]').fill(rung)
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


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "everysec"), pytest.param("postgresql", "on", marks=pytest.mark.long)]
)
def test_groups_from_builder_to_results(page: Page, team: Team, site: LiveSite, system: str, mode: str) -> None:
    fill_in(page, team, "Beside scans", mode, rung="8")
    page.locator('[name="purpose"]').select_option("demo")
    add_group(page, name="scans", workload="Scans", threads="2", target_ops_s="20")
    expect(page.locator("#preview")).to_contain_text("Predicted")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Beside scans")

    runs = site.until_ended(Matrix.objects.get(name="Beside scans", team=team), RUN_TIMEOUT_S)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    [measured] = [run for run in runs if run.phase == Phase.MEASURE]
    assert measured.system == system
    page.goto(f"/runs/{measured.pk}")
    panel = page.locator("#groups")
    expect(panel).to_contain_text("background")
    expect(panel).to_contain_text("Scans, 2 threads")
    expect(panel).to_contain_text("SCAN")
    assert measured.sweep is not None
    page.goto(f"/sweeps/{measured.sweep.pk}")
    expect(page.locator("body")).to_contain_text("Beside it: scans")

    draft = Draft(query=f"v=1&matrix={measured.matrix_id}&side=all")
    report = Report(team=team, title="Beside scans", draft=draft.as_json(), access=Report.Access.UNLISTED)
    publish_once(report, None)
    link = find_link(report)
    assert link is not None
    page.goto(f"/r/{link.token}")
    expect(page.locator("main")).to_contain_text("client groups beside the ladder")


def test_refuses_groups_before_submission(page: Page, team: Team) -> None:
    fill_in(page, team, "Refused", "everysec", rung="8")
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


def fill_in_open_load(page: Page, team: Team) -> None:
    fill_in(page, team, "Open load", "off", rung="300")
    page.get_by_label("target throughput").check()
    page.locator('[name="threads"]').fill("16")
    page.get_by_text("Open load: operations that do not wait").click()
    page.locator('[name="arrivals"]').select_option("poisson")


def test_open_load_from_builder_to_results(page: Page, team: Team, site: LiveSite) -> None:
    fill_in_open_load(page, team)
    page.locator('[name="profile_preset"]').select_option("ramp")
    preview = page.locator("#preview")
    expect(preview.locator(".profile polyline")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Open load")

    runs = site.until_ended(Matrix.objects.get(name="Open load"), RUN_TIMEOUT_S)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    assert run.spec["load"]["open"]["profile"] == [[0, 0], [5, 100]]
    page.goto(f"/runs/{run.pk}")
    arrivals = page.locator("#arrivals")
    expect(arrivals).to_contain_text("Poisson arrivals along a profile")
    expect(arrivals).to_contain_text(re.compile("operations that arrived were begun|were dropped"))
    expect(page.locator("#cut")).to_be_visible()
    # The window begins with the first operation, which a busy machine does late: 750 of the ramp, or more.
    assert 500 < run.measurement_sets.get().arrivals["offered"] <= 1500


def test_refuses_open_load_before_submission(page: Page, team: Team) -> None:
    fill_in_open_load(page, team)
    preview = page.locator("#preview")
    page.locator('[name="profile"]').fill("60, 100\n30, 50")
    expect(preview).to_contain_text("seconds ascend")
    page.locator('[name="profile"]').fill("0, -5")
    expect(preview).to_contain_text("Line 1 of the profile")
    page.locator('[name="profile"]').fill("")
    page.locator('[name="patience_ms"]').fill("0")
    expect(preview).to_contain_text("0.001")
    page.locator('[name="patience_ms"]').fill("1")
    page.locator('[name="threads"]').fill("0")
    expect(preview).to_contain_text("greater than or equal to 1")
    page.locator('[name="threads"]').fill("16")
    page.locator('[name="rungs"]').fill("90000000")
    expect(preview).to_contain_text("can offer")
    page.locator('[name="rungs"]').fill("300")
    page.locator("label", has_text="threads").first.click()
    expect(preview).to_contain_text("step the ladder by target throughput")
