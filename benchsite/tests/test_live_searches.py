"""Searches on Redis, PostgreSQL and a server of known capacity, with and without a limit, and with parts of the site
killed midway.
"""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from benchmarks.calibration import server, study
from benchsite.accounts.models import Role
from benchsite.core.paths import places
from benchsite.local.embedded import EmbeddedServers
from benchsite.tests.live_site import site
from benchsite.tests.ports import free_port
from runs.models import LoadGenerator, Matrix, Run, SearchDecision
from runs.models.run import Status
from runs.plans import submit
from runs.queue.run_completion import is_over
from runs.tests.factories import make_team, make_user

__all__ = ["site"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]
SEARCH = {"width": 0.2, "max_trials": 5, "max_error_rate": 0.001, "slo": None, "curve_percent": [50]}
SLO = {"operation": "READ", "statistic": "p95", "kind": "service", "limit_us": 500_000}
ENDED = {"bracketed", "trials spent", "client limited"}


@pytest.fixture
def known_address(monkeypatch):
    """host:port of a token bucket in front of an empty Redis, which sites that start later may reach."""
    monkeypatch.setenv("BENCHSITE_EXTERNAL_NETWORKS", f"{server.HOST}/32")
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="bs-") as folder:
        redis = EmbeddedServers(places(Path(folder) / "redis"), logs=Path(folder), postgresql=False, careless=True)
        redis.start()
        argv = [sys.executable, "-m", server.__name__, str(port), str(redis.places.redis_socket)]
        with subprocess.Popen([*argv, str(study.CAPACITY_OPS_S), str(study.SERVICE_S)]) as known:
            yield f"{server.HOST}:{port}"
            known.kill()
        redis.stop()


def submit_search(site, *entries, **changes):
    fields = {"ladder": Matrix.Ladder.TARGET, "rungs": [], "threads": 8, "repeats": 1, "search": SEARCH, **changes}
    return site.submit(*entries, measure_s=3, **fields)


def answers(matrix):
    """The last decision of each sweep of the matrix that searched."""
    decisions = SearchDecision.objects.filter(sweep__matrix=matrix).order_by("sweep_id", "-number")
    return list(decisions.distinct("sweep_id"))


def until_answered(site, matrix, searches):
    site.until(lambda: is_over([matrix]), 600, "the answer")
    runs, ends = site.until_ended(matrix), answers(matrix)
    assert len(ends) == searches
    return runs, ends


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


def submit_known(address, **changes):
    """A search for the capacity of the known server, by one load generator."""
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN)
    generators = LoadGenerator.objects.order_by("name").select_related("machine")[:1]
    matrix = study.plan_calibration(team, user, generators, address, min_measure_s=3, max_measure_s=3, **changes)
    submit(matrix, user)
    return matrix


@pytest.mark.parametrize("slo", [pytest.param(None, id="no-limit"), pytest.param(SLO, id="slo")])
@pytest.mark.parametrize("system", ["redis", "postgresql", "known"])
def test_goes_on_after_scheduler_and_conductor_were_killed(known_address, site, system, slo):
    if system == "known":
        targets = {"ladder": Matrix.Ladder.TARGET, "threads": 32}
        threads = {"rungs": [4], "search": {**study.SEARCH, "slo": study.SLO}}
        matrix = submit_known(known_address, **threads if slo else {**targets, "search": study.SEARCH})
    else:
        mode = "off" if system == "redis" else "on"
        matrix = submit_search(site, (system, mode), search={**SEARCH, "slo": slo})
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
