"""The list of sweeps and the page of one sweep."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import counted
from reports.compare.curves import Curve, collect_operations
from reports.compare.figures.captions import KIND_SAYS, collect_notes
from reports.compare.ladder_text import ladder_says
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.charts import MAX_OPERATIONS, figure_link
from reports.compare.pages.exclusions import effect_sentence
from reports.compare.pages.ladder import choose_next_loads
from reports.compare.queries import (
    SweepFilter,
    curves,
    last_evidence,
    outlines,
    rung_rows,
    session_spreads,
    sweep_choices,
)
from reports.compare.queries.sweep_list import MAX_BY_CEILING
from reports.compare.selection import Selection
from reports.models import History
from reports.trends.queries.histories import HistoryFilter, HistoryLine, history_lines
from runs.models import Matrix, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase, Status
from runs.plans.extension import ExtensionRefused, extend
from runs.plans.pages.search import search_path, search_rows
from runs.results import annotations
from runs.results.pages.durability import durability_sentence
from runs.results.pages.lists import MAX_ROWS, get_page, twin
from runs.results.views.row_actions import row_action

AT_ONCE: Final = 100  # rows whose numbers are worked out together
SWEEP_COLUMNS: Final = (
    "id", "name", "matrix", "commit", "branch", "database", "version", "system", "mode", "write_waits_for", "workload",
    "cluster", "nodes",
    "purpose", "phase", "ladder", "ceiling_ops_s", "ceiling_is_lower_bound", "ceiling_status", "ceiling_says",
    "runs", "runs_succeeded", "runs_failed", "tags", "notes", "created_at",
)  # fmt: skip
HISTORY_COLUMNS: Final = (
    "config_key", "system", "database", "mode", "workload", "cluster", "phase", "threads", "target_ops_s", "runs",
    "newest_throughput_ops_s", "newest_at", "last_change", "last_change_at", "last_change_state",
)  # fmt: skip
M = TypeVar("M", bound=Model)
PER_PAGE = 50


@team_required("GET")
def sweeps_twin(request: HttpRequest, form: str) -> StreamingHttpResponse:
    rows = SweepFilter.from_query(request.GET).apply(get_team(request)).select_related("matrix", "workload", "database")

    def lines(some: Sequence[Sweep]) -> Iterator[list[Any]]:
        return map(_sweep_row, some, outlines(some))

    return twin(form, "sweeps", SWEEP_COLUMNS, _by_and_by(rows, lines))


@team_required("GET")
def histories_twin(request: HttpRequest, form: str) -> StreamingHttpResponse:
    team = get_team(request)
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
        sweep.pk, sweep.name, sweep.matrix.name if sweep.matrix else "", curve.commit, curve.branch,
        sweep.database_name, sweep.version,
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


@team_required("GET")
def sweeps(request: HttpRequest) -> HttpResponseBase:
    team, wanted = get_team(request), SweepFilter.from_query(request.GET)
    rows = wanted.apply(team).select_related("matrix", "workload", "database")
    page = get_page(request, rows, PER_PAGE)
    is_sortable = page.paginator.count <= MAX_BY_CEILING
    if is_sortable and wanted.sort in ("highest", "lowest"):
        ordered = _by_ceiling(list(rows), falls=wanted.sort == "highest")
        page.object_list = ordered[max(page.start_index() - 1, 0) : page.end_index()]
    listed = list(page.object_list)
    context = {
        "filter": wanted,
        "sorts_by_ceiling": is_sortable,
        "page": page,
        "rows": [{"sweep": sweep, "curve": curve} for sweep, curve in zip(listed, outlines(listed), strict=True)],
        "choices": sweep_choices(team),
        "purposes": Purpose.choices,
        "phases": [*Phase.choices, ("any", "both")],
        "nothing_at_all": not listed and not wanted.active,
    }
    return render(request, "reports/sweeps.html", context)


def _by_ceiling(rows: Sequence[Sweep], *, falls: bool) -> list[Sweep]:
    """Those without a ceiling last, the newest first among equals."""
    ceilings = {curve.sweep_id: curve.ceiling_ops_s for curve in outlines(rows) if curve.ceiling}
    return sorted(rows, key=lambda row: (row.pk not in ceilings, ceilings.get(row.pk, 0.0) * (-1 if falls else 1)))


@team_required("GET")
def sweep(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    rows = Sweep.objects.select_related("matrix", "workload", "database")
    row = get_object_or_404(rows, pk=pk)
    curve = curves([row])[0]
    operations = collect_operations([curve])
    context = {
        "sweep": row,
        "curve": curve,
        "rungs": rung_rows(row, curve),
        "operations": operations,
        "throughput": figure_link("Throughput over the ladder", "figure-sweep", pk, curves=[curve]),
        "latencies": [
            figure_link(
                f"{operation} p99, {KIND_SAYS[curve.latency_kind]}, against throughput",
                "figure-latency",
                query=Selection(sweeps=(pk,), operation=operation).query(),
                curves=[curve],
            )
            for operation in operations[:MAX_OPERATIONS]
        ],
        "floor": session_spreads(get_team(request), [row.cluster_name]).get(row.cluster_name),
        "is_single": all(point.throughput_ops_s.n == 1 for point in curve.points),
        "effect": effect_sentence(curve),
        "next_step": plain_text("sweep/next_loads.txt", loads=choose_next_loads(curve)),
        "durability": durability_sentence(curve.durability),
        "evidence": last_evidence(row),
        "warnings": collect_notes([curve]),
        "search": search_path(row),
        "compare_url": reverse("compare") + Selection(sweeps=(pk,)).query(),
    }
    return render(request, "reports/sweep.html", context)


@team_required("GET")
def matrix_searches(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The panel of a matrix that searches, which its page fetches: each search, and the ceiling of its sweep."""
    matrix = get_object_or_404(Matrix.objects.filter(search__isnull=False), pk=pk)
    rows = search_rows(matrix)
    by_sweep = {curve.sweep_id: curve for curve in outlines(Sweep.objects.filter(matrix=matrix))}
    context = {
        "matrix": matrix,
        "rows": [{**row, "curve": by_sweep.get(row["sweep"].pk)} for row in rows],
        "is_active": matrix.runs.filter(status__in=Status.unfinished()).exists(),
    }
    return render(request, "reports/matrix_searches.html", context)


@row_action(Sweep, ExtensionRefused)
def extend_sweep(request: HttpRequest, row: Sweep) -> None:
    """Queue two more rungs where they tell most of the ceiling."""
    added = extend(row, get_user(request))
    loads = ", ".join(dict.fromkeys(str(run.target_ops_s or run.threads) for run in added))
    messages.success(request, f"{counted(len(added), 'run')} at {loads} are in the queue.")


@row_action(Sweep, annotations.AnnotationRefused)
def annotate(request: HttpRequest, row: Sweep) -> None:
    """Replace a sweep's tags and notes."""
    tags = annotations.parse_tags(request.POST.get("tags", ""))
    annotations.describe_sweep(row, tags, request.POST.get("notes", ""))
    messages.success(request, "Tags and notes are saved.")
