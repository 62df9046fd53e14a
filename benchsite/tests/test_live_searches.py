"""Searches on real Redis and PostgreSQL servers, with and without a limit, and with parts of the site killed midway."""

import contextlib

import psutil
import pytest

from benchsite.tests.live_site import site
from runs.models import Matrix, Run, SearchDecision
from runs.models.run import Status

__all__ = ["site"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]
SEARCH = {"width": 0.2, "max_trials": 5, "max_error_rate": 0.001, "slo": None, "curve_percent": [50]}
SLO = {"operation": "READ", "statistic": "p95", "kind": "service", "limit_us": 500_000}
ENDED = {"bracketed", "trials spent", "client limited"}


def submit_search(site, *entries, **changes):
    fields = {"ladder": Matrix.Ladder.TARGET, "rungs": [], "threads": 8, "repeats": 1, "search": SEARCH, **changes}
    return site.submit(*entries, measure_s=3, **fields)


def answers(matrix):
    """The last decision of each sweep of the matrix that searched."""
    decisions = SearchDecision.objects.filter(sweep__matrix=matrix).order_by("sweep_id", "-number")
    return list(decisions.distinct("sweep_id"))


def until_answered(site, matrix, searches):
    """Between two trials no run is left to run, so the end of the search comes first."""
    site.until(lambda: len([end for end in answers(matrix) if end.state != "searching"]) == searches, 600, "the answer")
    return site.until_ended(matrix), answers(matrix)


@pytest.mark.parametrize(
    ("changes", "curve"),
    [
        pytest.param({}, 1, id="targets"),
        pytest.param({"search": {**SEARCH, "slo": SLO}}, 1, id="targets-slo"),
        pytest.param(
            {
                "ladder": Matrix.Ladder.THREADS,
                "rungs": [2],
                "threads": None,
                "search": {"width": 0.2, "max_trials": 8, "max_error_rate": 0.001, "slo": SLO},
            },
            0,
            id="threads-slo",
        ),
    ],
)
def test_answers_on_redis_and_postgresql(site, changes, curve):
    matrix = submit_search(site, ("redis", "off"), ("postgresql", "on"), **changes)
    runs, ends = until_answered(site, matrix, 2)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    for end in ends:
        assert end.state in ENDED, end.sentence
        assert end.value_ops_s > 0
        trials = end.sweep.decisions.filter(run__isnull=False).count()
        has_curve = end.sweep.decisions.filter(rule="end").first().low is not None  # else there is no ceiling to share
        assert Run.objects.filter(sweep=end.sweep).count() == trials + curve * has_curve


def test_goes_on_after_scheduler_and_conductor_were_killed(site):
    matrix = submit_search(site, ("redis", "off"))
    decisions = SearchDecision.objects.filter(sweep__matrix=matrix, run__isnull=False)
    for trials, part in enumerate(("scheduler", "conductor"), start=2):
        site.until(lambda trials=trials: decisions.count() >= trials, 120, f"{trials} trials")
        process = psutil.Process(site.pid(part))
        for child in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):  # A child ends with its parent.
                child.kill()
        site.until(lambda part=part: site.parts[part].died, 20, f"{part} to be gone")
        site.start(part)
    runs, (end,) = until_answered(site, matrix, 1)
    assert end.state in ENDED, end.sentence
    assert end.value_ops_s > 0
    numbers = list(end.sweep.decisions.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    # A run that a kill struck is retried once and visibly.
    retried = {run.rerun_of_id for run in runs if run.is_retry and run.status == Status.SUCCEEDED}
    lost = [run for run in runs if run.status != Status.SUCCEEDED and run.pk not in retried]
    assert [(run.status, run.reason, run.reason_detail) for run in lost] == []
