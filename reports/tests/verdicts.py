"""Runs of commits for tests of verdicts: one test, several commits, repeats of each."""

import datetime as dt
from typing import Any

from django.utils import timezone

from benchsite.accounts.models import Scope, Team, User
from benchsite.accounts.tokens import make
from runs.models import Run, Sweep
from runs.tests.factories import make_database, make_matrix, make_run, make_sweep, make_workload

NOISE = (1.0, 1.004, 0.997, 1.002, 0.999)


def make_test(team: Team, **fields: Any) -> Sweep:
    """The sweep whose runs are measurements of one test."""
    database, workload = fields.pop("database", None) or make_database(team=team), make_workload(team=team)
    matrix = make_matrix(team=team, workloads=[workload], repeats=1, purpose="measured")
    return make_sweep(team=team, matrix=matrix, database=database, workload=workload, **fields)


def commit_runs(
    sweep: Sweep, commit: str, level: float, *, days_ago: float, branch: str = "main", repeats: int = 5, **fields: Any
) -> list[Run]:
    """The repeats of one commit, some days ago: each in a session of its own, unless `session` says another."""
    first = Run.objects.filter(sweep=sweep).count()
    began = timezone.now() - dt.timedelta(days=days_ago)
    return [
        make_run(
            sweep,
            threads=8,
            throughput=level * NOISE[(first + i) % len(NOISE)],
            repeat=first + i + 1,
            commit=commit,
            branch=branch,
            started_at=began + dt.timedelta(minutes=i),
            **{"session": f"{commit} {first + i}", **fields},
        )
        for i in range(repeats)
    ]


def headers(team: Team, user: User, *scopes: str) -> dict[str, Any]:
    """Of a request with a token of these scopes; reading where none is given."""
    token = make(team, user, name="ci", scopes=scopes or (Scope.RUNS_READ,))
    return {"headers": {"Authorization": f"Bearer {token}"}}
