"""The figure of a run over time, from packed rows to seconds on one axis."""

import datetime as dt

import numpy as np
import pytest
from django.utils import timezone

from runs.models import Series as SeriesRow
from runs.tests.factories import make_run, make_sweep
from runs.ycsb.series import POINT, Series, pack

pytestmark = pytest.mark.django_db


def store(run, operation="READ", *, base_s, seconds=14, rate=500.0, kind="service"):
    points = np.zeros(seconds, dtype=POINT)
    points["second"] = np.arange(seconds)
    points["rate_ops_s"], points["count"] = rate, rate
    points["covered_s"], points["mean_us"], points["p99_us"] = 2.0, 800.0, 3000.0
    packed = pack(Series(operation, kind, base_s, 1, 2, points))
    SeriesRow.objects.create(run=run, operation=operation, latency_kind=kind, points=seconds, data=packed)


@pytest.fixture
def run(team):
    began = timezone.now() - dt.timedelta(minutes=1)
    run = make_run(make_sweep(team=team), target_ops_s=1200, starts_at=began)
    base_s = began.timestamp() - 0.25  # the clients' first second begins a little before the agreed instant
    store(run, "READ", base_s=base_s)
    store(run, "UPDATE", base_s=base_s, rate=700.0)
    return run


def test_operations_are_added_and_the_window_lies_where_it_was_measured(client_in, run):
    answer = client_in.get(f"/figures/runs/{run.pk}/series/").json()
    throughput = answer["figure"]["data"][0]
    assert throughput["x"] == list(range(14)) and set(throughput["y"]) == {1200.0}
    assert [trace["name"] for trace in answer["figure"]["data"][1:]] == ["READ p99", "UPDATE p99", "target"]
    warmup, after = answer["figure"]["layout"]["shapes"]
    # Two seconds of warm-up and ten of measuring, on an axis that begins a quarter of a second early.
    assert warmup["x1"] == pytest.approx(2.25, abs=0.01)
    assert (after["x0"], after["x1"]) == (pytest.approx(12.25, abs=0.01), 14)
    assert "Measured from second 2 to 12" in answer["caption"]


def test_the_table_has_a_row_per_second(client_in, run):
    table = client_in.get(f"/figures/runs/{run.pk}/series/").json()["table"]
    assert table["columns"][:2] == ["second", "all operations (ops/s)"]
    assert len(table["rows"]) == 14 and table["rows"][0][:2] == [0.0, 1200.0]


def test_without_series_it_says_so(client_in, team):
    run = make_run(make_sweep(team=team))
    answer = client_in.get(f"/figures/runs/{run.pk}/series/").json()
    assert answer["figure"] is None and answer["empty"] == "No second of this run is stored."
