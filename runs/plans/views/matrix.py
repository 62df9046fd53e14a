"""The page of a submitted matrix: the grid filling in, and what can be done with it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts.models import User
from benchsite.accounts.permissions import get_user, team_required
from benchsite.core.formatting import counted
from runs.catalog import Mode, load_catalog
from runs.checks.short_windows import find_min_window_s
from runs.models import Matrix, Phase, Provisioner, Run, RunEvent, Status
from runs.plans import PlanError, start_trial, submit
from runs.plans.pages.matrix import matrix_page, read_version
from runs.plans.pages.trial import get_newest_trial
from runs.plans.submission import clone
from runs.queue import lifecycle, live
from runs.queue.pages.queue import last_of_lanes, queue
from runs.queue.spec_corrections import REPLACED
from runs.results import annotations
from runs.results.views.row_actions import row_action

# The sparkline of what runs now needs no more than the last minute or so of a handful of clients.
NEWEST_ENTRIES = 600
MAX_COPIED_NAME = 100  # characters of a matrix's name in that of its copy
NOTHING_SUBMITTED = "Nothing was submitted. "


def _matrix_or_404(pk: UUID) -> Matrix:
    return get_object_or_404(Matrix.objects.select_related("team", "created_by", "trial_of"), pk=pk)


@team_required("GET")
def matrix(request: HttpRequest, pk: UUID) -> HttpResponse:
    matrix = _matrix_or_404(pk)
    return render(request, "runs/matrix.html", _context(request, matrix) | {"own_servers": _list_own_servers(matrix)})


def _list_own_servers(matrix: Matrix) -> list[dict[str, object]]:
    """What their checks tell of the servers that Benchsite does not start: database, mode, processes that are known."""
    servers: list[dict[str, object]] = []
    entries = matrix.entries.filter(database__cluster__provisioner=Provisioner.EXTERNAL)
    for entry in entries.select_related("database").prefetch_related("database__cluster__nodes"):
        database = entry.database
        system = load_catalog().systems.get(database.system)
        modes: Mapping[str, Mode] = {}
        if system:
            modes = system.with_client(database.flavour).with_own_modes(database.own_modes).modes
        programs = [node.program for node in database.cluster.nodes.all() if node.program]
        servers.append({"database": database, "system": system, "mode": modes.get(entry.mode), "programs": programs})
    return servers


@team_required("GET")
def matrix_live(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """The grid and the progress anew. Of a finished matrix everything, and nothing where the page shows the present
    version.
    """
    matrix = _matrix_or_404(pk)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("matrix", pk=pk)
    version = request.GET.get("version")
    if version and version == read_version(matrix):
        return HttpResponse(status=204)
    context = _context(request, matrix)
    changed = bool(version) or request.GET.get("seen") != context["progress"].status
    return render(
        request, "runs/matrix/live.html", context | {"oob": True, "changed": changed, "was_finished": bool(version)}
    )


def _context(request: HttpRequest, matrix: Matrix) -> dict[str, Any]:
    page = matrix_page(matrix, queue(last_of_lanes(matrix)).rows)
    return {
        "matrix": matrix,
        "page": page,
        "progress": page["progress"],
        "now": [(run, live.read(run.pk, newest=NEWEST_ENTRIES)) for run in page["now"]],
        "trial": get_newest_trial(matrix),
    }


@row_action(Matrix, PlanError, prefix=NOTHING_SUBMITTED)
def matrix_submit(request: HttpRequest, matrix: Matrix) -> None:
    """A plan that waits: submits it, or a trial run of it, by the button that was pressed."""
    if "trial" in request.POST:
        start_trial(matrix, get_user(request))
        messages.success(request, "A trial run was put in the queue.")
    else:
        submit(matrix, get_user(request))
        messages.success(request, "The runs were put in the queue.")


@row_action(Matrix)
def matrix_cancel(request: HttpRequest, matrix: Matrix) -> None:
    cancelled = lifecycle.request_cancel_matrix(matrix, get_user(request))
    messages.info(
        request,
        f"{cancelled} runs of “{matrix.name}” are cancelled or cancelling."
        if cancelled
        else "Nothing was left to cancel.",
    )


def _count_with_loads(measured: int) -> str:
    """The progress above counts load phases too, so the message beside it names them."""
    return f"{counted(measured, 'measured run')}, and the load phases that they need"


@row_action(Matrix)
def matrix_resume(request: HttpRequest, matrix: Matrix) -> None:
    kinds = {kind: kind in request.POST for kind in ("skipped", "rejected")}
    added = lifecycle.resume(matrix, get_user(request), **kinds)
    if added:
        messages.success(request, f"Queued: {_count_with_loads(added)}.")
    else:
        messages.info(request, "Nothing is missing: every point has succeeded or is still to come.")


@row_action(Matrix, PlanError, prefix=NOTHING_SUBMITTED)
@transaction.atomic
def matrix_replace(request: HttpRequest, matrix: Matrix) -> HttpResponseBase:
    """Submits the same plan with the databases as they are now; the runs that failed name the matrix."""
    user = get_user(request)
    failed = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE, status=Status.FAILED, reruns__isnull=True)
    copy = _submit_copy(matrix, user, "corrected")
    RunEvent.objects.bulk_create(
        RunEvent(run=run, kind=REPLACED, new=str(copy.pk), actor=user.get_username(), text=f"By “{copy.name}”.")
        for run in failed
    )
    messages.success(request, "Submitted with the settings of today. The runs that failed name this matrix.")
    return redirect("matrix", pk=copy.pk)


def _submit_copy(matrix: Matrix, user: User, suffix: str, **changes: Any) -> Matrix:
    """The same plan with `changes`. Raises PlanError; the caller holds the transaction."""
    copy = clone(matrix, name=f"{matrix.name[:MAX_COPIED_NAME]}, {suffix}", by=user, **changes)
    submit(copy, user)
    return copy


@row_action(Matrix, PlanError, prefix=NOTHING_SUBMITTED)
@transaction.atomic
def matrix_lengthen(request: HttpRequest, matrix: Matrix) -> HttpResponseBase:
    """Submits the same plan with the shortest window that V05 does not reject."""
    seconds = max(find_min_window_s(matrix.team_id, matrix.purpose), matrix.min_measure_s)
    window = {"min_measure_s": seconds, "max_measure_s": max(seconds, matrix.max_measure_s)}
    copy = _submit_copy(matrix, get_user(request), f"{seconds} s", **window)
    messages.success(request, f"Submitted: the same plan, measured for {seconds} s.")
    return redirect("matrix", pk=copy.pk)


@row_action(Matrix, annotations.AnnotationRefused)
def matrix_accept(request: HttpRequest, matrix: Matrix) -> None:
    """Count every rejected run of the matrix, with one written reason."""
    with transaction.atomic():
        for run in lifecycle.rejected_runs(matrix).order_by("pk"):
            annotations.override(run, get_user(request), request.POST.get("reason", ""))
    messages.success(request, "The rejected runs count, marked and with your reason. No headline uses them.")


@row_action(Matrix)
def matrix_add_repeats(request: HttpRequest, matrix: Matrix) -> None:
    look = request.POST.get("look", "")
    added = 0
    if look.isdecimal():
        added = lifecycle.add_repeats(matrix, int(look), get_user(request))
    if added:
        messages.success(request, f"Queued, up to the look after {look} repeats: {_count_with_loads(added)}.")
    else:
        messages.info(request, "No repeats were added: they are in the queue already, or the plan has no such look.")


@row_action(Matrix, annotations.AnnotationRefused)
def matrix_notes(request: HttpRequest, matrix: Matrix) -> None:
    annotations.set_matrix_notes(matrix, request.POST.get("notes", ""))
    messages.success(request, "The notes are saved.")


@row_action(Matrix)
def matrix_archive(request: HttpRequest, matrix: Matrix) -> None:
    """Leave it out of lists, or put it back into them."""
    archived_at = None
    if not matrix.archived_at:
        archived_at = Now()
    Matrix.objects.filter(pk=matrix.pk).update(archived_at=archived_at)
