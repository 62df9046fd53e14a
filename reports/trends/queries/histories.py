"""The list of histories: a filter that lives in the address, and the tests it means with their newest runs."""

import datetime as dt
import math
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from benchsite.accounts.models import Team
from reports.models import EVERY_METRIC, ChangePoint, History as HistoryRow
from reports.trends.analysis.changes import MIN_HISTORY
from reports.trends.histories import THROUGHPUT_METRIC, History, Measured, build_history, build_points
from reports.trends.queries.history import get_runs, get_standing
from reports.trends.queries.noise import SESSION_DAY, session_key
from runs.models import HISTORY_AT
from runs.results.pages.lists import ListFilter, Menu, Order, phase_menu, search_field

PER_PAGE: Final = 25
RECENT: Final = 60  # runs of each history that the list looks at
MAX_SEARCHED: Final = 200  # histories in which a kind of change is searched: those that grew last
CHANGES: Final = ("regression", "improvement")
NAME: Final = ("database_name", "mode", "workload_name", "cluster_name", "target_ops_s", "threads", "config_key")
SORTS: Final[dict[str, tuple[str, ...]]] = {
    "newest": ("-last_at", "config_key"),
    "oldest": ("last_at", "config_key"),
    "name": NAME,
    "name-reversed": tuple(f"-{column}" for column in NAME),
    "longest": ("-runs", "config_key"),
    "shortest": ("runs", "config_key"),
}


class HistoryFilter(ListFilter):
    noun, plural = "history", "histories"
    q = search_field("database, workload …")
    system = Menu("System", "system")
    mode = Menu("Mode", "mode")
    workload = Menu("Workload", "workload_name")
    cluster = Menu("Cluster", "cluster_name")
    phase = phase_menu()
    change = Menu("Last change", choices=CHANGES)
    sort = Order(SORTS, initial="longest")

    def apply(self, team: Team) -> QuerySet[HistoryRow]:
        """The team's histories that this filter lets through, in its order."""
        rows = self.narrow(HistoryRow.objects.filter(team=team))
        for word in self.words:
            rows = rows.filter(_match_word(word))
        if change := self.values["change"]:
            rows = rows.filter(pk__in=_find_changed(team, rows, better=change == "improvement"))
        return self.order(rows)


def _find_changed(team: Team, rows: QuerySet[HistoryRow], *, better: bool) -> list[int]:
    """The keys of the newest histories whose last change is of this kind; two queries."""
    newest = list(rows.filter(runs__gte=MIN_HISTORY).order_by("-last_at").values_list("pk", flat=True)[:MAX_SEARCHED])
    lines = history_lines(team, HistoryRow.objects.filter(pk__in=newest))
    last_changes = [(row.pk, history.last_change) for row, history in lines]
    return [pk for pk, change in last_changes if change and change.better == better]


def _match_word(word: str) -> Q:
    return (
        Q(database_name__icontains=word)
        | Q(workload_name__icontains=word)
        | Q(cluster_name__icontains=word)
        | Q(system__icontains=word)
        | Q(mode__icontains=word)
        | Q(config_key__startswith=word.lower())
    )


class HistoryLine(NamedTuple):
    """One history in the list, as far as its newest runs say."""

    row: HistoryRow
    history: History


def history_lines(team: Team, rows: QuerySet[HistoryRow], recent_runs: int = RECENT) -> list[HistoryLine]:
    """The rows of a page with their newest runs; two queries."""
    recent = get_runs(team.pk, OuterRef("config_key")).reverse()
    columns = JSONObject(
        id="pk",
        at=HISTORY_AT,
        commit="commit",
        branch="branch",
        matrix_id="matrix_id",
        sweep_id="sweep_id",
        session="session",
        day=SESSION_DAY,
        throughput_ops_s="throughput_ops_s",
        verdict="verdict",
        override="verdict_override",
        excluded="excluded_reason",
    )
    rows_with_recent = list(rows.annotate(recent=ArraySubquery(recent.values(json=columns)[:recent_runs])))
    triage = _get_triage(team, [row.config_key for row in rows_with_recent])
    lines = []
    for row in rows_with_recent:
        points = build_points([_parse_run(run) for run in reversed(row.recent)])
        lines.append(HistoryLine(row, build_history(THROUGHPUT_METRIC, points, triage[row.config_key])))

    return lines


def _get_triage(team: Team, config_keys: Sequence[str]) -> dict[str, list[ChangePoint]]:
    """The decisions about the throughput of each test; one query for none as for some."""
    triage: dict[str, list[ChangePoint]] = defaultdict(list)
    decisions = ChangePoint.objects.filter(
        team=team, config_key__in=config_keys or [""], metric__in=[str(THROUGHPUT_METRIC), EVERY_METRIC]
    )
    for decision in decisions.order_by():
        triage[decision.config_key].append(decision)
    return triage


def _parse_run(run: Mapping[str, Any]) -> Measured:
    """A run as PostgreSQL writes it as JSON, which has a number that is none as "NaN"."""
    throughput_ops_s = math.nan
    if run["throughput_ops_s"] is not None:
        throughput_ops_s = float(run["throughput_ops_s"])
    standing, reason = get_standing(run["verdict"], run["override"], run["excluded"])
    run_id, at = uuid.UUID(run["id"]), dt.datetime.fromisoformat(run["at"])
    session = session_key(run["session"], run["matrix_id"] or run["commit"] or run["sweep_id"], run["day"])
    return Measured(
        run_id, at, run["commit"], run["branch"], run["matrix_id"], throughput_ops_s, standing, reason, session
    )
