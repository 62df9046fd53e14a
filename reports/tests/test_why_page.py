"""The page that puts two runs beside each other and says why they may differ."""

import datetime as dt
import re
import uuid

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchsite.core.formatting import TIMES
from reports.compare.pages.answer import find_differing_pair
from reports.compare.pages.equal_load import build_equal_load
from reports.compare.queries import chosen, session_spreads
from reports.compare.selection import Selection
from reports.compare.views.compare import judge
from reports.models import StoredCurve
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_workload,
)
from runs.tests.world import UGLY

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def shown(client, a="", b="", status=200):
    response = client.get(reverse("why"), {name: value for name, value in (("a", a), ("b", b)) if value})
    assert response.status_code == status
    return response.content.decode().replace("\u202f", " ")


@pytest.fixture
def pair(team):
    """The same ladder in two modes, three repeats of each rung, each in a session of its own."""
    database, workload = make_database(team=team), make_workload(team=team)
    matrix = make_matrix(team=team, repeats=3, workloads=[workload])
    sweeps = []
    for mode, times in (("always", 1), ("off", 3)):
        sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode=mode)
        for threads in (8, 16):
            for repeat in (1, 2, 3):
                level, session = 100.0 * threads * times, f"night {repeat}"
                make_run(sweep, threads=threads, throughput=level + repeat, repeat=repeat, session=session)
        sweeps.append(sweep)
    return sweeps


def get_run(sweep, threads=8, repeat=1):
    return sweep.runs.get(threads=threads, repeat=repeat)


def test_it_shows_numbers_causes_and_settings(client_in, pair):
    a, b = get_run(pair[0]), get_run(pair[1])
    html = shown(client_in, a.pk, b.pk)
    assert "B did 200 % more than A" in html and "B is faster, by the repeats of both rungs." in html
    assert "1. Durability mode." in html and "In A a write waits for the disk" in html
    assert '<span class="chip">planned</span>' in html
    assert "This judges the repeats of two rungs alone: Compare judges ceilings" in html
    assert "READ p99.9" in html and "CPU of the busiest load generator" in html and "failed operations" in html
    assert "appendfsync" in html and "this difference is above that noise" in html
    assert "The checks say the same of both runs." in html and f"a={b.pk}&amp;b={a.pk}" in html


def test_sweeps_stand_for_the_runs_at_their_ceilings(client_in, pair):
    html = shown(client_in, pair[0].pk, pair[1].pk)
    assert "Each is the run in the middle of those at its sweep" in html
    assert get_run(pair[0], 16, 2).name in html and "2. Threads." not in html


def test_open_ceilings_are_those_of_a_and_b(client_in, pair):
    html = " ".join(shown(client_in, pair[0].pk, pair[1].pk).split())
    assert "This compares both at 16 threads. Ceilings are not compared: both may lie higher (" in html
    assert "this side" not in html and "the baseline" not in html


NOISE = (0.97, 1.0, 1.03, 0.98, 1.02, 1.01, 0.99)
RISING = {4: 9000.0, 16: 15_000.0, 64: 30_000.0, 128: 38_800.0}


@pytest.mark.parametrize(
    ("slower", "headline", "interval", "sentence"),
    [
        (
            {16: 14_600.0, 128: 8400.0},
            "B did 362 % more than A: 38.8k ops/s against 8.40k ops/s.",
            "[4.5",
            "at 128 threads.",
        ),
        (
            {4: 9000.0, 16: 14_600.0, 64: 12_000.0, 128: 8400.0},
            "B did at least 166 % more than A: 38.8k ops/s against 14.6k ops/s.",
            "[2.",
            "The ratio of the ceilings is a bound.",
        ),
    ],
    ids=["at a common rung", "of ceilings"],
)
def test_headline_and_interval_are_of_one_comparison(client_in, team, slower, headline, interval, sentence):
    matrix, sweeps = make_matrix(team=team, repeats=3), []
    database, workload = make_database(team=team), make_workload(team=team)
    for mode, ladder in (("always", slower), ("off", RISING)):
        sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode=mode)
        for threads, ops_s in ladder.items():
            for repeat in (1, 2, 3):
                make_run(sweep, threads=threads, throughput=ops_s * (0.98 + 0.01 * repeat), repeat=repeat)
        sweeps.append(sweep)
    html = " ".join(shown(client_in, sweeps[0].pk, sweeps[1].pk).split())
    assert headline in html and f"The interval {interval}" in html and sentence in html
    assert "B is faster, by the repeats of both rungs. " in html and "This is the verdict of <a" in html
    swapped = " ".join(shown(client_in, sweeps[1].pk, sweeps[0].pk).split())
    assert ("B did at least 62.4 % less than A" in swapped) == ("at least" in headline)


def test_runs_under_different_loads_have_no_verdict(client_in, pair):
    html = shown(client_in, get_run(pair[0]).pk, get_run(pair[0], 16).pk)
    assert "They are not comparable, so that neither is called faster. The loads differ: 8 threads and 16" in html
    assert "B is faster" not in html and "B did " in html


def test_does_not_compare_sides_that_compare_page_refuses(client_in, team):
    sides = []
    for nodes, scale in ((2, 1), (8, 3)):
        cluster = make_cluster(team=team, machines=[make_machine() for _ in range(nodes)])
        database = make_database(team=team, cluster=cluster, name=f"on {nodes}")
        sweep = make_sweep(team=team, database=database, workload=make_workload(team=team), mode="always")
        runs = [make_run(sweep, threads=8, throughput=1000.0 * scale + n, repeat=n) for n in (1, 2, 3)]
        sides.append((sweep, runs))
    for first, second in (sides[0][0].pk, sides[1][0].pk), (sides[0][1][0].pk, sides[1][1][0].pk):
        html = shown(client_in, first, second)
        assert "They are not comparable" in html and re.search("number of nodes differs: (2 and 8|8 and 2)", html)


def test_few_repeats_are_said_to_be_few(client_in, pair):
    assert ">low n</span>" in shown(client_in, get_run(pair[0]).pk, get_run(pair[1]).pk)
    assert "low n" not in shown(client_in, get_run(pair[0]).pk, get_run(pair[0], repeat=2).pk)


def test_one_run_is_compared_with_the_one_before_it(client_in, team):
    sweep, now = make_sweep(team=team), timezone.now()
    runs = [make_run(sweep, repeat=n, started_at=now - dt.timedelta(days=9 - n), name=f"day {n}") for n in (1, 2, 3)]
    html = shown(client_in, runs[1].pk)
    assert f'<a href="{reverse("run", args=[runs[0].pk])}">day 1</a>' in html and "nearest to A" in html
    assert f'<option value="{runs[2].pk}">' in html
    assert shown(client_in, b=runs[1].pk).count("day 1") >= 1


def test_one_run_of_a_test_is_compared_with_its_nearest_rung(client_in, pair):
    lonely = make_run(pair[0], threads=12)
    html = shown(client_in, lonely.pk)
    assert f'<a href="{reverse("run", args=[get_run(pair[0]).pk])}">' in html


def test_identical_runs_leave_the_noise(client_in, pair):
    first, second = get_run(pair[0]), get_run(pair[0], repeat=2)
    html = shown(client_in, first.pk, second.pk)
    assert "No recorded value differs." in html and "No rule finds a cause" in html
    assert "1 run each: no interval." in html and "this difference is not above that noise" in html
    assert "No setting and no version differs." in html


@pytest.mark.parametrize("asked", ["", "xyz", "%00", "1" * 500, "'; drop table runs_run"])
def test_no_run_is_a_sentence(client_in, asked):
    html = shown(client_in, asked)
    assert "Open a run and follow" in html
    assert ("is no run and no sweep" if asked else "No run is chosen.") in html


def test_sides_without_numbers_are_sentences(client_in, team, pair):
    only = make_run(make_sweep(team=team))
    assert "no other measured run" in shown(client_in, only.pk)
    assert "Both sides are the same run." in shown(client_in, only.pk, only.pk)
    empty = make_sweep(team=team)
    assert "has no ceiling" in shown(client_in, empty.pk)
    failed = make_run(pair[0], status="failed")
    html = shown(client_in, failed.pk, get_run(pair[0]).pk)
    assert "A has no throughput" in html and "A missing number" in html
    assert "is no run and no sweep" in shown(client_in, only.pk, "xyz")


def test_zero_throughput_divides_nothing(client_in, team):
    sweep = make_sweep(team=team)
    nothing, something = make_run(sweep, threads=2, throughput=0.0, measurements=[]), make_run(sweep, threads=4)
    assert "a value of zero" not in shown(client_in, nothing.pk, something.pk)
    shown(client_in, something.pk, nothing.pk)


def test_another_teams_runs_are_not_there(client_in, stranger, pair):
    ours = get_run(pair[0])
    shown(stranger, ours.pk, status=404)
    shown(stranger, pair[0].pk, pair[1].pk, status=404)
    shown(client_in, ours.pk, uuid.uuid4(), status=404)


def test_names_are_escaped(client_in, team):
    database = make_database(team=team, name=UGLY, settings={"<b>x</b>": "<script>1</script>"})
    sweep = make_sweep(team=team, database=database)
    runs = [make_run(sweep, threads=n, name=f"<script>{n}") for n in (2, 4)]
    html = shown(client_in, runs[0].pk, runs[1].pk)
    assert "<script>2" not in html and "&lt;script&gt;2" in html and "<b>x</b>" not in html


def asked(client, a, b=""):
    cache.clear()
    StoredCurve.objects.all().delete()
    with CaptureQueriesContext(connection) as context:
        shown(client, a, b)
    return len(context)


def test_the_number_of_queries_is_fixed(client_in, team, pair):
    a, b = get_run(pair[0]), get_run(pair[1])
    few = asked(client_in, a.pk, b.pk)
    sweeps = asked(client_in, pair[0].pk, pair[1].pk)
    for repeat in range(4, 20):
        for sweep in pair:
            make_run(sweep, threads=8, throughput=800.0 + repeat, repeat=repeat)
    assert asked(client_in, a.pk, b.pk) == few <= 20
    assert asked(client_in, pair[0].pk, pair[1].pk) == sweeps <= 40


@pytest.fixture
def crossed(team):
    """Two databases in two modes each, whose ceilings lie at other threads."""
    matrix, workload = make_matrix(team=team, repeats=2), make_workload(team=team)
    sweeps = {}
    for name, speed in (("fast", 2), ("slow", 1)):
        database = make_database(team=team, name=name)
        for mode, times, highest in (("always", 1, 8), ("off", 3, 16)):
            sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode=mode)
            for threads in (4, 8, 16, 32):
                for repeat in (1, 2):
                    level = 1000.0 * speed * times * (1 if threads == highest else 0.8)
                    make_run(sweep, threads=threads, throughput=level + repeat, repeat=repeat)
            sweeps[name, mode] = sweep
    return sweeps


def test_plan_tells_effect_of_each_difference(client_in, crossed):
    html = " ".join(shown(client_in, crossed["fast", "always"].pk, crossed["slow", "off"].pk).split())
    assert "1. Database." in html and "2. Durability mode." in html and "3. Threads." in html
    assert f"Measured alone: slow · always did 0.50{TIMES} " in html and " of what fast · always did" in html
    assert f"Measured alone: fast · off did 3.0{TIMES} " in html
    assert f"A at 16 threads did 0.80{TIMES} of what A at 8 threads did" in html.replace("0.800", "0.80")


@pytest.fixture
def alike(team):
    """Six databases of one plan, of which one is 10 % faster: alone it would be, among all of them it may be chance."""
    matrix, workload = make_matrix(team=team, repeats=3), make_workload(team=team)
    for number in range(6):
        database = make_database(team=team, name=f"database {number}")
        sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode="always")
        times = 1.1 if number == 5 else 1.0
        for threads, level in ((4, 600.0), (8, 1000.0), (16, 700.0)):
            for repeat in (1, 2, 3):
                noise = NOISE[(repeat + number + threads) % len(NOISE)]
                make_run(sweep, threads=threads, throughput=level * times * noise, repeat=repeat)
    return matrix


def compare_all(team, selection):
    """The ratios of Compare and its findings."""
    sides = chosen(team, selection).curves
    floors = session_spreads(team, {side.setup.cluster_name for side in sides})
    answer, table = judge(team, selection, sides, floors, build_equal_load(selection, sides))
    return table, answer


def read_verdict(client, a, b, **parameters):
    page = client.get(reverse("why"), {"a": a, "b": b, **parameters}).context["page"]
    return page["comparison"].outcome, page["comparison"].adjusted_p


def test_verdict_of_a_pair_is_that_of_compare(client_in, team, alike):
    table, _ = compare_all(team, Selection(matrix=str(alike.pk)))
    baseline, outcomes = table.baseline.sweep_id, []
    for row in table.rows:
        if not row.is_baseline:
            comparison = row.ratios[0].comparison
            outcomes.append(comparison.outcome)
            assert read_verdict(client_in, baseline, row.curve.sweep_id) == (comparison.outcome, comparison.adjusted_p)
    fastest = alike.sweeps.get(database_name="database 5").pk
    together = Selection(sweeps=tuple(sorted((baseline, fastest), key=str)))
    alone, _ = compare_all(team, together)
    (of_pair,) = (row.ratios[0].comparison for row in alone.rows if not row.is_baseline)
    assert "faster" not in outcomes and of_pair.outcome == "faster", "the verdict of one pair is another"
    assert read_verdict(client_in, baseline, fastest, sweep=together.sweeps)[0] == "faster", "as its Compare says"
    link = f"{reverse('why')}?a={baseline}&amp;b={fastest}"
    page = client_in.get(reverse("compare") + together.query()).content.decode()
    assert f"{link}&amp;v=1&amp;sweep=" in page
    assert f'"{link}"' in client_in.get(reverse("compare"), {"matrix": alike.pk}, follow=True).content.decode()


@pytest.mark.parametrize("reference", [0, 1, 2, 3])
def test_verdict_of_a_pair_is_that_of_the_headline(client_in, team, crossed, reference):
    """Its pairs are compared with one another and not with the reference."""
    sweeps = list(crossed.values())
    selection = Selection(matrix=str(sweeps[0].matrix_id), baseline=sweeps[reference].pk)
    table, answer = compare_all(team, selection)
    pair = find_differing_pair(answer, table)
    carried = dict(selection.pairs())
    html = " ".join(client_in.get(reverse("why"), {"a": pair[0], "b": pair[1], **carried}).content.decode().split())
    assert f'This is the verdict of <a href="{reverse("compare")}{selection.query()}"'.replace("&", "&amp;") in html
    for finding in answer.findings:
        if finding.comparison and table.baseline.sweep_id not in [side.sweep_id for side in finding.sides]:
            second, first = (side.sweep_id for side in finding.sides)
            expected = (finding.comparison.outcome, finding.comparison.adjusted_p)
            assert read_verdict(client_in, first, second, **carried) == expected


def test_other_sweeps_of_the_plan_can_be_chosen(client_in, crossed):
    first = crossed["fast", "always"]
    html = shown(client_in, first.pk)
    assert html.count("<select") >= 2 and html.count(f'value="{crossed["slow", "off"].pk}"') == 2
    assert f'<option value="{first.pk}" selected>' in html


def test_one_sweep_on_both_sides_is_a_sentence(client_in, crossed):
    sweep = crossed["fast", "always"]
    html = shown(client_in, sweep.pk, sweep.pk)
    assert "Both sides are the same run." in html and "slow · off" in html


def test_runs_lead_to_it(client_in, pair):
    run = get_run(pair[0])
    html = client_in.get(reverse("run", args=[run.pk])).content.decode()
    assert f'href="{reverse("why")}?a={run.pk}"' in html and "Why different from" in html
