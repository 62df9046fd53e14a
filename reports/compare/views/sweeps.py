"""The list of sweeps and the page of one sweep."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Model, OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import counted
from benchsite.core.table import Columns, or_empty
from reports.compare.curves import Curve, collect_operations
from reports.compare.figures.captions import KIND_SAYS, list_notes
from reports.compare.ladder_text import ladder_says
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.charts import MAX_OPERATIONS, figure_link
from reports.compare.pages.ladder import choose_next_loads
from reports.compare.queries import (
    SweepFilter,
    curves,
    last_evidence,
    offer_choices,
    outlines,
    rung_rows,
    session_spreads,
)
from reports.compare.queries.sweep_list import MAX_BY_CEILING
from reports.compare.selection import Selection
from reports.models import History
from reports.trends.queries.histories import HistoryFilter, HistoryLine, history_lines
from runs.models import Matrix, Run, Status, Sweep
from runs.plans.extension import ExtensionRefused, extend
from runs.plans.pages.search import search_path, search_rows
from runs.results import annotations
from runs.results.pages.durability import durability_sentence
from runs.results.pages.lists import MAX_ROWS, export, get_page
from runs.results.pages.run_list import SERVER_VERSION
from runs.results.views.row_actions import row_action

AT_ONCE: Final = 100  # rows whose numbers are worked out together


class SweepLine(NamedTuple):
    sweep: Sweep
    curve: Curve


SWEEP_COLUMNS: Columns = {
    "id": "sweep.pk",
    "name": "sweep.name",
    "matrix": or_empty("sweep.matrix.name"),
    "commit": "curve.commit",
    "branch": "curve.branch",
    "database": "sweep.database_name",
    "version": "sweep.server_version",
    "system": "sweep.system",
    "mode": "sweep.mode",
    "write_waits_for": "curve.promise",
    "workload": "sweep.workload_name",
    "cluster": "sweep.cluster_name",
    "nodes": "sweep.nodes",
    "purpose": "sweep.purpose",
    "phase": "sweep.phase",
    "ladder": "sweep.ladder",
    "ceiling_ops_s": "curve.ceiling.throughput_ops_s",
    "ceiling_is_lower_bound": "curve.ceiling.is_lower_bound",
    "ceiling_status": or_empty("curve.ceiling.status.value"),
    "ceiling_says": lambda line: ladder_says(line.curve.ceiling) if line.curve.ceiling else "",
    "runs": "curve.progress.runs",
    "runs_succeeded": "curve.progress.succeeded",
    "runs_failed": "curve.progress.failed",
    "tags": "sweep.tags",
    "notes": "sweep.notes",
    "created_at": "sweep.created_at",
}
HISTORY_COLUMNS: Columns = {
    "config_key": "row.config_key",
    "system": "row.system",
    "database": "row.database_name",
    "mode": "row.mode",
    "workload": "row.workload_name",
    "cluster": "row.cluster_name",
    "phase": "row.phase",
    "threads": lambda line: line.row.threads or None,  # 0: an upload does not tell
    "target_ops_s": "row.target_ops_s",
    "runs": "row.runs",
    "newest_throughput_ops_s": "history.newest.value",
    "newest_at": "row.last_at",
    "last_change": "history.last_change.relative",
    "last_change_at": or_empty("history.last_change.point.label"),
    "last_change_state": or_empty("history.last_change.state"),
}
M = TypeVar("M", bound=Model)


@team_required("GET")
def sweeps_export(request: HttpRequest, form: str) -> StreamingHttpResponse:
    rows = SweepFilter(request.GET).apply(get_team(request)).select_related("matrix", "workload", "database")
    answers = Run.objects.filter(sweep=OuterRef("pk"), evidence__has_key="server_version").order_by("-finished_at")
    newest = Subquery(answers.values(answer=SERVER_VERSION)[:1])
    rows = rows.annotate(server_version=Coalesce(newest, "version", output_field=TextField()))
    return export(form, "sweeps", SWEEP_COLUMNS, _by_and_by(rows, _sweep_lines))


@team_required("GET")
def histories_export(request: HttpRequest, form: str) -> StreamingHttpResponse:
    team = get_team(request)
    rows = HistoryFilter(request.GET).apply(team)

    def lines(some: Sequence[History]) -> Iterator[HistoryLine]:
        keys = [row.pk for row in some]
        by_row = {line.row.pk: line for line in history_lines(team, History.objects.filter(pk__in=keys))}
        return (by_row[key] for key in keys if key in by_row)

    return export(form, "histories", HISTORY_COLUMNS, _by_and_by(rows, lines))


def _sweep_lines(rows: Sequence[Sweep]) -> Iterator[SweepLine]:
    return map(SweepLine, rows, outlines(rows))


def _by_and_by(rows: QuerySet[M], lines: Callable[[Sequence[M]], Iterator[object]]) -> Iterator[object]:
    """As many rows as the list pages through, some at a time."""
    waiting = rows[:MAX_ROWS].iterator(AT_ONCE)
    while some := list(islice(waiting, AT_ONCE)):
        yield from lines(some)


@team_required("GET")
def sweeps(request: HttpRequest) -> HttpResponseBase:
    team = get_team(request)
    chosen = SweepFilter(request.GET)
    sort = chosen.values["sort"]
    rows = chosen.apply(team).select_related("matrix", "workload", "database")
    page = get_page(request, rows)
    is_sortable = page.paginator.count <= MAX_BY_CEILING
    if is_sortable and sort in ("highest", "lowest"):
        ordered = _by_ceiling(list(rows), falls=sort == "highest")
        page.object_list = ordered[max(page.start_index() - 1, 0) : page.end_index()]

    offer_choices(chosen, team)
    lines = list(_sweep_lines(list(page.object_list)))
    context = {"filter": chosen, "sorts_by_ceiling": is_sortable, "page": page, "rows": lines}
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
        "next_step": plain_text("sweep/next_loads.txt", loads=choose_next_loads(curve)),
        "durability": durability_sentence(curve.durability),
        "evidence": last_evidence(row),
        "warnings": [text for _, text in list_notes([curve])],
        "search": search_path(row),
        "compare_url": reverse("compare") + Selection(sweeps=(pk,)).query(),
        "overload_url": _overload_url(row, curve),
    }
    return render(request, "reports/sweep.html", context)


def _overload_url(row: Sweep, curve: Curve) -> str:
    """The builder with an open load around the ceiling; empty without one, or where its client cannot offer that."""
    own = row.database is not None and row.database.flavour == row.database.Flavour.BENCHSITE
    if not own or curve.ceiling is None or curve.ceiling.throughput_ops_s < 1 or row.workload is None:
        return ""
    threads = max(curve.ceiling.threads, max(point.threads for point in curve.points))
    start = {
        "entry": f"{row.database_id}:{row.mode}",
        "workload": row.workload_id,
        "ceiling": round(curve.ceiling.throughput_ops_s),
        "threads": threads,
    }
    return f"{reverse('matrix-add')}?{urlencode(start)}"


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
    loads = ", ".join(dict.fromkeys(str(run.load) for run in added))
    messages.success(request, f"{counted(len(added), 'run')} at {loads} were put in the queue.")


@row_action(Sweep, annotations.AnnotationRefused)
def annotate(request: HttpRequest, row: Sweep) -> None:
    """Replace a sweep's tags and notes."""
    tags = annotations.parse_tags(request.POST.get("tags", ""))
    annotations.describe_sweep(row, tags, request.POST.get("notes", ""))
    messages.success(request, "Tags and notes are saved.")
