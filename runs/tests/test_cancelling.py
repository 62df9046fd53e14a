"""Every page says "cancelling" from the request to cancel until the last run has ended."""

import datetime as dt
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from runs.models import Run
from runs.queue import lifecycle
from runs.queue.pages.progress import get_progress
from runs.tests.factories import make_load_generator, make_matrix, make_run, make_sweep, make_user
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A")


@pytest.fixture
def cancelled(sweep, team):
    """A matrix of six runs, cancelled while the third one was measured."""
    generator = make_load_generator()
    for threads, status in enumerate(("succeeded", "failed", "running", "queued", "queued", "queued"), start=1):
        make_run(sweep, threads=threads, status=status, generators=[generator], expected_s=600)
    lifecycle.request_cancel_matrix(sweep.matrix, make_user(team=team, username="ada"))
    return sweep.matrix


def end(matrix):
    ended = {"status": "cancelled", "reason": "cancelled_by_user", "finished_at": timezone.now(), "stage": "done"}
    Run.objects.filter(matrix=matrix, status="running").update(**ended)


def statuses(page):
    """The words of all badges with a status."""
    return re.findall(r'<(?:span|a) class="badge badge--[a-z]+(?: badge--live)?"[^>]*>([^<]+)<', page)


@pytest.mark.parametrize("address", ["matrix", "matrices", "home", "queue", "runs", "run"])
def test_shows_cancelling_until_the_last_run_ends(client_in, cancelled, address):
    run = cancelled.runs.get(status="running")
    url = reverse(address, args={"matrix": [cancelled.pk], "run": [run.pk]}.get(address, []))
    page = get_text(client_in.get(url))
    assert "cancelling" in statuses(page)
    assert "running" not in statuses(page) and "stopping" not in page
    end(cancelled)
    assert "cancelling" not in statuses(get_text(client_in.get(url)))


def test_names_the_parts_of_the_progress_in_words(client_in, cancelled):
    url = reverse("matrix", args=[cancelled.pk])
    page = get_text(client_in.get(url))
    assert "1 of 6 runs succeeded" in page
    assert 'aria-label="1 succeeded, 1 failed, 3 cancelled, 1 cancelling"' in page
    assert "Cancel this matrix" not in page
    end(cancelled)
    page = get_text(client_in.get(url))
    assert "1 of 6 runs succeeded" in page and "6 of 6" not in page
    assert 'aria-label="1 succeeded, 1 failed, 4 cancelled"' in page
    assert "Cancel this matrix" not in page


def test_list_counts_what_succeeded_not_what_ended(client_in, cancelled):
    end(cancelled)
    page = get_text(client_in.get(reverse("matrices")))
    assert "1 of 6" in page
    assert 'aria-label="1 succeeded, 1 failed, 4 cancelled"' in page


def test_polls_while_it_is_cancelling(client_in, cancelled):
    cancelled.runs.filter(status="succeeded").update(phase="load")
    url = reverse("matrix-live", args=[cancelled.pk])
    assert "every 2s" in get_text(client_in.get(url, headers={"HX-Request": "true"}))
    end(cancelled)
    page = get_text(client_in.get(url, {"seen": "cancelling"}, headers={"HX-Request": "true"}))
    assert "every 2s" not in page
    assert "failed" in statuses(page)
    assert '<section class="panel" id="matrix-loads" hx-swap-oob="true">' in page


def test_a_run_that_is_cancelled_ends_soon(client_in, cancelled):
    """It was expected to take ten minutes more; the runs behind it need not wait so long."""
    (line,) = client_in.get(reverse("queue")).context["holding"]
    assert line["row"].ends_at - timezone.now() < dt.timedelta(seconds=5)


def test_one_cancelled_run_does_not_cancel_its_matrix(sweep, team):
    run = make_run(sweep, threads=2, status="running")
    make_run(sweep, threads=4, status="queued")
    lifecycle.request_cancel(run, make_user(team=team, username="ada"))
    progress = get_progress([sweep.matrix])[sweep.matrix_id]
    assert progress.status == "running"
    assert progress.parts == [("cancelling", 1), ("queued", 1)]


@pytest.mark.parametrize(
    ("runs", "status"),
    [
        ((), ""),
        (("queued", "queued"), "queued"),
        (("queued", "dispatched"), "running"),
        (("queued", "succeeded"), "running"),
        (("succeeded", "failed", "cancelled"), "failed"),
        (("succeeded", "cancelled"), "cancelled"),
        (("succeeded", "succeeded"), "succeeded"),
    ],
)
def test_status_of_a_matrix(team, sweep, runs, status):
    for threads, each in enumerate(runs, start=1):
        make_run(sweep, threads=threads, status=each)
    progress = get_progress([sweep.matrix])[sweep.matrix_id]
    assert (progress.status, progress.total) == (status, len(runs))


def test_a_plan_that_was_not_submitted_says_so(team):
    matrix = make_matrix(team=team, submitted_at=None)
    assert get_progress([matrix])[matrix.pk].status_word == "not submitted"


def test_a_run_that_no_conductor_claims_is_cancelled(sweep, team):
    """A request to cancel outlives the dispatch: the run does not go back to the queue."""
    run = make_run(sweep, status="dispatched")
    lifecycle.request_cancel(run, make_user(team=team, username="ada"))
    Run.objects.filter(pk=run.pk).update(dispatched_at=timezone.now() - dt.timedelta(minutes=2))
    lifecycle.reap()
    run.refresh_from_db()
    assert (run.status, run.reason) == ("cancelled", "cancelled_by_user")
