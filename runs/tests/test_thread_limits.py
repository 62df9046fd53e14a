"""V02 refers to the lowest rung of its sweep and is judged again when that has been measured later."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchsite.core.formatting import latency
from runs.models import Ending
from runs.queue import run_completion
from runs.results.recording import thread_limits
from runs.results.recording.recompute import rebuild
from runs.tests.factories import finding, make_run, make_sweep, measurement
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run
from runs.ycsb import ALGORITHM_VERSION

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, ladder="target", purpose="demo")


def measured_later(sweep, target_ops_s, mean_us):
    make_run(sweep, target_ops_s=target_ops_s, measurements=[measurement("READ", mean_us)])
    Ending.objects.create(matrix=sweep.matrix)
    run_completion.look()


def limit(run):
    return run.measurement_sets.get(is_current=True).findings.get(check_id="V02")


def busy(sweep, target_ops_s):
    """A run that missed its target with all threads busy, before any lower rung was measured."""
    measured = "97 % busy at 60 % of the target, mean 600 µs"
    stored = finding("V02", "not_assessed", measured=measured, algorithm_version=ALGORITHM_VERSION)
    times = [measurement("READ", 600.0)]
    return make_run(sweep, target_ops_s=target_ops_s, throughput=900.0, findings=[stored], measurements=times)


def test_lowest_rung_measured_later(team, sweep, artifact_folder):
    high = recorded_run(team, sweep=sweep, target_ops_s=20_000)
    assert limit(high).severity == "not_assessed"
    assessed = high.checks_assessed
    measured_later(sweep, 1000, 300.0)
    assert limit(high).severity == "warn" and limit(high).measured.endswith(f", lowest rung {latency(300.0)}")
    high.refresh_from_db()
    assert high.checks_assessed == assessed + 1 and high.events.filter(text__contains="V02 judged again").exists()
    assert rebuild(high).differences == []
    measured_later(sweep, 500, 100.0)
    assert (limit(high).severity, limit(high).remedy) == ("pass", "")
    assert rebuild(high).differences == []


def test_queries_do_not_grow_with_the_runs(sweep):
    counts = []
    for targets in ((2000,), (3000, 4000, 5000)):
        for target in targets:
            busy(sweep, target)
        measured_later(sweep, 1000 - len(counts), 500.0)
        with CaptureQueriesContext(connection) as queries:
            assert thread_limits.judge_again([sweep.matrix_id]) == 0
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6


def test_findings_of_earlier_versions_stay(sweep):
    run = busy(sweep, 2000)
    limits = run.measurement_sets.get().findings
    limits.update(algorithm_version=ALGORITHM_VERSION - 1)
    measured_later(sweep, 1000, 500.0)
    assert limit(run).severity == "not_assessed"
