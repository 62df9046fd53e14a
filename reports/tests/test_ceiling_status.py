"""Searched sweeps whose ceiling the clients set: every page, figure and export states the bound with its reason."""

import html
import re

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from reports.compare.analysis.ceiling import CLIENT_LIMITED, Ladder, Rung, Status, ceiling
from reports.compare.ladder_text import ladder_says
from reports.compare.queries import curves
from reports.models import Report
from reports.published.builder import build
from reports.published.drafts import Draft
from reports.published.links import find_link
from reports.published.publication import publish
from reports.tests.curves import curve, point
from reports.tests.rendering import ceiling_sentence
from runs.models import SearchDecision, Sweep
from runs.tests.factories import (
    finding,
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_workload,
    measurement,
)

REASON = "the clients were at their limit"
# Database and mode -> what its highest sustained target achieved; no other value of the pages reads like it.
CEILINGS = {("Redis 1", "off"): 8642.0, ("Redis 1", "always"): 4321.0, ("Redis 2", "always"): 7531.0}
SHOWN = {"8.64k", "4.32k", "7.53k"}
LIMITED = [finding("V03", "warn", message="The clients used 97 % of their cores.")]
PRICE = {"cores": {"value": 2, "how": "observed"}, "price_per_hour": {"value": 0.5, "how": "stated"}}


def searched(team):
    """A matrix of one workload on clusters of one and two nodes, each search ended by busy clients."""
    workload = make_workload(team=team, name="Workload A")
    search = {"width": 0.05, "max_trials": 8, "max_error_rate": 0.001, "slo": None}
    matrix = make_matrix(
        team=team, entries=[], workloads=[workload], purpose="measured", ladder="target", threads=16, rungs=[],
        search=search, repeats=2, submitted_at=timezone.now(),
    )  # fmt: skip
    databases = {
        f"Redis {nodes}": make_database(
            team=team, name=f"Redis {nodes}",
            cluster=make_cluster(team=team, machines=[make_machine(facts=PRICE) for _ in range(nodes)]),
        )
        for nodes in (1, 2)
    }  # fmt: skip
    for (name, mode), reached in CEILINGS.items():
        sweep = make_sweep(matrix=matrix, database=databases[name], workload=workload, mode=mode, ladder="target")
        make_run(sweep, threads=16, throughput=1.2 * reached)
        trials = ((round(0.6 * reached), 0.6 * reached), (round(reached * 1.005), reached), (round(reached * 1.3), 0.9))
        for target, throughput in trials:
            missed = throughput < 1
            for repeat in (1, 2):
                make_run(
                    sweep, threads=16, target_ops_s=target, repeat=repeat,
                    throughput=target * throughput if missed else throughput,
                    findings=LIMITED if missed else (), verdict="warn" if missed else "pass",
                    measurements=[measurement("READ", 100.0 if target < reached else 2000.0)],
                )  # fmt: skip
        SearchDecision.objects.create(
            sweep=sweep, number=1, rule="end", state="client limited", sentence="Ended.", low=trials[1][0],
            high=trials[2][0], value_ops_s=reached * 1.1,
        )  # fmt: skip
    return matrix


def get_text(response):
    assert response.status_code == 200, response
    content = b"".join(response) if response.streaming else response.content
    return html.unescape(content.decode()).replace("\N{NARROW NO-BREAK SPACE}", " ")


def seen(text):
    """The text of a page as people read it."""
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style|svg)\b.*?</\1>", " ", text, flags=re.S)).split())


def assert_bounded(text, values):
    """Each value is there, and behind a sign of its bound at least once; the reason is there too."""
    assert REASON in text.lower(), text[:3000]
    for value in values:
        assert re.search(rf"(≥|at least|At least) *{re.escape(value)}", text), (value, text[:3000])


def pages(client, matrix):
    """Every page with ceilings, and the values that it has to show."""
    always = matrix.sweeps.get(database__name="Redis 1", mode="always")
    compared = f"?matrix={matrix.pk}"
    yield f"/sweeps/{always.pk}/", {"4.32k"}
    yield "/sweeps/", SHOWN
    yield f"/sweeps/of/{matrix.pk}/searches/", SHOWN
    yield f"/compare/{compared}&vary=mode&vary=nodes", {"8,642", "4,321", "7,531"}
    yield f"/compare/numbers/{compared}", {"8,642"}
    yield reverse("news"), SHOWN
    yield "/sizing/?throughput=2k", {"8.64k", "7.53k"}  # Of several sizes the largest.


@pytest.fixture
def matrix(team):
    cache.clear()
    return searched(team)


@pytest.mark.django_db
@pytest.mark.slow
def test_every_page_states_bound_and_reason(client_in, matrix):
    for address, values in pages(client_in, matrix):
        response = client_in.get(address, follow=True)
        assert_bounded(seen(get_text(response)), values)


@pytest.mark.django_db
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ceilings", "scalability"])
def test_every_figure_and_its_exports_state_the_reason(client_in, matrix, name):
    answer = client_in.get(f"/figures/{name}/", {"matrix": matrix.pk}).json()
    drawn = str(answer["figure"]).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert REASON in drawn and re.search("≥|at least", drawn)
    assert REASON in answer["caption"]
    for form in ("csv", "json", "md", "tex"):
        assert REASON in get_text(client_in.get(f"/figures/{name}.{form}", {"matrix": matrix.pk})), form


@pytest.mark.django_db
@pytest.mark.slow
def test_lists_of_sweeps_export_the_status(client_in, matrix):
    for form in ("csv", "json"):
        text = get_text(client_in.get(f"/sweeps.{form}"))
        assert text.count("client limited") == text.count(f"at least: {REASON}") == 3


@pytest.mark.django_db
@pytest.mark.slow
def test_report_and_its_files_state_bound_and_reason(matrix, team, user, client):
    draft = Draft(query=f"v=1&matrix={matrix.pk}")
    items = tuple(item.name for item in build(team, draft, "T").items)
    draft = Draft(query=draft.query, items=items)
    report = Report.objects.create(team=team, title="Kept", draft=draft.as_json(), access="unlisted", created_by=user)
    publish(report, user, {})
    token = find_link(report).token
    for path in (f"/r/{token}", f"/r/{token}.html"):
        assert_bounded(seen(get_text(client.get(path))), {"8.64k"})
    for form in ("json", "md"):
        assert REASON in get_text(client.get(f"/r/{token}.{form}")), form
    assert REASON.encode() in client.get(f"/r/{token}.zip").content


@pytest.mark.django_db
@pytest.mark.slow
def test_clients_at_their_limit_in_some_repeats_decide_nothing(team):
    matrix = searched(team)
    sweep = matrix.sweeps.get(mode="off")
    highest = sweep.runs.filter(target_ops_s__isnull=False).order_by("-target_ops_s", "repeat").first()
    highest.measurement_sets.get().findings.all().delete()
    (curve,) = curves(Sweep.objects.filter(pk=sweep.pk))
    assert curve.ceiling.status is Status.BRACKETED and not curve.ceiling.is_lower_bound


def targets(*rungs):
    """Target, achieved, repeats and whether the clients were at their limit."""
    return ceiling(
        [
            Rung(16, reached, target_ops_s=target, repeats_ops_s=(reached,) * n, client_limited=limited)
            for target, reached, n, limited in rungs
        ]
    )


@pytest.mark.parametrize(
    ("rungs", "status", "says"),
    [
        ([(100, 100, 2, False), (200, 150, 2, False)], Status.BRACKETED, "a target failed"),
        ([(100, 100, 1, False), (200, 150, 2, False)], Status.UNCONFIRMED, "unconfirmed: a target failed, in one run"),
        ([(100, 100, 2, False), (200, 150, 1, False)], Status.UNCONFIRMED, "unconfirmed: a target failed, in one run"),
        ([(100, 100, 2, True), (200, 150, 2, True)], Status.CLIENT_LIMITED, f"at least: {REASON}"),
        ([(100, 100, 1, False), (200, 150, 1, True)], Status.CLIENT_LIMITED, f"at least: {REASON}, in one run"),
        ([(100, 100, 2, False)], Status.LOWER_BOUND, "at least: every target was sustained"),
        ([(100, 90, 2, False)], Status.UNCONFIRMED, "no target was sustained"),
    ],
)
def test_status_of_a_ladder_of_targets(rungs, status, says):
    estimate = targets(*rungs)
    assert (estimate.status, ladder_says(estimate)) == (status, says)
    assert estimate.is_lower_bound is ("at least" in says)
    assert (estimate.headroom == float("inf")) is estimate.is_lower_bound


def test_thread_ladder_of_busy_clients_is_a_lower_bound():
    values = ((2, 1000.0), (4, 1900.0), (8, 2500.0), (16, 1500.0))
    rungs = [
        Rung(
            threads, ops_s, repeats_ops_s=(ops_s, (1 + 0.004 * i) * ops_s, (1 - 0.003 * i) * ops_s), repeats=(1, 2, 3),
            client_limited=threads == 8,
        )
        for i, (threads, ops_s) in enumerate(values)
    ]  # fmt: skip
    estimate = ceiling(rungs)
    assert (estimate.ladder, estimate.status) == (Ladder.RETROGRADE, Status.CLIENT_LIMITED)
    assert CLIENT_LIMITED in estimate.notes and not estimate.is_bracketed and estimate.headroom == float("inf")
    assert ceiling_sentence(estimate).startswith("At least") and "add clients" in ceiling_sentence(estimate)


def test_ceiling_is_no_more_than_the_offered_load():
    over = [point(16, 1250.0, target_ops_s=1000), point(16, 1500.0, target_ops_s=2000)]
    estimate = curve(points=over, ladder="target").ceiling
    assert (estimate.throughput_ops_s, estimate.bracket) == (1000.0, (1000, 2000))
