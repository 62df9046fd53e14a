"""V18 compares the hit ratios that were measured: of the runs of a sweep that count, and of two runs."""

import pytest

from reports.compare.queries import curves, get_sweeps
from reports.compare.queries.run_pair import run_sides
from reports.compare.queries.sweep_facts import sides_by_sweep
from runs.checks import judge_pair, profile
from runs.models import MeasurementSet
from runs.tests.factories import make_run, make_sweep

pytestmark = pytest.mark.django_db


def measured(sweep, ratio, trend=0.0, **fields):
    run = make_run(sweep, **fields)
    MeasurementSet.objects.filter(run=run).update(server_use={"hit_ratio": ratio, "hit_ratio_trend": trend})
    return run


def severity(a, b):
    return next(finding for finding in judge_pair(a, b, profile("measured")) if finding.check_id == "V18").severity


def test_sides_have_the_mean_of_the_runs_that_count(team):
    warm, cold, unknown = (make_sweep(team=team, mode=mode) for mode in ("always", "everysec", "no"))
    measured(warm, 0.98, threads=2)
    measured(warm, 1.0, -0.01, threads=4)
    measured(warm, 0.1, threads=8, verdict="reject")
    measured(warm, 0.1, threads=16, excluded_reason="a backup ran")
    measured(cold, 0.5)
    make_run(unknown)
    sides = sides_by_sweep(curves(get_sweeps(team)))
    assert sides[warm.pk].hit_ratio == pytest.approx(0.99)
    assert sides[warm.pk].hit_ratio_trend == pytest.approx(0.01)
    assert severity(sides[warm.pk], sides[cold.pk]) == "warn"
    assert severity(sides[warm.pk], sides[warm.pk]) == "pass"
    assert sides[unknown.pk].hit_ratio is None
    assert severity(sides[warm.pk], sides[unknown.pk]) == "not_assessed"


def test_two_runs_are_compared_by_their_own(team):
    sweep = make_sweep(team=team)
    a, b = run_sides(measured(sweep, 0.98), measured(sweep, 0.9, threads=4))
    assert (a.facts.hit_ratio, b.facts.hit_ratio) == (0.98, 0.9)
    assert severity(a.facts, b.facts) == "warn"
