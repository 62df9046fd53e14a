"""An open load planned in the builder, measured on a real Redis, and what its pages say."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from benchsite.accounts.models import Role
from benchsite.local.demo.study import plan_study
from benchsite.tests.browser import chromium, opened_site
from benchsite.tests.live_site import GENERATORS, LiveSite, shared_site as site
from runs.models import LoadGenerator, Matrix, Run
from runs.models.run import Phase, Status
from runs.tests.factories import make_team, make_user

__all__ = ["chromium", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
RUN_TIMEOUT_S = 120


@pytest.fixture
def page(chromium: Any, site: LiveSite, live_server: Any) -> Iterator[Page]:
    """A team that has the databases and the workload of the quick study, and a browser in which it is signed in."""
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN)
    generators = list(LoadGenerator.objects.filter(name__in=GENERATORS).select_related("machine"))
    plan_study(team, user, generators)
    client = Client()
    client.force_login(user)
    with opened_site(chromium, live_server.url, client) as opened:
        yield opened.open()
    assert opened.complaints == []


def fill_in(page: Page) -> None:
    page.goto("/matrices/new")
    page.locator('[name="entries"][value$=":off"]').first.check()
    page.locator('[name="workloads"]').first.check()
    page.get_by_label("target throughput").check()
    page.locator('[name="rungs"]').fill("300")
    page.locator('[name="threads"]').fill("16")
    page.get_by_text("Open load: operations that do not wait").click()
    page.locator('[name="arrivals"]').select_option("poisson")
    page.locator('[name="warmup_s"]').fill("1")
    page.locator('[name="min_measure_s"]').fill("4")
    page.locator('[name="repeats"]').fill("1")
    page.locator('[name="name"]').fill("Open load")


def test_open_load_from_builder_to_results(page: Page, site: LiveSite) -> None:
    fill_in(page)
    page.locator('[name="profile_preset"]').select_option("ramp")
    preview = page.locator("#preview")
    expect(preview.locator(".profile polyline")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Open load")

    runs = site.until_ended(Matrix.objects.get(name="Open load"), RUN_TIMEOUT_S)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    assert run.spec["load"]["open"]["profile"] == [[0, 0], [4, 100]]
    page.goto(f"/runs/{run.pk}")
    arrivals = page.locator("#arrivals")
    expect(arrivals).to_contain_text("Poisson arrivals along a profile")
    expect(arrivals).to_contain_text(re.compile("operations that arrived were begun|were dropped"))
    expect(page.locator("#cut")).to_be_visible()
    assert Run.objects.get(pk=run.pk).measurement_sets.get().arrivals["offered"] == pytest.approx(600, rel=0.3)


def test_refused_before_submission(page: Page) -> None:
    fill_in(page)
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
