"""Outputs of a matrix that is run by hand: brought, put in their places, looked at, and stored all at once."""

import uuid

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import team_of, team_required, user_of
from runs.models import Matrix, Upload
from runs.models.run import Status
from runs.uploading import upload_lifecycle
from runs.uploading.processing import receive_files, work_at_once
from runs.uploading.upload_handlers import MAX_BYTES, MAX_FILES, ImportedFiles
from runs.views.imports import BUSY


@csrf_exempt  # Only until it is settled where the files go: `_outputs` checks the token.
@team_required("GET", "POST", role=Role.RUNNER)
def outputs(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The page that takes the outputs of a kit, with what still waits for them."""
    handler = ImportedFiles(request)
    request.upload_handlers = [handler]
    matrix = get_object_or_404(Matrix, pk=pk)
    if not matrix.by_hand:
        raise Http404
    return _outputs(request, matrix, handler)


@csrf_protect
def _outputs(request: HttpRequest, matrix: Matrix, handler: ImportedFiles) -> HttpResponseBase:
    problem = ""
    if request.method == "POST":
        files: list[UploadedFile[bytes]] = request.FILES.getlist("files")
        problem = handler.refused or ("" if files else "Choose the outputs, or a zip of them.")
        if not problem:
            upload = receive_files(matrix.team, user_of(request), [(file.name or "", file) for file in files], matrix)
            return redirect("matrix-outputs-brought", pk=matrix.pk, upload=upload.pk)
    runs = matrix.runs.order_by("position").only("name", "status", "position", "spec", "phase", "verdict")
    context = {
        "matrix": matrix, "problem": problem, "most_bytes": MAX_BYTES, "most_files": MAX_FILES,
        "waiting": [run for run in runs if run.status == Status.QUEUED],
        "uploads": matrix.uploads.select_related("user").defer("recognised", "stated")[:20],
    }  # fmt: skip
    return render(request, "runs/matrices/outputs.html", context, status=422 if problem else 200)


@team_required("GET", "POST", role=Role.RUNNER)
def outputs_brought(request: HttpRequest, pk: uuid.UUID, upload: uuid.UUID) -> HttpResponse | HttpResponseBase:
    """Every file in its place, or what is wrong; POST stores all of it, or drops it."""
    row = get_object_or_404(Upload.objects.select_related("matrix", "user"), pk=upload)
    if row.matrix is None or row.matrix_id != pk:
        raise Http404
    if request.method == "POST" and "discard" in request.POST:
        if upload_lifecycle.discard(row):
            messages.success(request, "The outputs were dropped: nothing of them is kept.")
        return redirect("matrix-outputs", pk=pk)
    placed = row.recognised.get("outputs", {})
    if request.method == "POST" and placed and not placed["problems"] and upload_lifecycle.complete(row, {}):
        work_at_once(row)
        row.refresh_from_db()
        if row.state == Upload.State.SAVED:
            messages.success(request, f"{len(placed['cells'])} cells are filled and judged.")
            return redirect("matrix", pk=pk)
        return redirect("matrix-outputs-brought", pk=pk, upload=upload)
    context = {"matrix": row.matrix, "upload": row, "placed": placed, "busy": row.state in BUSY}
    return render(request, "runs/matrices/brought.html", context | {"team": team_of(request)})
