"""The quick study's plan, its summary, and what becomes of one that was cut short."""

import io
import json

import pytest
from django.db.models.functions import Now

from benchsite.local.demo.study import (
    ALL_ENTRIES,
    ENTRIES,
    REPEATS,
    RUNGS,
    Progress,
    name_products,
    submit_quick_study,
)
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


@pytest.mark.parametrize(("entries", "cells", "minutes"), [(ENTRIES, 3, 8), (ALL_ENTRIES, 5, 13)])
def test_measures_each_mode_at_all_rungs_in_turn(team, user, generators, entries, cells, minutes):
    matrix = submit_quick_study(team, user, generators, entries)
    plan = preview(stored_plan(matrix))
    assert plan.problems == () and not plan.is_bound
    assert [(cell.database_name, cell.mode) for cell in plan.cells] == [
        (entry.name, mode) for entry in name_products(entries) for mode in entry.modes
    ]
    assert (plan.runs, plan.loads) == (len(RUNGS) * REPEATS * cells, cells)
    assert plan.seconds < 60 * minutes
    runs = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE).order_by("position")
    assert len({run.sweep_id for run in runs[:cells]}) == cells
    assert [run.load_generators.count() for run in runs[:1]] == [1]


@pytest.mark.slow
def test_second_study_keeps_results_and_cancels_queued_runs(team, user, generators):
    first = submit_quick_study(team, user, generators)
    done = Run.objects.filter(matrix=first).order_by("position").first()
    Run.objects.filter(pk=done.pk).update(status=Status.SUCCEEDED, finished_at=Now())
    second = submit_quick_study(team, user, generators)
    assert Run.objects.filter(matrix=first, status=Status.SUCCEEDED).count() == 1
    runs = Run.objects.filter(matrix=second, status=Status.QUEUED).count()
    assert runs == len(RUNGS) * REPEATS * 3 + 3
    assert Run.objects.filter(matrix=first, status=Status.CANCELLED).count() == runs - 1


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
    assert data["findings"] == [f"{sweep.database.name} · always did at least 2.00k\N{NARROW NO-BREAK SPACE}ops/s."]
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_and_predicted_end_are_by_time(team):
    """Half of the planned time took twice as long, and the next run has been going on for 20 s of its 20 s."""
    sweep = make_sweep(team=team)
    for threads in range(1, 11):
        make_run(sweep, threads=threads, status="succeeded" if threads < 6 else "queued", expected_s=10)
    out = Terminal()
    progress = Progress([sweep.matrix], out)
    progress.planned_s = 100
    progress._update()
    progress.started -= 120
    progress.last_ended -= 20
    progress.took_s = 100
    progress._update()
    last = out.getvalue().rsplit("\r", 1)[-1]
    assert f"[{'#' * 18}{'-' * 12}] 5/10  2:00 elapsed" in last
