"""The number in a link, or beside it, is the number of rows behind it, whatever became of the rows."""

import datetime as dt
import re
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from reports.tests.verdicts import commit_runs, make_test
from runs.models import Matrix, MatrixEntry, Run
from runs.tests.factories import finding, make_load_generator, make_matrix, make_run, make_sweep
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LINK = re.compile(r'<a href="(/runs/\?[^"]+)">\s*(?:All )?([\d,]+)')
OLD = timezone.now() - dt.timedelta(days=30)
REJECTED = {"verdict": "reject", "findings": [finding("V25", "reject", title="Interference")]}
FAILED = {"status": "failed"}


def count_rows(client, address):
    return client.get(unescape(address)).context["page"].paginator.count


def make_fates(sweep, threads, **kind):
    """Two runs that are open, and one of each fate that closes a run or takes it out of the list."""

    def make(**fields):
        repeat = sweep.runs.filter(threads=threads).count() + 1
        return make_run(sweep, threads=threads, repeat=repeat, **{**kind, **fields})

    make()
    make()
    make(rerun_of=make(), status="queued", verdict="", findings=[])
    make(finished_at=OLD, started_at=OLD)
    if kind == REJECTED:
        make(verdict_override="the laptop was idle")
        make(excluded_reason="a backup ran")
        make(is_bracket=True)
        make(rerun_of=make(), status="cancelled", verdict="", findings=[])
    Run.objects.filter(pk=make(rerun_of=make(), status="succeeded", verdict="pass", findings=[]).pk).delete()


@pytest.fixture
def fates(team):
    """A matrix, one that is archived, loads and uploads, each with failed and rejected runs."""
    matrix = make_matrix(team=team)
    archived = make_matrix(team=team, archived_at=timezone.now())
    for sweep in (
        make_sweep(matrix=matrix),
        make_sweep(matrix=matrix, phase="load"),
        make_sweep(matrix=archived),
    ):
        make_fates(sweep, 2, **REJECTED)
        make_fates(sweep, 4, **FAILED)
    make_run(make_sweep(team=team, matrix=None), source="uploaded", **REJECTED)
    return matrix


@pytest.mark.parametrize("kind", ["failed", "rejected"])
def test_home_counts_the_runs_that_its_link_lists(client_in, fates, kind):
    page = get_text(client_in.get(reverse("news")))
    (address, number), *others = [link for link in LINK.findall(page) if f"{link[1]} {kind} run" in page]
    assert not others and count_rows(client_in, address) == int(number) > 3


def test_matrix_page_counts_the_runs_that_its_links_list(client_in, fates):
    response = client_in.get(reverse("matrix", args=[fates.pk]))
    page, matrix_page = get_text(response), response.context["page"]
    ((address, number),) = LINK.findall(page)
    assert count_rows(client_in, address) == int(number) == len(matrix_page["failures"])
    (address,) = re.findall(r'<a href="(/runs/\?[^"]+)">Rejected</a>', page)
    (rejection,) = matrix_page["rejections"]
    assert count_rows(client_in, address) == matrix_page["rejected"] == rejection["runs"]
    assert f"{matrix_page['rejected']} runs do not count" in " ".join(page.split())


def test_matrix_measures_as_many_again_as_it_counts(client_in, fates):
    matrix_page = client_in.get(reverse("matrix", args=[fates.pk])).context["page"]
    fates.runs.filter(status="queued").delete()
    rejected = client_in.get(reverse("matrix", args=[fates.pk])).context["page"]["rejected"]
    assert rejected == matrix_page["rejected"] + 1, "the repeat that was waiting is gone"
    page = get_text(client_in.post(reverse("matrix-resume", args=[fates.pk]), {"rejected": "1"}, follow=True))
    assert f"Queued: {rejected} measured runs" in page


def test_reasons_of_a_list_count_its_rows(client_in, fates):
    for verdict in ("reject", "reject-open"):
        response = client_in.get(reverse("runs"), {"verdict": verdict, "phase": "any"})
        (rejection,) = response.context["rejections"]
        assert rejection["runs"] == response.context["page"].paginator.count
        again, uploaded = response.context["again"], response.context["uploaded"]
        assert again + uploaded == rejection["runs"]


def test_load_generators_count_those_that_are_listed(client_in, team):
    make_matrix(team=team)  # Before the first one home shows steps.
    for number in range(12):
        make_load_generator(name=f"load-{number}", enabled=number > 2)
    page = get_text(client_in.get("/"))
    (number,) = re.findall(rf'<a href="{reverse("load-generators")}">all (\d+)</a>', page)
    listed = client_in.get(reverse("load-generators")).context["page"]
    assert int(number) == listed.paginator.count
    for state, count in client_in.get(reverse("load-generators"), {"q": "load-1"}).context["health"]["states"]:
        rows = client_in.get(reverse("load-generators"), {"q": "load-1", "state": state}).context["page"]
        assert rows.paginator.count == count


def test_histories_that_were_not_searched_are_no_link(client_in, team, monkeypatch):
    """The list behind the link has the others too."""
    monkeypatch.setattr("benchsite.site.views.MAX_HISTORIES", 1)
    for _ in range(2):
        test = make_test(team)
        for number in range(10):
            commit_runs(test, f"aaaa{number:04}", 1000.0, days_ago=9 - number, repeats=1)
    page = " ".join(get_text(client_in.get(reverse("news"))).split())
    assert f'1 more history was not searched: see <a href="{reverse("history")}">History</a>' in page


def test_lists_count_the_matrices_and_databases_behind_them(client_in, team):
    sweep = make_sweep(team=team)
    database = sweep.database
    for number in range(12):
        matrix = make_matrix(team=team, archived_at=timezone.now() if number % 2 else None)
        for mode in ("always", "off"):
            MatrixEntry.objects.create(matrix=matrix, database=database, mode=mode)
    ((row, _),) = client_in.get(reverse("databases")).context["rows"]
    response = client_in.get(reverse("database", args=[database.pk]))
    page = " ".join(get_text(response).split())
    expected = Matrix.objects.filter(entries__database=database).distinct().count()
    assert row.used == response.context["used"] == expected >= 12
    assert f"{expected} matrices, the newest 10" in page and len(response.context["matrices"]) == 10
    assert response.context["matrices"][0].modes == ["always", "off"]
    for cluster in client_in.get(reverse("clusters")).context["rows"]:
        behind = client_in.get(reverse("cluster", args=[cluster.pk])).context["databases"]
        assert cluster.database_count == len(behind)
