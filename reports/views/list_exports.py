"""The .csv and .json twins of the lists of sweeps and of histories: the same filter, the numbers of the page."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.curves import Curve
from reports.ladder_text import ladder_says
from reports.models import History
from reports.queries import SweepFilter, outlines
from reports.queries.histories import HistoryFilter, HistoryLine, history_lines
from runs.models import Sweep
from runs.views.pagination import MAX_ROWS
from runs.views.table_exports import twin

AT_ONCE: Final = 100  # rows whose numbers are worked out together
SWEEP_COLUMNS: Final = (
    "id", "name", "matrix", "database", "version", "system", "mode", "write_waits_for", "workload", "cluster", "nodes",
    "purpose", "phase", "ladder", "ceiling_ops_s", "ceiling_is_lower_bound", "ceiling_status", "ceiling_says",
    "runs", "runs_succeeded", "runs_failed", "tags", "notes", "created_at",
)  # fmt: skip
HISTORY_COLUMNS: Final = (
    "config_key", "system", "database", "mode", "workload", "cluster", "phase", "threads", "target_ops_s", "runs",
    "newest_throughput_ops_s", "newest_at", "last_change", "last_change_at", "last_change_state",
)  # fmt: skip
M = TypeVar("M", bound=Model)


@require_GET
@team_required
def sweeps_twin(request: HttpRequest, form: str) -> StreamingHttpResponse:
    rows = SweepFilter.from_query(request.GET).apply(team_of(request)).select_related("matrix", "workload", "database")

    def lines(some: Sequence[Sweep]) -> Iterator[list[Any]]:
        return map(_sweep_row, some, outlines(some))

    return twin(form, "sweeps", SWEEP_COLUMNS, _by_and_by(rows, lines))


@require_GET
@team_required
def histories_twin(request: HttpRequest, form: str) -> StreamingHttpResponse:
    team = team_of(request)
    rows = HistoryFilter.from_query(request.GET).apply(team)

    def lines(some: Sequence[History]) -> Iterator[list[Any]]:
        keys = [row.pk for row in some]
        by_row = {line.row.pk: line for line in history_lines(team, History.objects.filter(pk__in=keys))}
        return (_history_row(by_row[key]) for key in keys if key in by_row)

    return twin(form, "histories", HISTORY_COLUMNS, _by_and_by(rows, lines))


def _by_and_by(rows: QuerySet[M], lines: Callable[[Sequence[M]], Iterator[list[Any]]]) -> Iterator[list[Any]]:
    """As many rows as the list pages through, some at a time."""
    waiting = rows[:MAX_ROWS].iterator(AT_ONCE)
    while some := list(islice(waiting, AT_ONCE)):
        yield from lines(some)


def _sweep_row(sweep: Sweep, curve: Curve) -> list[Any]:
    ceiling, progress = curve.ceiling, curve.progress
    return [
        sweep.pk, sweep.name, sweep.matrix.name if sweep.matrix else "", sweep.database_name, sweep.version,
        sweep.system, sweep.mode, curve.promise, sweep.workload_name, sweep.cluster_name, sweep.nodes, sweep.purpose,
        sweep.phase, sweep.ladder, ceiling.throughput_ops_s if ceiling else None,
        ceiling.is_lower_bound if ceiling else None, ceiling.status.value if ceiling else "",
        ladder_says(ceiling) if ceiling else "", progress.runs, progress.succeeded, progress.failed, sweep.tags,
        sweep.notes, sweep.created_at,
    ]  # fmt: skip


def _history_row(line: HistoryLine) -> list[Any]:
    row, newest, last = line.row, line.newest, line.last_change
    return [
        row.config_key, row.system, row.database_name, row.mode, row.workload_name, row.cluster_name, row.phase,
        row.threads, row.target_ops_s, row.runs, newest.value if newest else None, row.last_at,
        last.change.relative if last else None, last.point.label if last else "", last.state if last else "",
    ]  # fmt: skip
