"""How sessions vary on the machines of a team: clusters of its plans, and labels of runners that uploads state."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from django.db.models import F, Max, Min, QuerySet, TextField, Window
from django.db.models.functions import Cast, Coalesce, Concat, RowNumber, TruncDate

from benchsite.accounts.models import Team
from reports.compare.queries.run_pair import COUNTS
from reports.trends.analysis.sessions import SessionSpread, session_spread
from runs.models import Phase, Run, Sweep

# The newest sweeps of a cluster from which its spread is read; older ones tell of other days.
MAX_SWEEPS: Final = 100
TEST: Final = ("sweep__cluster_name", "config_key")


def session_key(session: str, origin: object, day: dt.date | str | None) -> str:
    """The session of a run: what its upload states, else the day (UTC) of its origin: matrix or commit."""
    return session or f"{origin or ''} {day or ''}"


# The day of a session.
SESSION_DAY: Final = TruncDate(Coalesce("started_at", "finished_at"), tzinfo=dt.UTC)


def session_spreads(team: Team, cluster_names: Collection[str]) -> Mapping[str, SessionSpread]:
    """Cluster or label of a runner -> how sessions of its tests vary; without two sessions of a test it is left out.

    Runs that are rejected or excluded are no part of it, as they are no part of a point. Two queries.
    """
    names = sorted({name for name in cluster_names if name})
    if not names:
        return {}

    numbered = Sweep.objects.filter(team=team, phase=Phase.MEASURE, cluster_name__in=names).annotate(
        number=Window(RowNumber(), partition_by="cluster_name", order_by=F("created_at").desc())
    )
    # As values: PostgreSQL would read all runs to join them with an unknown number of sweeps.
    newest = list(numbered.filter(number__lte=MAX_SWEEPS).values_list("pk", flat=True))
    tests: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, config_key, session, matrix_id, commit, day, throughput_ops_s in _read_runs(newest):
        sessions = tests.setdefault(name, {}).setdefault(config_key, {})
        runs = sessions.setdefault(session_key(session, matrix_id or commit, day), [])
        runs.append(throughput_ops_s or 0.0)

    spreads = {name: session_spread(sessions_by_test.values()) for name, sessions_by_test in tests.items()}
    return {name: spread for name, spread in spreads.items() if spread}


def _read_runs(sweeps: Sequence[uuid.UUID]) -> QuerySet[Run, tuple[Any, ...]]:
    """The runs of tests that were measured in several sessions: one session tells nothing of others."""
    return (
        Run.objects.filter(COUNTS, sweep__in=sweeps)
        .exclude(config_key="")
        .annotate(day=SESSION_DAY)
        .annotate(origin=Concat(*(Cast(name, TextField()) for name in ("session", "matrix_id", "commit", "day"))))
        .annotate(first=Window(Min("origin"), TEST), last=Window(Max("origin"), TEST))
        .exclude(first=F("last"))
        .order_by("-finished_at", "-pk")
        .values_list("sweep__cluster_name", "config_key", "session", "matrix_id", "commit", "day", "throughput_ops_s")
    )
