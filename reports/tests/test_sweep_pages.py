"""The list of sweeps and the page of one."""

import re
import uuid

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchsite.accounts.models import Role
from conftest import signed_in
from reports.models import StoredCurve
from runs.models import Run, Sweep
from runs.tests.factories import make_matrix, make_run, make_spec, make_sweep, make_user, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def measured(team, **fields):
    sweep = make_sweep(team=team, **fields)
    for threads, throughput in ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3400.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    return sweep


def listed(client, query=""):
    response = client.get(f"/sweeps/{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_without_sweeps_it_says_what_to_do(client_in):
    assert "No sweeps yet" in listed(client_in)


def test_the_list_shows_ceilings_and_leads_to_the_comparison(client_in, team):
    sweep = measured(team, name="redis always A")
    html = listed(client_in)
    assert "3.40k" in html and "highest measured (n = 1)" in html and "disk, loses none" in html
    assert f'name="sweep" value="{sweep.pk}"' in html and 'action="/compare/"' in html
    assert client_in.get("/compare/", {"sweep": sweep.pk}, follow=True).status_code == 200


@pytest.mark.parametrize(
    "sort, order",
    [("highest", ["b", "a", "none"]), ("lowest", ["a", "b", "none"]), ("name-reversed", ["none", "b", "a"])],
)
def test_sweeps_are_sorted_by_ceiling_and_name(client_in, team, sort, order):
    measured(team, name="a")
    make_run(make_sweep(team=team, name="b"), throughput=9_000.0)
    make_sweep(team=team, name="none")
    html = listed(client_in, f"?sort={sort}")
    assert re.findall(r'aria-label="Compare ([^"]+)"', html) == order
    assert html.count("aria-sort") == 1


def test_filters_and_search_narrow_the_list(client_in, team):
    first = measured(team, name="first", tags=["baseline"], notes="quiet host")
    measured(team, name="second", workload=make_workload(team=team, name="Workload B"))
    for query in ("?q=first", "?q=QUIET", "?tag=baseline", f"?matrix={first.matrix_id}", "?q=baseline"):
        html = listed(client_in, query)
        assert ">first<" in html and ">second<" not in html, query
    assert "No sweep matches" in listed(client_in, "?system=postgresql")
    assert ">second<" in listed(client_in, "?workload=Workload B")


@pytest.mark.parametrize(
    "query", ["?matrix=x", "?purpose=nonsense", "?phase=x", "?sort=x", "?page=x", "?q=%00", "?page=99"]
)
def test_a_broken_filter_is_no_filter(client_in, team, query):
    measured(team, name="first")
    assert ">first<" in listed(client_in, query)


def test_loads_are_hidden_unless_asked_for(client_in, team):
    make_run(make_sweep(team=team, name="load of redis", phase="load"))
    assert "load of redis" not in listed(client_in)
    assert "load of redis" in listed(client_in, "?phase=any")


def test_more_sweeps_ask_no_more_queries(client_in, team):
    def queries():
        cache.clear()  # Curves are remembered: what is counted is a page that nobody saw before.
        StoredCurve.objects.all().delete()
        with CaptureQueriesContext(connection) as context:
            listed(client_in)
        return len(context)

    measured(team)
    listed(client_in)
    few = queries()
    matrix = make_matrix(team=team)
    for number in range(12):
        make_run(make_sweep(matrix=matrix, mode=f"mode-{number}"))
    assert queries() == few


def test_the_page_says_in_words_what_the_ladder_shows(client_in, team):
    sweep = measured(team)
    make_run(sweep, threads=32, status="failed")
    html = client_in.get(reverse("sweep", args=[sweep.pk])).content.decode()
    assert "is the highest measured. Whether throughput ends there is open" in html and "One run per rung" in html
    assert "The knee is at" in html
    assert "4 of 5 runs succeeded, 1 failed." in html
    assert "A write is acknowledged when it has been forced to disk." in html
    assert "appendfsync" in html and "nothing measured" in html
    assert reverse("figure-sweep", args=[sweep.pk]) in html


def test_a_sweep_that_has_not_begun_has_a_page(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, status="queued")
    html = client_in.get(reverse("sweep", args=[sweep.pk])).content.decode()
    assert "No point counts, so there is no ceiling." in html and "1 to come" in html


def test_another_teams_sweep_is_not_there(client_in, stranger, team):
    sweep = measured(team)
    assert stranger.get(reverse("sweep", args=[sweep.pk])).status_code == 404
    assert stranger.post(reverse("sweep-annotate", args=[sweep.pk])).status_code == 404
    assert client_in.get(reverse("sweep", args=[uuid.uuid4()])).status_code == 404


def test_runners_write_notes_and_tags(client_in, team):
    sweep = measured(team)
    url = reverse("sweep-annotate", args=[sweep.pk])
    response = client_in.post(url, {"tags": "Baseline, quiet  host", "notes": "after the upgrade"}, follow=True)
    assert "Tags and notes are saved." in response.content.decode()
    found = Sweep.objects.get(pk=sweep.pk)
    assert found.tags == ["baseline", "quiet host"] and found.notes == "after the upgrade"
    refused = client_in.post(url, {"tags": "x" * 60, "notes": "lost?"}, follow=True)
    assert "A tag has at most 40 characters" in refused.content.decode()
    assert Sweep.objects.get(pk=sweep.pk).notes == "after the upgrade"


def test_viewers_only_read(team):
    sweep = measured(team)
    viewer = signed_in(make_user(team=team, role=Role.VIEWER))
    assert viewer.post(reverse("sweep-annotate", args=[sweep.pk])).status_code == 403
    html = viewer.get(reverse("sweep", args=[sweep.pk])).content.decode()
    assert "No notes." in html and "Save tags" not in html


def test_the_page_asks_the_same_queries_for_more_runs(client_in, team):
    def queries(sweep):
        cache.clear()
        StoredCurve.objects.all().delete()
        with CaptureQueriesContext(connection) as context:
            assert client_in.get(reverse("sweep", args=[sweep.pk])).status_code == 200
        return len(context)

    small, large = make_sweep(team=team), make_sweep(team=team)
    make_run(small)
    for threads in range(1, 21):
        make_run(large, threads=threads)
    queries(small)
    assert queries(small) == queries(large)


def test_uploads_of_several_commits_are_one_line(client_in, team):
    """Compare and the list of sweeps show the newest commit of a test; another load is another test."""
    template = make_sweep(team=team)
    spec = make_spec(template, threads=8)
    sweeps = []
    for commit, threads in (("a1", 8), ("b2", 8), ("c3", 16), ("", 8)):
        spec["load"]["threads"] = threads
        sweep = make_sweep(matrix=template.matrix, name=f"at {commit or 'no'} commit {threads}", purpose="measured")
        run = make_run(sweep, spec=spec, threads=threads, commit=commit, source="uploaded")
        Run.objects.filter(pk=run.pk).update(matrix=None)
        Sweep.objects.filter(pk=sweep.pk).update(matrix=None)
        sweeps.append(sweep.name)
    names = set(re.findall(r">(at [^<]* commit [0-9]+)<", listed(client_in)))
    assert names == set(sweeps[1:])
    assert len(set(re.findall(r">(at [^<]* commit [0-9]+)<", listed(client_in, "?commits=all")))) == 4
    assert client_in.get("/compare/?v=1&matrix=all").content.count(b"data-side=") == 3
