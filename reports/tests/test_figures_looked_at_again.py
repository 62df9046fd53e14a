"""A browser that holds a figure is told that it is the same until a row of it changes, and never across teams."""

import pytest
from django.urls import reverse

from reports.tests.test_figure_endpoints import addresses
from runs.models import Series
from runs.results import annotations
from runs.tests.factories import make_run, make_sweep, make_team
from runs.tests.pages import sign_in_viewer
from runs.tests.recorded import recorded_run

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweep(team):
    sweep = make_sweep(team=team, mode="always")
    for threads in (2, 4, 8):
        make_run(sweep, threads=threads, throughput=threads * 400.0)
    return sweep


def get_etag(client, url):
    response = client.get(url)
    assert response.status_code == 200
    assert response["Cache-Control"] == "private, no-cache"
    return response["ETag"]


def again(client, url, tag):
    return client.get(url, headers={"If-None-Match": tag})


def test_a_second_look_costs_no_drawing(client_in, sweep):
    for url in addresses(sweep):
        tag = get_etag(client_in, url)
        response = again(client_in, url, tag)
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag), url
        assert response["Cache-Control"] == "private, no-cache"


def test_another_theme_or_form_is_another_answer(client_in, sweep):
    url = reverse("figure-sweep", args=[sweep.pk])
    tags = {get_etag(client_in, address) for address in (url, f"{url}?theme=dark", f"{url}?theme=dark&narrow=1")}
    tags.add(get_etag(client_in, reverse("figure-sweep-data", args=[sweep.pk, "csv"])))
    assert len(tags) == 4


@pytest.mark.parametrize("change", ["new run", "excluded", "overridden", "renamed", "deleted"])
def test_what_changes_is_seen_at_once(client_in, sweep, user, change):
    urls = [
        *(reverse(f"figure-{name}") for name in ("ceilings", "latency")),
        reverse("figure-sweep", args=[sweep.pk]),
        reverse("figure-matrix", args=[sweep.matrix_id]),
    ]
    rejected = make_run(sweep, threads=16, verdict="reject", throughput=9_999.0)
    tags = {url: get_etag(client_in, url) for url in urls}
    if change == "new run":
        make_run(sweep, threads=32, throughput=20_000.0)
    elif change == "excluded":
        annotations.exclude([sweep.runs.get(threads=8)], user, "another job ran on the host")
    elif change == "overridden":
        annotations.override(rejected, user, "the finding is about the clock alone")
    elif change == "renamed":
        sweep.database_name = "Another"
        sweep.save()
    else:
        sweep.runs.get(threads=2).delete()
    for url, tag in tags.items():
        response = again(client_in, url, tag)
        assert response.status_code == 200, url
        assert response["ETag"] != tag


def test_series_that_were_pruned_are_gone_at_once(client_in, team):
    run = recorded_run(team)
    url = reverse("figure-run-series", args=[run.pk])
    tag = get_etag(client_in, url)
    assert Series.objects.filter(run=run).delete()[0]

    assert again(client_in, url, tag).status_code == 200


def test_another_team_never_gets_it(client_in, sweep):
    other = make_team(name="Other")
    make_run(make_sweep(team=other), threads=2)
    stranger = sign_in_viewer(other)
    for url in addresses(sweep):
        tag = get_etag(client_in, url)
        response = again(stranger, url, tag)
        assert response.status_code in (200, 404), url
        assert response.headers.get("ETag") != tag


def test_a_second_look_asks_few_queries(client_in, sweep, django_assert_max_num_queries):
    url = reverse("figure-ceilings")
    tag = get_etag(client_in, url)
    with django_assert_max_num_queries(9):
        assert again(client_in, url, tag).status_code == 304
