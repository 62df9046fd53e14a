"""The stored series of the runs at the ceilings, cut to their windows."""

import datetime as dt

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reports.compare.queries import curves, get_sweeps
from reports.compare.queries.series import series_at_ceilings
from runs.models import MeasurementSet, Series
from runs.tests.factories import make_run, make_sweep
from runs.ycsb.series import POINT, Series as Unpacked, pack

pytestmark = pytest.mark.django_db
BEGIN = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


def store(run, *, interval_s=1, seconds=40):
    points = np.zeros(seconds // interval_s, dtype=POINT)
    points["second"] = np.arange(0, seconds, interval_s)
    points["rate_ops_s"] = points["second"] * 10
    base_s = BEGIN.timestamp() - 10
    data = pack(Unpacked("READ", "service", base_s, interval_s, 1, points))
    Series.objects.create(run=run, operation="READ", interval_s=interval_s, points=len(points), data=data)
    MeasurementSet.objects.filter(run=run).update(window_from=BEGIN, window_s=20)


def make_ladder(team):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, threads=threads, throughput=400.0 * threads) for threads in (2, 4)]
    for run in runs:
        store(run)
    return sweep


def test_warm_up_and_what_follows_the_window_are_cut(team):
    sweep = make_ladder(team)

    series = series_at_ceilings(curves(get_sweeps(team)), "READ", "service")

    assert series[sweep.pk].seconds.tolist() == list(range(20))
    assert series[sweep.pk].rate_ops_s[0] == 100.0


def test_long_runs_are_read_at_a_coarser_level(team, monkeypatch):
    monkeypatch.setattr("reports.compare.queries.series.MAX_ROWS", 10)
    sweep = make_ladder(team)
    for run in sweep.runs.all():
        store(run, interval_s=10)

    series = series_at_ceilings(curves(get_sweeps(team)), "READ", "service")

    assert series[sweep.pk].interval_s == 10
    assert series[sweep.pk].seconds.tolist() == [0.0, 10.0]


def test_queries_do_not_grow_with_the_sweeps(team):
    make_ladder(team), make_ladder(team)
    sides = curves(get_sweeps(team))

    with CaptureQueriesContext(connection) as queries:
        assert len(series_at_ceilings(sides, "READ", "service")) == 2

    assert len(queries) == 2


def test_what_was_not_measured_has_no_series(team):
    make_ladder(team)

    assert series_at_ceilings(curves(get_sweeps(team)), "SCAN", "service") == {}
