"""A page asks the database as often for forty sweeps as for one, with the cache emptied and with it filled."""

import itertools

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reports.compare.queries import computed_cache
from runs.models import Run, Sweep
from runs.tests.factories import make_database, make_matrix, make_run, make_sweep, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MODES = ("off", "everysec", "always")


@pytest.fixture
def grow(team):
    """Lets the newest matrix have so many sweeps of two rungs, one of them with a finding and an excluded repeat."""
    database, workload, matrix = make_database(team=team), make_workload(team=team), make_matrix(team=team)

    def grown(sweeps: int) -> Sweep:
        for number in range(Sweep.objects.count(), sweeps):
            sweep = make_sweep(
                matrix=matrix, database=database, workload=workload, mode=MODES[number % 3], tags=[f"tag {number}"]
            )
            make_run(sweep, threads=2, findings=[{}])
            make_run(sweep, threads=4, throughput=1800.0, excluded_reason="noisy" if number % 2 else "")
        return Sweep.objects.latest("created_at")

    return grown


def address(name: str, sweep: Sweep) -> str:
    matrix = f"?v=1&matrix={sweep.matrix_id}"
    return {
        "compare": f"/compare/{matrix}",
        "compare over everything": "/compare/?v=1&matrix=all&purpose=demo",
        "its pictures": f"/compare/pictures/{matrix}",
        "its points": f"/compare/points/{matrix}",
        "ceilings": f"/figures/ceilings/{matrix}",
        "latency": f"/figures/latency/{matrix}&op=READ",
        "sweeps": "/sweeps/",
        "sweep": f"/sweeps/{sweep.pk}/",
        "runs": "/runs/",
        "runs searched": "/runs/?q=redis+2t",
        "histories": "/history/",
        "history": f"/history/{Run.objects.filter(sweep=sweep)[0].config_key}/",
        "matrices": "/matrices/",
        "home": "/",
        "latest result": "/latest/",
    }[name]


NAMES = (
    "compare", "compare over everything", "its pictures", "its points", "ceilings", "latency", "sweeps", "sweep",
    "runs", "runs searched", "histories", "history", "matrices", "home", "latest result",
)  # fmt: skip


def queries(client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        response = client.get(url)
    assert response.status_code == 200, f"{url}: {response.status_code}"
    return len(captured)


@pytest.fixture
def forget(monkeypatch):
    """As if nothing were remembered; other tests share the Redis, so it is not emptied."""
    releases = itertools.count()

    def forgotten() -> None:
        release = f"release {next(releases)}"
        monkeypatch.setattr(computed_cache, "_code", lambda: release)

    return forgotten


def test_it_asks_as_often_for_forty_sweeps_as_for_two(client_in, grow, forget):
    counts: dict[str, set[int]] = {name: set() for name in NAMES}
    again: dict[str, set[int]] = {name: set() for name in NAMES}
    for sweeps in (2, 5, 40):
        newest = grow(sweeps)
        for name in NAMES:
            forget()
            counts[name].add(queries(client_in, address(name, newest)))
            again[name].add(queries(client_in, address(name, newest)))
    assert {name: sorted(count) for name, count in counts.items() if len(count) > 1} == {}
    assert {name: sorted(found) for name, found in again.items() if len(found) > 1} == {}
    assert max(again["compare"]) <= 12 < min(counts["compare"]) <= 25


def test_no_page_asks_more_than_twenty_five_times(client_in, grow, forget):
    for name in NAMES:
        one = address(name, grow(1))
        forget()
        first = queries(client_in, one)
        assert first <= 25, f"{name} asks {first} times"


def test_more_sweeps_than_anybody_can_compare_are_said(client_in, grow):
    newest = grow(61)
    page = client_in.get(address("compare", newest)).content.decode()
    assert "More than 60 sweeps match; the newest 60 are shown. Choose fewer." in page


def test_ten_thousand_ticked_runs_are_refused_in_words(client_in, grow):
    sweep = grow(1)
    Run.objects.bulk_create(
        Run(
            team=sweep.team, sweep=sweep, matrix=sweep.matrix, cluster=sweep.database.cluster, name=f"run {number}",
            spec={}, system="redis", mode="off", workload_name="A", purpose="demo", threads=number, repeat=9,
        )
        for number in range(1, 502)
    )  # fmt: skip
    ticked = [str(key) for key in Run.objects.values_list("pk", flat=True)]
    fields = {"run": ticked, "action": "tag", "tags": "many"}
    page = client_in.post("/runs/bulk/", fields, follow=True).content.decode()
    assert "At most 500 runs at once" in page
    assert not Run.objects.filter(tags__contains=["many"]).exists()


def test_more_fields_than_a_form_may_have_are_no_error(client_in):
    keys = [f"00000000-0000-7000-8000-{number:012d}" for number in range(10_000)]
    response = client_in.post("/runs/bulk/", {"run": keys, "action": "tag", "tags": "many"})
    assert response.status_code < 500
