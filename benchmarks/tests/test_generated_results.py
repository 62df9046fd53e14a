"""A generated database has the shapes of a real one, is the same for the same seed, and is measured by `make bench`."""

from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count

from benchmarks.synthetic_data import Wanted, generate
from benchmarks.synthetic_data.bulk_copy import Copier
from benchsite.accounts.models import Team
from reports.compare.queries import curves, stored_series
from runs.models import Finding, Matrix, Measurement, Run, Series, Sweep, Upload
from runs.results.denormalised_columns import config_key, sweep_columns

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

WANTED = Wanted(runs=2_500, measurements_per_run=3, with_series=3, series_seconds=1_300)


@pytest.fixture
def generated():
    generate(WANTED)


def it_has_the_shapes_of_a_real_one():
    assert Run.objects.count() == WANTED.runs
    succeeded = Run.objects.filter(status="succeeded")
    assert Measurement.objects.count() == 3 * succeeded.count()
    assert {"succeeded", "failed", "cancelled"} == set(Run.objects.values_list("status", flat=True))
    assert {"pass", "warn", "reject"} <= set(succeeded.values_list("verdict", flat=True))
    assert Finding.objects.exists() and Run.objects.exclude(excluded_reason="").exists()
    assert Team.objects.count() == 2 and Sweep.objects.values("system").distinct().count() > 5
    assert Run.objects.filter(source="uploaded").count() == Run.objects.filter(sweep__matrix=None).count()
    assert Upload.objects.exclude(state="saved").count() == 0
    longest = Run.objects.values("config_key").annotate(number=Count("pk")).latest("number")
    assert longest["number"] > 450
    assert Run.objects.filter(config_key=longest["config_key"]).values("commit").distinct().count() > 100


def its_copies_are_what_their_specs_say():
    for run in Run.objects.select_related("sweep").order_by("pk")[::200]:
        assert run.config_key == config_key(run.spec)
        assert {name: getattr(run.sweep, name) for name in sweep_columns(run.spec)} == sweep_columns(run.spec)
        assert (run.spec["load"]["threads"], run.spec["load"]["target_ops_s"]) == (run.threads, run.target_ops_s)


def forty_sweeps_of_five_rungs_make_curves():
    grid = Matrix.objects.get(name="Forty sweeps, 1")
    found = curves(Sweep.objects.filter(matrix=grid))
    assert len(found) == 40 and sum(curve.progress.runs for curve in found) == 200
    points = [point for curve in found for point in curve.points]
    assert all(point.generator_cpu is not None and 0 < point.generator_cpu < 1 for point in points)
    assert sum(curve.ceiling is not None for curve in found) == 40


def long_series_have_every_level():
    assert Series.objects.values("run").distinct().count() == WANTED.with_series
    run = Series.objects.earliest("pk").run
    assert set(Series.objects.filter(run=run).values_list("interval_s", "points")) == {
        (1, 1300), (10, 130), (60, 22), (600, 3),
    }  # fmt: skip
    stored = stored_series(run)
    assert stored.interval_s == 1 and stored.series[0].points["rate_ops_s"].min() > 0


@pytest.mark.long
def test_what_is_generated_is_like_what_is_measured(generated):
    it_has_the_shapes_of_a_real_one()
    its_copies_are_what_their_specs_say()
    forty_sweeps_of_five_rungs_make_curves()
    long_series_have_every_level()
    with pytest.raises(CommandError, match=r"holds 2,500 runs.*--append"):
        call_command("generate_results", runs=10)
    call_command("generate_results", "--append", runs=900, stdout=StringIO())
    assert Run.objects.count() == 3_400


def test_the_same_seed_makes_the_same_rows(monkeypatch):
    written = []
    monkeypatch.setattr(Copier, "write", lambda copier: written.append(copier._rows))
    for seed in (1, 1, 2):
        generate(replace(WANTED, seed=seed, with_series=0))
    # JSON of equipment that was just made has its keys in another order than the same from the database.
    first, same, other = ([[v for v in row if not str(v).startswith("{")] for row in rows[Run]] for rows in written)
    assert first == same and len(first) == len(other) == WANTED.runs
    assert first != other


@pytest.mark.long
def test_pages_are_measured_beside_another_way(generated, monkeypatch):
    from benchmarks.speed import page_times, pages

    monkeypatch.setattr(page_times, "ROUNDS", 1)
    monkeypatch.setattr(page_times.cache, "clear", lambda: None)  # other tests share the Redis
    items = list(page_times.Pages().everything())
    report = pages._report(2_500, items)
    assert len(report.rows) == len(items) > 15
    assert {"compare 200 runs, cold", "compare 200 runs, again", "facets", "runs"} <= {item["what"] for item in items}
    assert all(item["median_ms"] > 0 for item in items)
    assert report.met == all(item["median_ms"] <= item["wanted_ms"] for item in items if item["wanted_ms"])
