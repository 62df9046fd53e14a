"""The figure of a run over time, from packed rows to seconds on one axis."""

import datetime as dt

import numpy as np
import pytest
from django.utils import timezone

from reports.compare.queries import stored_series
from runs.models import Series as SeriesRow
from runs.tests.factories import make_run, make_sweep
from runs.ycsb.series import POINT, Series, pack

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store(run, operation="READ", *, base_s, seconds=14, rate=500.0, kind="service", every=1):
    """A series, in a long run with one second in a thousand in which nothing was done."""
    points = np.zeros(-(-seconds // every), dtype=POINT)
    points["second"] = np.arange(0, seconds, every)
    points["rate_ops_s"], points["count"] = rate, rate
    if every == 1:
        points["rate_ops_s"][999::1000] = 0
    points["covered_s"], points["mean_us"], points["p99_us"] = 2.0, 800.0, 3000.0 * every
    packed = pack(Series(operation, kind, base_s, every, 2, points))
    SeriesRow.objects.create(
        run=run, operation=operation, latency_kind=kind, interval_s=every, points=points.size, data=packed
    )


@pytest.fixture
def run(team):
    began = timezone.now() - dt.timedelta(minutes=1)
    run = make_run(make_sweep(team=team), target_ops_s=1200, starts_at=began)
    base_s = began.timestamp() - 0.25  # the clients' first second begins a little before the agreed instant
    store(run, "READ", base_s=base_s)
    store(run, "UPDATE", base_s=base_s, rate=700.0)
    return run


def test_series_adds_operations_and_marks_measured_window(client_in, run):
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


@pytest.fixture
def long_run(team):
    """Three hours of two operations, at every level."""
    began = timezone.now() - dt.timedelta(hours=4)
    run = make_run(make_sweep(team=team), starts_at=began)
    for operation in ("READ", "UPDATE"):
        for every in (1, 10, 60, 600):
            store(run, operation, base_s=began.timestamp(), seconds=10_800, every=every)
    return run


def get_figure(client, run, **part):
    return client.get(f"/figures/runs/{run.pk}/series/", part).json()


def test_a_long_run_is_shown_at_the_level_that_fits(client_in, long_run):
    answer = get_figure(client_in, long_run)
    least, greatest, total, read, update = answer["figure"]["data"]
    assert total["x"] == [4.5 + 10 * row for row in range(1080)] and set(total["y"]) == {1000.0}
    # Percentiles are those of ten seconds, not some of their seconds'.
    assert set(read["y"]) == set(update["y"]) == {30.0}
    assert (least["y"][98:101], greatest["y"][98:101]) == ([1000.0, 0.0, 1000.0], [1000.0] * 3)
    assert greatest["fill"] == "tonexty"
    assert "per 10 s" in answer["caption"] and "least to the greatest second" in answer["caption"]
    assert len(answer["table"]["rows"]) == 1080


@pytest.mark.slow
def test_a_part_of_it_is_shown_second_by_second(client_in, long_run):
    answer = get_figure(client_in, long_run, from_s="990.5", to_s=1009)
    total, read, _ = answer["figure"]["data"]
    assert total["x"] == [float(second) for second in range(990, 1010)]
    assert total["y"].count(0.0) == 1 and set(read["y"]) == {3.0}
    assert "per second" in answer["caption"]
    nowhere = get_figure(client_in, long_run, from_s=5, to_s="x")
    assert len(nowhere["table"]["rows"]) == 1080


def test_a_very_long_part_is_shown_at_a_coarser_level(client_in, long_run):
    assert len(get_figure(client_in, long_run, from_s=1000, to_s=8000)["table"]["rows"]) == 701


@pytest.mark.slow
def test_its_data_comes_second_by_second(client_in, long_run):
    lines = client_in.get(f"/figures/runs/{long_run.pk}/series.csv").content.decode().splitlines()
    assert len(lines) == 1 + 10_800


def test_it_takes_three_queries(team, long_run, django_assert_num_queries):
    with django_assert_num_queries(3):
        stored = stored_series(long_run)
    assert (stored.interval_s, len(stored.series), len(stored.finest)) == (10, 2, 2)
