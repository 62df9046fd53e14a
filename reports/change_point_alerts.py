"""Changes of level in histories, told to whoever asked for it: looked for where a history has grown, each told once.

The deliverer calls `look` now and then (`benchsite.teams.notices.find_with`), so nobody who uploads or schedules waits.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse

from benchsite import formatting
from benchsite.teams import notices
from benchsite.teams.models import NoticeKind
from reports.analysis.changes import NEARBY
from reports.histories import THROUGHPUT_METRIC, HistoryPoint, Metric, Said, followed
from reports.histories import History as Course
from reports.models import History, HistoryLook
from reports.queries.history import lately, metrics_of
from runs.models.run import Phase

log = logging.getLogger(__name__)
# Histories in one look; what has grown beside them is looked at in the next.
MAX_AT_ONCE: Final = 10
# Latencies of so many operations are followed, beside the throughput.
MAX_OPERATIONS: Final = 6
STATISTIC: Final = "p99"


@dataclass(frozen=True, slots=True)
class Found:
    """A change that nobody was told of."""

    metric: Metric
    said: Said


def look(most: int = MAX_AT_ONCE) -> int:
    """Look at histories that have grown, of the teams in which somebody asked; answers how many notices were made."""
    teams = notices.asked_for(NoticeKind.CHANGE_POINT)
    _forget_others(teams)
    if not teams:
        return 0
    grown = Q(look=None) | Q(look__runs__lt=F("runs")) | Q(look__last_at__lt=F("last_at"))
    rows = History.objects.filter(grown, team__in=teams, phase=Phase.MEASURE).select_related("team", "look")
    return sum(_look_at(row) for row in rows.order_by("last_at")[:most])


def _forget_others(teams: Collection[UUID]) -> None:
    """Where nobody asks any more it begins anew when somebody does; nor is there any look at what was deleted."""
    HistoryLook.objects.exclude(history__in=History.objects.filter(team__in=teams).values("pk")).delete()


def _look_at(row: History) -> bool:
    """Told is what is new since the last look. The first look tells nothing: nobody had asked when that happened."""
    before: HistoryLook | None = getattr(row, "look", None)
    known: dict[str, list[str]] = {}
    found: list[Found] = []
    for metric in _metrics(row):
        course = lately(row, metric)
        told = before.known.get(str(metric), []) if before else None
        new, known[str(metric)] = _news(course, told)
        found += [Found(metric, one) for one in new]
    with transaction.atomic():
        made = _note(row, found) if found else False
        said = {"runs": row.runs, "last_at": row.last_at, "known": known}
        HistoryLook.objects.update_or_create(history=row, defaults=said)
    return made


def _metrics(row: History) -> list[Metric]:
    """The throughput, and the p99 of each operation: response time under a target where it was measured."""
    tails = [one for one in metrics_of(row) if one.statistic == STATISTIC]
    kinds = ("response", "service") if row.target_ops_s else ("service", "response")
    names = list(dict.fromkeys(one.operation for one in tails))[:MAX_OPERATIONS]
    tails.sort(key=lambda one: kinds.index(one.kind))
    return [THROUGHPUT_METRIC, *(next(one for one in tails if one.operation == name) for name in names)]


def _news(course: Course, told: Sequence[str] | None) -> tuple[list[Said], list[str]]:
    """The changes of which nobody was told, and the runs at which changes are known from now on.

    A change moves a little as points are added: what lies near a known one is that one.
    """
    seen = followed(course.points)
    places = _places([course.points[index] for index in seen], told or ())
    changes = [one for one in course.changes if one.change.counts]
    new = [one for one in changes if not any(abs(one.change.index - at) <= NEARBY for at in places.values())]
    runs = [*places, *(str(one.point.first) for one in new)]
    return ([] if told is None else [one for one in new if one.triage is None]), runs


def _places(points: Sequence[HistoryPoint], runs: Sequence[str]) -> dict[str, int]:
    """Where the known runs are among the points; those that are too long ago are forgotten."""
    place_of = {str(run): index for index, point in enumerate(points) for run in point.runs}
    return {run: place_of[run] for run in runs if run in place_of}


def _note(row: History, found: Sequence[Found]) -> bool:
    # The throughput before all others; of latencies the one that changed most.
    first = max(found, key=lambda one: (one.metric == THROUGHPUT_METRIC, abs(one.said.change.relative or 0)))
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    metric = str(first.metric)
    query = "" if first.metric == THROUGHPUT_METRIC else f"?{urlencode({'metric': metric})}"
    made = notices.note(
        NoticeKind.CHANGE_POINT,
        row.team,
        subject=f"{row}: {_in_words(first)}{more}",
        text="\n".join(_line(one) for one in found),
        path=reverse("history-series", args=[row.config_key]) + query,
        data={
            "history": {"config_key": row.config_key, "name": str(row)},
            "changes": [_data(one) for one in found],
        },
        key=f"change_point:{row.pk}:{first.said.point.first}:{metric}",
    )
    return made is not None


def _in_words(found: Found) -> str:
    change = found.said.change
    by = f" {formatting.signed_percent(change.relative)}" if change.relative is not None else ""
    return f"{found.metric.label}{by}, {'better' if change.better else 'worse'}"


def _line(found: Found) -> str:
    change, text = found.said.change, found.metric.text
    since = found.said.point
    return f"{_in_words(found)}: {text(change.before)} → {text(change.after)} since {since.label} ({since.at:%Y-%m-%d})"


def _data(found: Found) -> Mapping[str, Any]:
    change, point = found.said.change, found.said.point
    run: UUID = point.first
    return {
        "metric": str(found.metric),
        "unit": "us" if found.metric.operation else "ops/s",
        "before": change.before,
        "after": change.after,
        "relative": change.relative,
        "better": change.better,
        "run": str(run),
        "commit": point.commit,
        "at": point.at.isoformat().replace("+00:00", "Z"),
    }
