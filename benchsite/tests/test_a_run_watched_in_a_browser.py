"""A person watches a run until it ends: the page fills in, ends its polling by itself, and no error is logged."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from benchsite.accounts.models import User
from benchsite.tests.browser import chromium, opened_site
from runs.models import Run
from runs.queue import live
from runs.tests.factories import make_client_run, make_measurement_set, make_run, make_sweep

__all__ = ["chromium"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(chromium: object, live_server: Any, client_in: Client) -> Iterator[Page]:
    """A browser in which the runner is signed in; it fails the test for anything on its console."""
    with opened_site(chromium, live_server.url, client_in) as site:
        yield site.open()
    assert site.complaints == []


@pytest.fixture
def running(user: User) -> Iterator[Run]:
    run = make_run(
        make_sweep(team=user.teams.get(), name="redis always A"), status="running", started_at=timezone.now()
    )
    make_client_run(run, state="running")
    yield run
    live.connection().delete(live.build_key(run.pk))


def say(run: Run, second: int) -> None:
    status = live.OperationStatus(count=41_200.0, mean_us=400.0, p99_us=1_500.0)
    text = f"{second} sec: said"
    line = live.StatusLine(0, second, 1000 + second, 41_200 * second, 41_200, {"READ": status}, text)
    live.publish(run.pk, line)


def end(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(
        status="succeeded", stage="done", verdict="pass", finished_at=timezone.now(), throughput_ops_s=41_200
    )
    run.refresh_from_db()
    make_measurement_set(run)


def test_the_page_follows_a_run_to_its_verdict(page: Page, running: Run) -> None:
    say(running, 1)
    say(running, 2)
    page.goto(f"/runs/{running.pk}/")
    expect(page.get_by_text("2 sec: said")).to_be_visible()
    expect(page.locator("#run-figure .js-plotly-plot")).to_be_visible()

    page.get_by_label("Notes").fill("half a sentence")
    say(running, 3)
    expect(page.get_by_text("3 sec: said")).to_be_visible()

    end(running)
    expect(page.get_by_role("heading", name="Verdict")).to_be_visible()
    expect(page.locator("#run-badges")).to_contain_text("succeeded")
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    expect(page.locator("[hx-trigger]")).to_have_count(0)
    # What the reader was writing meanwhile is still there.
    assert page.get_by_label("Notes").input_value() == "half a sentence"


def test_cancelling_asks_first_and_names_the_run(page: Page, running: Run) -> None:
    page.goto(f"/runs/{running.pk}/")
    page.get_by_text("Cancel …").click()
    expect(page.get_by_text("Stop “redis always A 2t r1”?")).to_be_visible()
    page.get_by_role("button", name="Cancel this run").click()
    expect(page.get_by_text("cancelling", exact=True)).to_be_visible()
    running.refresh_from_db()
    assert running.cancel_requested_at is not None


def test_the_matrix_fills_in_while_it_is_watched(page: Page, running: Run) -> None:
    page.goto(f"/matrices/{running.matrix_id}/")
    expect(page.locator(".matrix__cell")).to_contain_text("running")
    end(running)
    expect(page.locator(".matrix__cell")).to_contain_text("41.2k")
    expect(page.locator("#matrix-badges")).to_contain_text("succeeded")
    expect(page.locator('[hx-trigger="every 2s"]')).to_have_count(0)
    expect(page.locator("#matrix-live")).to_have_attribute("hx-trigger", "every 30s, visibilitychange from:document")


def test_return_to_a_finished_matrix_shows_its_new_runs(page: Page, running: Run) -> None:
    end(running)
    page.goto(f"/matrices/{running.matrix_id}/")
    expect(page.locator("#matrix-figure .js-plotly-plot")).to_be_visible()
    assert running.sweep
    again = make_run(running.sweep, repeat=2, status="running", rerun_of=running)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#matrix-badges")).to_contain_text("running")
    expect(page.locator("#matrix-figure[data-refresh] .js-plotly-plot")).to_be_visible()
    end(again)
    expect(page.locator("#matrix-badges")).to_contain_text("succeeded")
    expect(page.locator(".matrix__cell")).to_contain_text("2 of 2 repeats count")
