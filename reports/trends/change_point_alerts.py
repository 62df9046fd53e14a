"""Notices of changes of level in histories: each change once, in histories that have grown.

The delivery loop calls `look` (`NOTICE_FINDERS`), so no upload and no schedule waits for it.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse

from benchsite.accounts.models import NoticeKind
from benchsite.core import formatting
from benchsite.notifications import notices
from reports.models import History as HistoryRow, HistoryLook
from reports.trends.analysis.changes import NEARBY
from reports.trends.histories import THROUGHPUT_METRIC, History, HistoryChange, HistoryPoint, Metric
from reports.trends.queries.history import collect_metrics, lately
from runs.models import Phase

log = logging.getLogger(__name__)
# Histories in one look; what has grown beside them is looked at in the next.
MAX_AT_ONCE: Final = 10
# Latencies of so many operations are followed, beside the throughput.
MAX_OPERATIONS: Final = 6
STATISTIC: Final = "p99"

# A metric and a change of it that nobody was told of.
Alert = tuple[Metric, HistoryChange]


def look(most: int = MAX_AT_ONCE) -> int:
    """Look at histories that have grown, of the teams in which somebody asked; answers how many notices were made."""
    teams = notices.asked_for(NoticeKind.CHANGE_POINT)
    # Where nobody asks any more it begins anew when somebody does; nor is there any look at what was deleted.
    HistoryLook.objects.exclude(history__in=HistoryRow.objects.filter(team__in=teams).values("pk")).delete()
    if not teams:
        return 0
    grown = Q(look=None) | Q(look__runs__lt=F("runs")) | Q(look__last_at__lt=F("last_at"))
    rows = HistoryRow.objects.filter(grown, team__in=teams, phase=Phase.MEASURE).select_related("team", "look")
    return sum(_look_at(row) for row in rows.order_by("last_at")[:most])


def _look_at(row: HistoryRow) -> bool:
    """Told is what is new since the last look. The first look tells nothing: nobody had asked when that happened."""
    last_look: HistoryLook | None = getattr(row, "look", None)
    announced_before: Mapping[str, list[str]] = last_look.known if last_look else {}
    announced: dict[str, list[str]] = {}
    alerts: list[Alert] = []
    for metric in (THROUGHPUT_METRIC, *_choose_tails(row)):
        history = lately(row, metric)
        changes, announced[str(metric)] = _find_news(history, announced_before.get(str(metric), ()))
        if last_look:
            alerts += [(metric, change) for change in changes if change.triage is None]

    with transaction.atomic():
        is_noted = bool(alerts) and _note(row, alerts)
        values = {"runs": row.runs, "last_at": row.last_at, "known": announced}
        HistoryLook.objects.update_or_create(history=row, defaults=values)

    return is_noted


def _choose_tails(row: HistoryRow) -> list[Metric]:
    """The p99 of each operation: response time under a target where it was measured."""
    tails = [metric for metric in collect_metrics(row) if metric.statistic == STATISTIC]
    names = list(dict.fromkeys(tail.operation for tail in tails))[:MAX_OPERATIONS]
    # Of each operation the kind that is preferred comes last, and stays.
    tails.sort(key=lambda tail: (tail.kind == "response") == bool(row.target_ops_s))
    by_name = {tail.operation: tail for tail in tails}
    return [by_name[name] for name in names]


def _find_news(history: History, announced: Sequence[str]) -> tuple[list[HistoryChange], list[str]]:
    """The changes that were not announced, and the runs at which changes are announced from now on.

    A change moves a little as points are added: what lies near an announced one is that one.
    """
    positions = _locate_runs([history.points[index] for index in history.followed], announced)
    new = []
    for change in history.changes:
        distances = [abs(change.index - position) for position in positions.values()]
        if change.counts and min(distances, default=math.inf) > NEARBY:
            new.append(change)
    return new, [*positions, *(str(change.point.first) for change in new)]


def _locate_runs(points: Sequence[HistoryPoint], runs: Sequence[str]) -> dict[str, int]:
    """The runs with the indices of their points; those that are too long ago are forgotten."""
    positions: dict[str, int] = {}
    for index, point in enumerate(points):
        positions |= dict.fromkeys(map(str, point.runs), index)
    return {run: positions[run] for run in runs if run in positions}


def _note(row: HistoryRow, alerts: Sequence[Alert]) -> bool:
    def weigh(alert: Alert) -> tuple[bool, float]:
        """The throughput before all others; of latencies the one that changed most."""
        metric, change = alert
        return metric == THROUGHPUT_METRIC, abs(change.relative or 0)

    metric, first = max(alerts, key=weigh)
    subject = f"{row}: {_describe_change(metric, first)}"
    path = reverse("history-series", args=[row.config_key])
    if len(alerts) > 1:
        subject += f", and {len(alerts) - 1} more"
    if metric != THROUGHPUT_METRIC:
        path += f"?{urlencode({'metric': str(metric)})}"
    notice = notices.note(
        NoticeKind.CHANGE_POINT,
        row.team,
        subject=subject,
        text="\n".join(_format_line(*alert) for alert in alerts),
        path=path,
        data={
            "history": {"config_key": row.config_key, "name": str(row)},
            "changes": [_build_data(*alert) for alert in alerts],
        },
        key=f"change_point:{row.pk}:{first.point.first}:{metric}",
    )
    return notice is not None


def _describe_change(metric: Metric, change: HistoryChange) -> str:
    words = metric.label
    if change.relative is not None:
        words += f" {formatting.signed_percent(change.relative)}"
    return f"{words}, better" if change.better else f"{words}, worse"


def _format_line(metric: Metric, change: HistoryChange) -> str:
    before, after = metric.text(change.before), metric.text(change.after)
    since = change.point
    return f"{_describe_change(metric, change)}: {before} → {after} since {since.label} ({since.at:%Y-%m-%d})"


def _build_data(metric: Metric, change: HistoryChange) -> Mapping[str, Any]:
    return {
        "metric": str(metric),
        "unit": "us" if metric.operation else "ops/s",
        "before": change.before,
        "after": change.after,
        "relative": change.relative,
        "better": change.better,
        "run": str(change.point.first),
        "commit": change.point.commit,
        "at": change.point.at.isoformat().replace("+00:00", "Z"),
    }
