"""The quick study's plan, its summary, and what becomes of one that was cut short."""

import io
import json

import pytest
from django.db.models.functions import Now

from benchsite.local.demo.study import ALL_ENTRIES, ENTRIES, Progress, name_products, submit_quick_study
from benchsite.local.demo.summary import summary, write_summary
from runs.models import LoadGenerator, Run
from runs.models.run import Phase, Status
from runs.plans import preview, stored_plan
from runs.tests.factories import make_load_generator, make_machine, make_run, make_sweep

pytestmark = pytest.mark.django_db
DIGESTS = {"redis": "a" * 64, "postgresql": "b" * 64}


@pytest.fixture
def generators():
    machine = make_machine()
    for name in ("generator-1", "generator-2"):
        make_load_generator(name=name, machine=machine, bindings=DIGESTS, last_seen_at=Now())
    return list(LoadGenerator.objects.select_related("machine").order_by("name"))


@pytest.mark.parametrize(("entries", "cells", "minutes"), [(ENTRIES, 3, 10), (ALL_ENTRIES, 5, 16)])
def test_searches_each_modes_ceiling_then_measures_curve(team, user, generators, entries, cells, minutes):
    """The time is the most that it may need: a search that ends sooner leaves some of its trials."""
    matrix = submit_quick_study(team, user, generators, entries)
    plan = preview(stored_plan(matrix))
    assert plan.problems == () and plan.is_bound
    assert [(cell.database_name, cell.mode) for cell in plan.cells] == [
        (entry.name, mode) for entry in name_products(entries) for mode in entry.modes
    ]
    assert (plan.runs, plan.loads) == (15 * cells, cells)
    assert plan.seconds < 60 * minutes
    assert Run.objects.filter(matrix=matrix).count() == 2 * cells


@pytest.mark.slow
def test_second_study_keeps_results_and_cancels_queued_runs(team, user, generators):
    first = submit_quick_study(team, user, generators)
    done = Run.objects.filter(matrix=first).order_by("position").first()
    Run.objects.filter(pk=done.pk).update(status=Status.SUCCEEDED, finished_at=Now())
    second = submit_quick_study(team, user, generators)
    assert Run.objects.filter(matrix=first, status=Status.SUCCEEDED).count() == 1
    assert Run.objects.filter(matrix=first, status=Status.CANCELLED).count() == 5
    assert Run.objects.filter(matrix=second, status=Status.QUEUED).count() == 6


def test_summary_counts_all_runs_and_ceiling_skips_rejected(tmp_path):
    sweep = make_sweep()
    make_run(sweep, threads=4, throughput=2_000)
    make_run(sweep, threads=2, throughput=1_000)
    make_run(sweep, threads=16, throughput=9_000, verdict="reject")
    make_run(sweep, threads=32, status="failed")
    make_run(make_sweep(matrix=sweep.matrix, phase=Phase.LOAD), phase=Phase.LOAD)
    path = tmp_path / "demo" / "summary.json"
    write_summary(path, summary(sweep.matrix, {"home": "/"}))
    data = json.loads(path.read_text())
    assert (data["runs"], data["succeeded"], data["urls"]) == (5, 4, {"home": "/"})
    [only] = data["sweeps"]
    assert (only["system"], only["mode"], only["workload"], only["ceiling_ops_s"]) == ("redis", "always", "A", 2_000)
    assert (only["ceiling_status"], only["ceiling_says"]) == ("lower bound", "at least: the ladder is too short")
    assert [point["threads"] for point in only["points"]] == [2, 4, 16]
    assert set(only["points"][0]) == {
        "threads", "target_ops_s", "throughput_ops_s", "read_p99_us", "update_p99_us", "clients_merged", "verdict",
    }  # fmt: skip
    assert only["points"][0]["clients_merged"] == 2
    assert only["points"][0]["read_p99_us"] > 0


def test_its_progress_tells_each_ended_run_once(team):
    sweep = make_sweep(team=team)
    make_run(sweep, threads=2, throughput=1_234)
    make_run(sweep, threads=4, status="failed", reason_detail="The disk is full.")
    out = io.StringIO()
    Progress([sweep.matrix], out).follow(lambda: None)
    output = out.getvalue()
    assert output.count("1.23k\N{NARROW NO-BREAK SPACE}ops/s") == 1
    assert "failed: a YCSB client failed. The disk is full." in output
