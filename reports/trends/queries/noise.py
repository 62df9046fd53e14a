"""How sessions vary on the machines of a team: clusters of its plans, and labels of runners that uploads state."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from django.db.models import F, Max, Min, TextField, Window
from django.db.models.functions import Cast, Coalesce, Concat, RowNumber, TruncDate

from benchsite.accounts.models import Team
from reports.compare.queries.run_pair import COUNTS
from reports.trends.analysis.sessions import SessionSpread, session_spread
from runs.models import Phase, Run, Sweep

# The newest sweeps of a cluster from which its spread is read; older ones tell of other days.
MAX_SWEEPS: Final = 100
TEST: Final = ("sweep__cluster_name", "config_key")


def session_key(session: str, origin: object, day: dt.date | None) -> str:
    """The session of a run: what its upload states, else the day (UTC) of its origin: matrix or commit."""
    return session or f"{origin or ''} {day or ''}"


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
    rows = (
        Run.objects.filter(COUNTS, sweep__in=newest)
        .exclude(config_key="")
        .annotate(day=TruncDate(Coalesce("started_at", "finished_at"), tzinfo=dt.UTC))
        .annotate(origin=Concat(*(Cast(name, TextField()) for name in ("session", "matrix_id", "commit", "day"))))
        # Most tests were measured in one session, which tells nothing of others.
        .annotate(first=Window(Min("origin"), TEST), last=Window(Max("origin"), TEST))
        .exclude(first=F("last"))
        .order_by("-finished_at", "-pk")
        .values_list("sweep__cluster_name", "config_key", "session", "matrix_id", "commit", "day", "throughput_ops_s")
    )
    tests: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for name, key, session, matrix_id, commit, day, throughput_ops_s in rows:
        sessions = tests[name][key]
        sessions.setdefault(session_key(session, matrix_id or commit, day), []).append(throughput_ops_s or 0.0)

    return {name: spread for name, sessions in tests.items() if (spread := session_spread(sessions.values()))}
