"""Version against version: commits, branches and weeks from menus and from an address, test by test."""

import re
from statistics import geometric_mean

import pytest
from django.urls import reverse
from django.utils import timezone

from reports.compare.analysis.differences import differences
from reports.compare.figures.theme import get_labels
from reports.compare.pages.baseline_ratios import choose_baseline
from reports.compare.queries import curves
from reports.models import History
from reports.tests.verdicts import commit_runs, make_test
from reports.trends.baselines import accept_level
from reports.trends.histories import THROUGHPUT_METRIC
from reports.trends.queries.histories import history_lines
from reports.trends.queries.history import follow
from reports.trends.verdicts.baseline_selection import verdict_of_run
from runs.models import Run, Sweep
from runs.tests.factories import make_sweep, measurement
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def measured(team):
    """Two weeks of one test, and a branch."""
    sweep = make_test(team)
    for number in range(14):
        level = 1000.0 if number < 7 else 1210.0
        commit_runs(sweep, f"aaaa{number:04}", level, days_ago=13.5 - number, repeats=1)
    commit_runs(sweep, "bbbb0001", 900.0, days_ago=0.1, repeats=2, branch="topic")
    return sweep


def get_rows(client, **query):
    response = client.get(reverse("versions"), query)
    assert response.status_code == 200
    return response, [(row.test, row.document) for row in response.context["rows"]]


def test_last_week_against_this_week_states_ratio_and_interval(client_in, measured):
    response, ((test, document),) = get_rows(client_in, base="last-week", new="this-week")
    metric = document.metrics[0]
    assert metric.ratio == pytest.approx(1.21, rel=0.01) and document.verdict == "improvement"
    page = get_text(response)
    assert f"aaaa0013 {measured.runs.get(commit='aaaa0013').finished_at:%-d %b %Y} main" in page
    assert "aaaa0013, reference" not in page and "last week, reference" in page and "geometric means" in page
    assert "Improvement: throughput 21" in page and metric.reason[:40] in page and str(test) in page
    assert "this week against last week" in page


def test_value_and_ratio_of_a_week_are_of_all_its_sessions(client_in, team):
    test = make_test(team)
    for number, level in enumerate([1000.0] * 7 + [970.0, 1000.0, 1000.0, 1000.0, 810.0, 810.0]):
        commit_runs(test, f"aaaa{number:04}", level, days_ago=13.5 - number, repeats=1)
    _, ((_, document),) = get_rows(client_in, base="last-week", new="this-week")
    metric = document.metrics[0]
    assert (metric.new_sessions, metric.base_sessions) == (6, 7)
    assert (metric.new, metric.base) == (metric.new_measured, metric.base_measured)
    assert metric.ratio == pytest.approx(metric.new / metric.base)


def test_weeks_are_those_of_the_commits_where_known(client_in, measured):
    """All of it was uploaded today."""
    for run in Run.objects.filter(branch="main"):
        Run.objects.filter(pk=run.pk).update(committed_at=run.finished_at, finished_at=timezone.now())
    _, ((_, document),) = get_rows(client_in, base="last-week", new="this-week")
    assert document.verdict == "improvement" and len(document.base.runs) == len(document.new.runs) == 7
    assert "by the date of their commit where it is known" in document.base.chosen


def test_commit_against_commit_by_their_beginnings(client_in, measured):
    _, ((_, document),) = get_rows(client_in, base="aaaa0003", new="aaaa0010")
    assert document.metrics[0].ratio == pytest.approx(1.21, rel=0.01)
    assert (document.base.commit, document.new.commit) == ("aaaa0003", "aaaa0010")


@pytest.fixture
def lost(team):
    """Twelve commits, then two that lost a fifth: one session each."""
    sweep = make_test(team)
    for number in range(14):
        level = 1000.0 if number < 12 else 810.0
        commit_runs(sweep, f"aaaa{number:04}", level, days_ago=13.5 - number, repeats=1)
    return sweep


def test_commits_are_judged_with_the_sessions_of_the_history(client_in, lost):
    """As the page of the run judges them."""
    for new in ("aaaa0012", "aaaa0013"):
        _, ((_, document),) = get_rows(client_in, base="aaaa0011", new=new)
        assert document.verdict == "regression" and document.since == "aaaa0012"
        metric, (judged, *_) = document.metrics[0], verdict_of_run(Run.objects.get(commit=new)).metrics
        assert (metric.state, metric.base, metric.base_sessions) == (judged.state, judged.base, 12)
        assert metric.new == pytest.approx(Run.objects.get(commit=new).throughput_ops_s), "of one session"
    _, ((_, document),) = get_rows(client_in, base="aaaa0012", new="aaaa0013")
    assert document.verdict == "pass" and document.metrics[0].base_sessions == 1, "what was asked for is the base"
    _, ((_, document),) = get_rows(client_in, base="aaaa0013", new="aaaa0011")
    assert document.metrics[0].ratio > 1.2, "the older one against the newer one"


def read_values(client, team, test, *, base):
    """The value of the base's runs on Versions, and of the first point of the history and of the list of histories."""
    _, ((row, document),) = get_rows(client, base=base, new="bbbb0001")
    (line,) = history_lines(team, History.objects.filter(config_key=row.config_key))
    points = follow(row, THROUGHPUT_METRIC).points
    return [document.metrics[0].base_measured, points[0].value, line.history.points[0].value]


def test_versions_history_and_sizing_show_one_value(client_in, team):
    test = make_test(team)
    for level in (900.0, 1000.0, 1300.0):
        commit_runs(test, "aaaa0001", level, days_ago=3, repeats=1, session="ci 1")
    expected = geometric_mean(test.runs.values_list("throughput_ops_s", flat=True))
    newer = make_sweep(matrix=test.matrix, database=test.database, workload=test.workload)
    commit_runs(newer, "bbbb0001", 2000.0, days_ago=1, repeats=1)
    assert read_values(client_in, team, test, base="aaaa0001") == pytest.approx([expected] * 3)
    answers = client_in.get(reverse("sizing"), {"throughput": "10"}).context["result"]["answers"]
    (reached,) = [answer.reached for answer in answers if answer.curve.sweep_id == test.pk]
    assert reached.throughput_ops_s == pytest.approx(expected)


def test_sessions_of_a_commit_weigh_alike_in_its_history(client_in, team):
    """However many runs each of them has."""
    test = make_test(team)
    for session, levels in (("ci 1", (1000.0, 1000.0, 1000.0)), ("ci 2", (2000.0,))):
        for level in levels:
            commit_runs(test, "aaaa0001", level, days_ago=3, repeats=1, session=session)
    commit_runs(test, "bbbb0001", 2000.0, days_ago=1, repeats=1)
    assert read_values(client_in, team, test, base="aaaa0001") == pytest.approx([2**0.5 * 1000] * 3, rel=0.01)


def test_level_of_a_commit_stands_below_its_value(client_in, lost):
    response, ((_, document),) = get_rows(client_in, base="aaaa0011", new="aaaa0012")
    metric, page = document.metrics[0], " ".join(get_text(response).split())
    assert metric.base_measured == pytest.approx(Run.objects.get(commit="aaaa0011").throughput_ops_s) != metric.base
    assert metric.new_measured == metric.new and page.count(", 12 sessions</span>") == page.count(">level ") == 1
    assert 'title="aaaa0011: geometric mean of its sessions"' in page


def test_versions_state_a_loss_that_was_accepted(client_in, user, lost):
    accept_level(Run.objects.get(commit="aaaa0012"), user, "safer by default")
    for new in ("aaaa0012", "aaaa0013"):
        response, ((_, document),) = get_rows(client_in, base="aaaa0011", new=new)
        assert document.verdict == "pass" and document.headline in get_text(response)
        assert f"accepted by {user}: safer by default" in " ".join(get_text(response).split())
        assert document.headline.startswith("Pass, loss accepted: throughput 19 % lower")
        assert document.metrics[0].reason.endswith("begins with aaaa0012 was accepted.")
    commit_runs(lost, "aaaa0014", 650.0, days_ago=0.2, repeats=2)
    _, ((_, document),) = get_rows(client_in, base="aaaa0011", new="aaaa0014")
    assert document.verdict == "regression", "more was lost than what was accepted"


def test_one_accepted_level_for_each_test_is_shown(client_in, user, lost):
    """The one by which the loss passes: an older one and a later one stand in the history."""
    for number, level in ((14, 650.0), (15, 650.0), (16, 500.0), (17, 500.0)):
        commit_runs(lost, f"aaaa{number:04}", level, days_ago=0.4 - number / 100, repeats=1)
    for number in (12, 14, 16):
        accept_level(Run.objects.get(commit=f"aaaa{number:04}"), user, f"reason {number}")
    response, ((_, document),) = get_rows(client_in, base="aaaa0011", new="aaaa0015")
    page = " ".join(get_text(response).split())
    assert document.verdict == "pass" and document.accepted_run == Run.objects.get(commit="aaaa0014").pk
    assert page.count("was accepted by") == 1 and "reason 14" in page


@pytest.mark.parametrize(("first", "weeks"), [(3, ["last week"]), (7, []), (10, ["this week"])])
def test_week_names_the_change_within_it(client_in, team, first, weeks):
    test = make_test(team)
    for number in range(14):
        level = 1000.0 if number < first else 1300.0
        commit_runs(test, f"aaaa{number:04}", level, days_ago=13.5 - number, repeats=1)
    response, ((row, document),) = get_rows(client_in, base="last-week", new="this-week")
    assert document.verdict == "improvement", "its noise is that within its levels"
    page = " ".join(get_text(response).split())
    address = f'<a href="{reverse("history-series", args=[row.config_key])}#changes">aaaa{first:04}</a>'
    assert [week for week in ("last week", "this week") if f"Changed within {week} at {address}" in page] == weeks
    response, _ = get_rows(client_in, base="aaaa0000", new="aaaa0013")
    assert "Changed within" not in get_text(response), "a commit is no period"


def test_commit_whose_first_try_was_rejected_is_followed(client_in, lost):
    """It was tried before the commit that it is compared with."""
    commit_runs(lost, "aaaa0013", 1.0, days_ago=13, repeats=1, verdict="reject")
    _, ((_, document),) = get_rows(client_in, base="aaaa0011", new="aaaa0013")
    assert document.verdict == "regression" and document.metrics[0].base_sessions == 12


def test_commit_after_a_lasting_gain_keeps_its_base(client_in, measured):
    _, ((_, document),) = get_rows(client_in, base="aaaa0003", new="aaaa0013")
    assert document.verdict == "improvement" and document.metrics[0].ratio == pytest.approx(1.21, rel=0.01)


def test_branch_against_main(client_in, measured):
    _, ((_, document),) = get_rows(client_in, base="branch:main", new="branch:topic")
    assert (document.base.commit, document.new.commit) == ("aaaa0013", "bbbb0001")


def test_two_newest_commits_without_a_choice(client_in, measured):
    response, _ = get_rows(client_in)
    assert (response.context["base"], response.context["new"]) == ("aaaa0013", "bbbb0001")


def test_versions_alike_say_which_difference_would_not_show(client_in, team):
    test = make_test(team)
    for commit, level in (("aaaa0001", 1000.0), ("aaaa0002", 1001.0)):
        for repeat, noise in enumerate((0.93, 1.07, 1.0)):
            commit_runs(test, commit, level * noise, days_ago=3 - repeat, repeats=1)
    response, ((_, document),) = get_rows(client_in, base="aaaa0001", new="aaaa0002")
    assert document.headline.startswith("No difference found in throughput")
    assert "would not show." in get_text(response)


def test_share_that_would_not_show_names_its_metric(client_in, team):
    """Below it stands that of throughput, which is another one."""
    test = make_test(team)
    for commit, level in (("aaaa0001", 1000.0), ("aaaa0002", 1001.0)):
        for repeat, noise in enumerate((0.93, 1.07, 1.0)):
            reads = [measurement("READ", 500.0 * (3 * noise - 2))]
            commit_runs(test, commit, level * noise, days_ago=3 - repeat, repeats=1, measurements=reads)
    _, ((_, document),) = get_rows(client_in, base="aaaa0001", new="aaaa0002")
    throughput, share = document.metrics[0].reason, re.search(r"one under (\S+ %) of READ", document.headline)
    assert document.metrics[0].state == "inconclusive" and "would not show" in throughput
    assert share and f"under {share[1]}" not in throughput


def test_commit_against_itself_passes_nothing(client_in, measured):
    """The newest commit of a branch is that commit."""
    for base in ("aaaa0013", "branch:main"):
        response, ((_, document),) = get_rows(client_in, base=base, new="aaaa0013")
        assert document.verdict == "inconclusive" and "both sides are the same runs" in get_text(response)


def test_unknown_side_is_named(client_in, measured):
    response, rows = get_rows(client_in, base="branch:none", new="aaaa0003")
    assert not rows and "none" in response.context["problem"]


def test_sides_are_commits_and_the_older_is_the_reference(team, measured):
    """An upload makes a sweep for each commit."""
    other = make_sweep(team=team, matrix=measured.matrix, database=measured.database, workload=measured.workload)
    commit_runs(other, "cccc1111222233", 1100.0, days_ago=0.1, repeats=1)
    Run.objects.filter(sweep=measured).exclude(commit="aaaa0003").delete()
    sides = curves(Sweep.objects.filter(pk__in=[measured.pk, other.pk]).order_by("-created_at"))
    assert sorted(label.split(" · ")[-1] for label in get_labels(sides).values()) == ["aaaa0003", "cccc111122"]
    assert [side.label for side in differences(sides) if side.label == "commit"] == ["commit"]
    assert choose_baseline(sides, None).commit == "aaaa0003"


def test_list_of_sweeps_finds_a_commit_and_shows_it(client_in, measured):
    page = get_text(client_in.get(reverse("sweeps"), {"q": "bbbb00"}))
    assert measured.name in page
