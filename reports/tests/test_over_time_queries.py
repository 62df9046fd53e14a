"""The series of a run out of what is stored."""

import datetime as dt

import numpy as np
import pytest
from django.urls import reverse

from runs.models import RunEvent, Series as SeriesRow
from runs.tests.factories import make_run, make_sweep
from runs.tests.pages import artifact_folder
from runs.ycsb.series import POINT, Series, pack

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
