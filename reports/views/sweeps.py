"""The list of sweeps and the page of one sweep."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from benchsite.formatting import counted
from benchsite.teams.models import Role
from benchsite.teams.permissions import has_role, owned_or_404, role_required, team_of, team_required, user_of
from reports.analysis.sessions import SessionSpread
from reports.curves import Curve, operations_of
from reports.figures.captions import KIND_SAYS, notes_of
from reports.ladder_text import ceiling_notes, ceiling_sentence, knee_sentence, progress_sentence, variation_sentence
from reports.pages.charts import MAX_OPERATIONS, figure_link
from reports.pages.exclusions import effect_sentence
from reports.pages.ladder import LadderPage, ladder_page
from reports.queries import (
    SweepFilter,
    curves,
    last_evidence,
    outlines,
    rung_rows,
    session_spreads,
    sweep_choices,
    sweeps_of,
)
from reports.selection import Selection
from runs import annotations
from runs.catalog import Durability
from runs.extension import ExtensionRefused, extend
from runs.models import Matrix
from runs.models.plan import Purpose
from runs.models.run import Phase, Status
from runs.pages.search import search_path, search_rows
from runs.views.pagination import page_of

PER_PAGE = 50


@require_GET
@team_required
def sweeps(request: HttpRequest) -> HttpResponseBase:
    team, wanted = team_of(request), SweepFilter.from_query(request.GET)
    rows = wanted.apply(team).select_related("matrix", "workload", "database")
    page = page_of(request, rows, PER_PAGE)
    listed = list(page.object_list)
    context = {
        "filter": wanted,
        "page": page,
        "rows": [{"sweep": sweep, "curve": curve} for sweep, curve in zip(listed, outlines(listed), strict=True)],
        "choices": sweep_choices(team),
        "purposes": Purpose.choices,
        "phases": [*Phase.choices, ("any", "both")],
        "sorts": ["newest", "oldest", "name"],
        "nothing_at_all": not listed and not wanted.active,
    }
    return render(request, "reports/sweeps.html", context)


@require_GET
@team_required
def sweep(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    rows = sweeps_of(team_of(request)).select_related("matrix", "workload", "database")
    row = owned_or_404(rows, request, pk)
    curve = curves([row])[0]
    operations, ladder = operations_of([curve]), ladder_page(curve)
    floor = session_spreads(team_of(request), [row.cluster_name]).get(row.cluster_name)
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
        "sentences": sentences_of(curve, ladder, floor),
        "ladder": ladder,
        "durability": durability_sentence(curve),
        "evidence": last_evidence(row),
        "warnings": notes_of([curve]),
        "search": search_path(row),
        "can_run": has_role(request, Role.RUNNER),
        "compare_url": reverse("compare") + Selection(sweeps=(pk,)).query(),
    }
    return render(request, "reports/sweep.html", context)


@require_GET
@team_required
def matrix_searches(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The panel of a matrix that searches, which its page fetches: each search, and the ceiling of its sweep."""
    matrix = owned_or_404(Matrix.objects.filter(search__isnull=False), request, pk)
    rows = search_rows(matrix)
    by_sweep = {curve.sweep_id: curve for curve in outlines(sweeps_of(team_of(request)).filter(matrix=matrix))}
    context = {
        "matrix": matrix,
        "rows": [{**row, "curve": by_sweep.get(row["sweep"].pk)} for row in rows],
        "is_active": matrix.runs.filter(status__in=Status.unfinished()).exists(),
    }
    return render(request, "reports/matrix_searches.html", context)


def sentences_of(curve: Curve, ladder: LadderPage, floor: SessionSpread | None) -> list[str]:
    """What the ladder shows, in the order in which it is read; empty sentences are left out."""
    sentences = [
        ceiling_sentence(curve.ceiling),
        variation_sentence(curve, floor),
        *ceiling_notes(curve.ceiling),
        effect_sentence(curve),
        knee_sentence(curve.knee, curve.ceiling),
        ladder.confidence,
        ladder.next_step,
        progress_sentence(curve),
    ]
    return [sentence for sentence in sentences if sentence]


def durability_sentence(curve: Curve) -> str:
    """The typed record in plain words; empty where an older or foreign record cannot be read."""
    try:
        return Durability.from_dict(curve.durability).sentence() if curve.durability else ""
    except (ValueError, TypeError):
        return ""


@require_POST
@role_required(Role.RUNNER)
def extend_sweep(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """Queue two more rungs where they tell most of the ceiling."""
    row = owned_or_404(sweeps_of(team_of(request)), request, pk)
    try:
        added = extend(row, user_of(request))
    except ExtensionRefused as refused:
        messages.error(request, str(refused))
    else:
        loads = ", ".join(dict.fromkeys(str(run.target_ops_s or run.threads) for run in added))
        messages.success(request, f"{counted(len(added), 'run')} at {loads} are in the queue.")
    return redirect("sweep", pk=pk)


@require_POST
@role_required(Role.RUNNER)
def annotate(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """Replace a sweep's tags and notes."""
    row = owned_or_404(sweeps_of(team_of(request)), request, pk)
    try:
        tags = annotations.parse_tags(request.POST.get("tags", ""))
        annotations.describe_sweep(row, tags, request.POST.get("notes", ""))
    except annotations.AnnotationRefused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, "Tags and notes are saved.")
    return redirect("sweep", pk=pk)
