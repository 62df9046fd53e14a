"""The headline of Compare offers the repeats up to the plan's next look, to people who may run them."""

import re
from datetime import timedelta

import pytest

from runs.models import Run
from runs.tests.factories import make_matrix, make_run, make_sweep, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def plan(team):
    """Two modes with single runs of 60 s on two rungs; verdicts are planned after 1, 3 and 5 repeats."""
    matrix = make_matrix(team=team, looks=[1, 3, 5], repeats=1)
    for mode, factor in (("off", 2), ("always", 1)):
        sweep = make_sweep(matrix=matrix, mode=mode)
        for threads in (2, 4):
            run = make_run(sweep, threads=threads, throughput=1000.0 * threads * factor)
            Run.objects.filter(pk=run.pk).update(finished_at=run.started_at + timedelta(seconds=60))
    return matrix


def test_headline_offers_repeats_of_next_look(client_in, plan):
    html = client_in.get(f"/compare/?v=1&matrix={plan.pk}").content.decode()
    assert f"/matrices/{plan.pk}/add-repeats/" in html
    assert re.search(r"2 more repeats: <span[^>]*>8.min</span></button> <span[^>]*>up to the next look", html)


@pytest.mark.parametrize(
    "change", [{"status": "queued", "finished_at": None}, {"repeat": 5}], ids=["queued", "last look"]
)
def test_offers_nothing_that_is_queued_or_unplanned(client_in, plan, change):
    Run.objects.filter(sweep__mode="off").update(**change)
    assert "more repeats:" not in client_in.get(f"/compare/?v=1&matrix={plan.pk}").content.decode()


def test_viewers_are_offered_no_repeats(client, team, plan):
    client.force_login(make_user(team=team, role="viewer"))
    html = client.get(f"/compare/?v=1&matrix={plan.pk}").content.decode()
    assert "1 run each" in html and "add-repeats" not in html
