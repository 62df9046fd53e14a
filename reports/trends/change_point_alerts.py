"""Notices of changes of level in histories: each change once, in histories that have grown.

The delivery loop calls `look` (`NOTICE_FINDERS`), so no upload and no schedule waits for it.
"""

import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse

from benchsite.accounts.models import NoticeKind
from benchsite.core import formatting
from benchsite.notifications import notices
from reports.models import History, HistoryLook
from reports.trends.analysis.changes import NEARBY
from reports.trends.histories import THROUGHPUT_METRIC, History as Course, HistoryChange, HistoryPoint, Metric, followed
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
    HistoryLook.objects.exclude(history__in=History.objects.filter(team__in=teams).values("pk")).delete()
    if not teams:
        return 0
    grown = Q(look=None) | Q(look__runs__lt=F("runs")) | Q(look__last_at__lt=F("last_at"))
    rows = History.objects.filter(grown, team__in=teams, phase=Phase.MEASURE).select_related("team", "look")
    return sum(_look_at(row) for row in rows.order_by("last_at")[:most])


def _look_at(row: History) -> bool:
    """Told is what is new since the last look. The first look tells nothing: nobody had asked when that happened."""
    before: HistoryLook | None = getattr(row, "look", None)
    known: dict[str, list[str]] = {}
    alerts: list[Alert] = []
    # The throughput, and the p99 of each operation: response time under a target where it was measured.
    tails = [metric for metric in collect_metrics(row) if metric.statistic == STATISTIC]
    names = list(dict.fromkeys(tail.operation for tail in tails))[:MAX_OPERATIONS]
    # Of each operation the kind that is preferred comes last, and stays.
    tails.sort(key=lambda tail: (tail.kind == "response") == bool(row.target_ops_s))
    by_name = {tail.operation: tail for tail in tails}
    for metric in (THROUGHPUT_METRIC, *(by_name[name] for name in names)):
        course = lately(row, metric)
        announced = None
        if before:
            announced = before.known.get(str(metric), [])
        new, known[str(metric)] = _news(course, announced)
        alerts += [(metric, change) for change in new]

    with transaction.atomic():
        made = bool(alerts) and _note(row, alerts)
        values = {"runs": row.runs, "last_at": row.last_at, "known": known}
        HistoryLook.objects.update_or_create(history=row, defaults=values)

    return made


def _news(course: Course, announced: Sequence[str] | None) -> tuple[list[HistoryChange], list[str]]:
    """The changes of which nobody was told, and the runs at which changes are known from now on.

    A change moves a little as points are added: what lies near a known one is that one.
    """
    seen = followed(course.points)
    places = _places([course.points[index] for index in seen], announced or ())
    changes = [change for change in course.changes if change.change.counts]
    near = set(chain.from_iterable(range(at - NEARBY, at + NEARBY + 1) for at in places.values()))
    new = [change for change in changes if change.change.index not in near]
    runs = [*places, *(str(change.point.first) for change in new)]
    if announced is None:
        return [], runs
    return [change for change in new if change.triage is None], runs


def _places(points: Sequence[HistoryPoint], runs: Sequence[str]) -> dict[str, int]:
    """Where the known runs are among the points; those that are too long ago are forgotten."""
    places: dict[str, int] = {}
    for index, point in enumerate(points):
        places |= dict.fromkeys(map(str, point.runs), index)
    return {run: places[run] for run in runs if run in places}


def _note(row: History, alerts: Sequence[Alert]) -> bool:
    # The throughput before all others; of latencies the one that changed most.
    metric, first = max(alerts, key=lambda alert: (alert[0] == THROUGHPUT_METRIC, abs(alert[1].change.relative or 0)))
    subject = f"{row}: {_in_words(metric, first)}"
    path = reverse("history-series", args=[row.config_key])
    if len(alerts) > 1:
        subject += f", and {len(alerts) - 1} more"
    if metric != THROUGHPUT_METRIC:
        path += f"?{urlencode({'metric': str(metric)})}"
    made = notices.note(
        NoticeKind.CHANGE_POINT,
        row.team,
        subject=subject,
        text="\n".join(_line(*alert) for alert in alerts),
        path=path,
        data={
            "history": {"config_key": row.config_key, "name": str(row)},
            "changes": [_data(*alert) for alert in alerts],
        },
        key=f"change_point:{row.pk}:{first.point.first}:{metric}",
    )
    return made is not None


def _in_words(metric: Metric, entry: HistoryChange) -> str:
    change = entry.change
    words = [metric.label]
    if change.relative is not None:
        words.append(formatting.signed_percent(change.relative))
    return f"{' '.join(words)}, {'better' if change.better else 'worse'}"


def _line(metric: Metric, entry: HistoryChange) -> str:
    before, after = metric.text(entry.change.before), metric.text(entry.change.after)
    since = entry.point
    return f"{_in_words(metric, entry)}: {before} → {after} since {since.label} ({since.at:%Y-%m-%d})"


def _data(metric: Metric, entry: HistoryChange) -> Mapping[str, Any]:
    change, point = entry.change, entry.point
    unit = "ops/s"
    if metric.operation:
        unit = "us"

    return {
        "metric": str(metric),
        "unit": unit,
        "before": change.before,
        "after": change.after,
        "relative": change.relative,
        "better": change.better,
        "run": str(point.first),
        "commit": point.commit,
        "at": point.at.isoformat().replace("+00:00", "Z"),
    }
