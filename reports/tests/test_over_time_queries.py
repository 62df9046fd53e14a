"""Ridges and heat maps out of what is stored: few queries, and nothing but a sentence where nothing is stored."""

import datetime as dt

import numpy as np
import pytest
from django.urls import reverse

from reports.queries import compared
from reports.queries.over_time import heats, ridges
from reports.selection import Selection
from runs.models import RunEvent
from runs.models import Series as SeriesRow
from runs.recording.intervals import Gathering, store_intervals
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import artifact_folder
from runs.ycsb.histogram import indices_of
from runs.ycsb.series import POINT, Series, pack
from runs.ycsb.tests.in_memory import Intervals, write_intervals

__all__ = ["artifact_folder"]

pytestmark = pytest.mark.django_db


def store_series(run, rate, operations=("READ", "UPDATE")):
    points = np.zeros(len(rate), dtype=POINT)
    points["second"] = np.arange(len(rate))
    points["rate_ops_s"] = rate
    for operation in operations:
        series = Series(operation, "service", run.starts_at.timestamp(), 1, 2, points)
        SeriesRow.objects.create(run=run, operation=operation, points=len(rate), data=pack(series))


@pytest.fixture
def sweep(team):
    sweep = make_sweep(team=team, mode="always")
    for repeat, throughput in ((1, 900.0), (2, 1000.0), (3, 1300.0)):
        make_run(sweep, threads=8, repeat=repeat, throughput=throughput)
    return sweep


def test_draws_repeat_nearest_to_median_over_its_window(team, sweep, django_assert_num_queries):
    for run in sweep.runs.all():
        store_series(run, [run.throughput_ops_s / 2] * 15)
    curves = compared(team, Selection()).curves
    with django_assert_num_queries(3):
        (ridge,) = ridges(curves)
    assert set(ridge.rate_ops_s.tolist()) == {1000.0}
    assert ridge.seconds.tolist() == list(range(10))


def test_draws_another_repeat_if_nearest_series_is_missing(team, sweep):
    store_series(sweep.runs.get(repeat=1), [450.0] * 15)
    (ridge,) = ridges(compared(team, Selection()).curves)
    assert set(ridge.rate_ops_s.tolist()) == {900.0}


def test_without_a_stored_series_there_is_a_sentence(client_in, sweep):
    answer = client_in.get(reverse("figure-stability")).json()
    assert answer["figure"] is None and answer["empty"].startswith("No series of a run at its ceiling is stored")
    run = sweep.runs.first()
    heat = client_in.get(reverse("figure-heat", args=[run.pk])).json()
    assert heat["figure"] is None and "not stored" in heat["empty"]


def test_what_happened_to_a_run_stands_in_its_series(client_in, sweep):
    run = sweep.runs.first()
    store_series(run, [500.0] * 15)
    for kind, text in (("note", "<b>the server restarted</b>"), ("stage", "measuring"), ("cut", "much later")):
        seconds = 500 if kind == "cut" else 7
        RunEvent.objects.create(run=run, kind=kind, text=text, at=run.starts_at + dt.timedelta(seconds=seconds))
    answer = client_in.get(reverse("figure-run-series", args=[run.pk])).json()
    (marks,) = [trace for trace in answer["figure"]["data"] if trace["name"] == "what happened"]
    assert marks["x"] == [pytest.approx(7.0, abs=0.01)] and marks["text"] == ["&lt;b&gt;the server restarted&lt;/b&gt;"]
    assert "second 7: <b>the server restarted</b>" in answer["caption"]  # charts.js writes it as text


def test_heat_is_the_sum_of_the_stored_histograms_of_all_clients(sweep, artifact_folder):
    run = sweep.runs.first()
    base_s = run.starts_at.timestamp()
    seconds, values = 120, np.array([100, 900, 4000])
    stored = [
        Intervals(
            name=name,
            client=np.repeat(np.array([0, 1], dtype=np.int32), seconds),
            start_s=np.tile(base_s + np.arange(seconds, dtype=float), 2),
            length_s=np.ones(2 * seconds),
            offsets=np.arange(2 * seconds + 1, dtype=np.int64) * 3,
            index=np.tile(indices_of(values), 2 * seconds).astype(np.int32),
            count=np.tile(np.array([5, 2, 1]), 2 * seconds).astype(np.int64),
        )
        for name in ("READ", "READ-FAILED", "CLEANUP")
    ]
    gathering = Gathering()
    for entry in stored:
        with gathering(entry.name) as write:
            write_intervals(entry, write)
    store_intervals(run, gathering.fresh)
    (heat,) = heats(run, base_s)
    assert heat.operation == "READ" and heat.counts.sum() == 2 * seconds * 8
    assert heat.width_s == 2.0 and heat.counts.sum(axis=0).tolist() == [32] * 60
    assert heats(run, base_s, "response") == []
