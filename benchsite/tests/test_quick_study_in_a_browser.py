"""The quick study's answers, as its page states them: decided where the measured runs decide them."""

import pytest

from benchsite.local.demo.study import NAME, REPEATS, RUNGS
from benchsite.tests.browser import chromium, opened_site
from runs.models import Matrix
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep, make_workload

__all__ = ["chromium"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# Near what two idle cores did, in ops/s at each rung.
MEASURED = {
    ("postgresql", "off"): (6_800, 19_700, 19_600, 14_000),
    ("postgresql", "on"): (3_100, 7_800, 12_100, 9_500),
    ("redis", "always"): (3_000, 7_000, 15_200, 48_000),
}


def make_study(team, scatter):
    """A finished quick study whose repeats differ by this share, in another direction on every other rung."""
    cluster, workload = make_cluster(team=team), make_workload(team=team)
    matrix = make_matrix(
        team=team, name=NAME, rungs=list(RUNGS), repeats=REPEATS, order=Matrix.Order.INTERLEAVED, workloads=[workload]
    )
    names = {"postgresql": "PostgreSQL", "redis": "Redis"}
    databases = {
        system: make_database(team=team, cluster=cluster, system=system, name=name) for system, name in names.items()
    }
    for (system, mode), rates in MEASURED.items():
        sweep = make_sweep(matrix=matrix, database=databases[system], workload=workload, mode=mode)
        for place, (threads, ops_s) in enumerate(zip(RUNGS, rates, strict=True)):
            for repeat in range(1, REPEATS + 1):
                sign = (-1) ** (repeat + place // 2)
                make_run(sweep, threads=threads, repeat=repeat, throughput=ops_s * (1 + sign * scatter / 2))


def read_findings(chromium, live_server, client, width):
    with opened_site(chromium, live_server.url, client) as site:
        page = site.open(viewport={"width": width, "height": 800})
        page.goto("/compare/")
        texts = page.locator(".headline > p").all_inner_texts()
        assert not site.complaints
    return [text.replace("\N{NARROW NO-BREAK SPACE}", " ") for text in texts]


@pytest.mark.parametrize("width", [1280, 390])
def test_states_cost_rivals_and_bend_where_runs_decide_them(chromium, live_server, client_in, team, width):
    make_study(team, scatter=0.02)

    cost, rivals, bend = read_findings(chromium, live_server, client_in, width)

    assert cost.startswith("Losing no write in a power cut costs PostgreSQL ")
    assert " % of its throughput, between " in cost
    assert rivals.startswith("Losing no write, Redis · always served more than PostgreSQL · on: at least ")
    assert bend.startswith("The latency of PostgreSQL · on rises steeply beyond ")


def test_states_what_was_measured_where_runs_do_not_decide(chromium, live_server, client_in, team):
    make_study(team, scatter=0.9)

    cost, *_ = read_findings(chromium, live_server, client_in, 1280)

    assert cost.startswith("PostgreSQL did ")
