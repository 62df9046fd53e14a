"""A site for benchmarks, and small matrices on it: Redis without persistence, one load generator, short runs."""

import time
from collections.abc import Callable

from django.utils import timezone

from benchsite.demo.study import StudyEntry, plan_study
from benchsite.supervisor import Site
from benchsite.teams.bootstrap import ensure_demo_team
from runs.lifecycle import request_cancel_matrix
from runs.models import LoadGenerator, Matrix, Run
from runs.models.run import Status
from runs.planning import submit

POLL_S = 0.02
MODE = StudyEntry("redis", "Redis", ["off"])


class BenchmarkFailed(Exception):
    """A run that a benchmark rests on did not succeed; the message is the run's own reason."""


def forget_earlier(site: Site) -> None:
    """End what an interrupted benchmark left in the queue, so that nothing stands before the next one."""
    unfinished = Run.objects.exclude(status__in=Status.terminal())
    for matrix in Matrix.objects.filter(pk__in=unfinished.values("matrix_id")).select_related("created_by"):
        assert matrix.created_by is not None
        request_cancel_matrix(matrix, matrix.created_by)
    until(site, lambda: not unfinished.exists(), 120, "earlier runs to end")


def submit_small(site: Site, *, threads: int, measure_s: int, repeats: int = 1) -> Matrix:
    """One mode, one rung, one load generator."""
    team, user = ensure_demo_team()
    generators = list(LoadGenerator.objects.filter(name=site.generators[0]).select_related("machine"))
    matrix = plan_study(
        team,
        user,
        generators,
        entries=[MODE],
        name=f"Benchmark of Benchsite, {timezone.now():%Y-%m-%d %H:%M:%S}",
        rungs=[threads],
        repeats=repeats,
        warmup_s=1,
        min_measure_s=measure_s,
        max_measure_s=measure_s,
    )
    submit(matrix, user)
    return matrix


def until(
    site: Site, condition: Callable[[], bool], patience_s: float, expectation: str, *, poll_s: float = POLL_S
) -> None:
    """Wait for it, but notice when a part of the site dies. Raises BenchmarkFailed, SiteError."""
    end = time.monotonic() + patience_s
    while not condition():
        site.check()
        if time.monotonic() > end:
            raise BenchmarkFailed(f"Waited {patience_s:.0f} s for {expectation}.")
        time.sleep(poll_s)


def until_succeeded(site: Site, run: Run, patience_s: float = 120, *, poll_s: float = POLL_S) -> Run:
    """The run, once it has succeeded."""

    def ended() -> bool:
        return Run.objects.filter(pk=run.pk, status__in=Status.terminal()).exists()

    until(site, ended, patience_s, f"{run} to end", poll_s=poll_s)
    run.refresh_from_db()
    if run.status != Status.SUCCEEDED:
        raise BenchmarkFailed(f"{run} ended as {run.get_status_display()}: {run.reason_detail}")
    return run
