"""Import: results that people bring along, recognised, completed and saved."""

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import counted
from benchsite.core.responses import get_posted
from runs.models import Run, Upload
from runs.results.duplicates import find_earlier
from runs.results.pages.lists import get_page
from runs.uploads import upload_lifecycle
from runs.uploads.form_data import FolderParser
from runs.uploads.forms import GroupingForm, ImportForm
from runs.uploads.messages import CANNOT_BE_MERGED, NO_THROUGHPUT, NOT_SELECTED, RUNS_LEFT, RUNS_SAVED
from runs.uploads.metadata import store_tests
from runs.uploads.processing import receive_files, work_at_once
from runs.uploads.recognition import FoundRun
from runs.uploads.upload_handlers import ReceivedFile, ReceivedFiles

State = Upload.State
BUSY = frozenset({State.RECEIVED, State.READING, State.COMPLETED, State.SAVING})


@csrf_exempt  # Only until it is settled where the files go: `_imports` checks the token, which reads the whole request.
@team_required("GET", "POST", role=Role.RUNNER)
def imports(request: HttpRequest) -> HttpResponseBase:
    """The page that takes files. GET shows the form and what is under way, POST takes the files."""
    handler = ReceivedFiles(request)
    request.upload_handlers = [handler]
    # A browser sends the files of a folder with their paths, which Django's own parser drops.
    request.parse_file_upload = lambda meta, body: FolderParser(meta, body, [handler]).parse()  # type: ignore[assignment,method-assign]
    return _imports(request, handler)


@csrf_protect
def _imports(request: HttpRequest, handler: ReceivedFiles) -> HttpResponseBase:
    if request.method != "POST":
        return _page(request)
    files = cast(list[ReceivedFile], request.FILES.getlist("files"))
    if handler.refused:
        return _page(request, handler.refused, 413)
    if not files:
        return _page(request, "Choose at least one file.", 422)
    upload = receive_files(get_team(request), get_user(request), [(file.name, file.content()) for file in files])
    return redirect("import", pk=upload.pk)


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    # What programs saved is among the runs: by the thousand it would hide what people wait for.
    rows = Upload.objects.exclude(~Q(manifest={}), state=State.SAVED)
    rows = rows.select_related("user").defer("recognised", "stated")
    page = get_page(request, rows.prefetch_related("files", "runs__sweep"), per_page=20)
    context = {
        "page": page,
        "problem": problem,
        "most_bytes": settings.MAX_UPLOAD_BYTES,
        "most_files": settings.MAX_UPLOAD_FILES,
    }
    return render(request, "runs/imports/list.html", context, status=status)


@team_required("GET", "POST", role=Role.RUNNER)
def upload(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """What was recognised, with the form that completes it; POST saves."""
    row = get_object_or_404(Upload.objects.select_related("user"), pk=pk)
    if request.method == "POST" and row.state != State.RECOGNISED:
        return redirect("import", pk=pk)  # A second click: the first one saves, or has saved.
    form = None
    if completable(row):
        form = ImportForm(get_posted(request), upload=row)
    if form is not None and form.is_bound and form.is_valid():
        return _save(request, row, form)
    return _show(request, row, form, GroupingForm(None, upload=row))


def _show(request: HttpRequest, row: Upload, form: ImportForm | None, regroup: GroupingForm) -> HttpResponse:
    files = row.recognised.get("files", ())
    unsaved, left = 0, ""
    if row.state == State.SAVED and not row.manifest:
        unsaved = sum(not run["error"] for run in _list_left(row))
        left = describe_left(row)
    refused = [file for file in files if file["error"]]
    context = {
        "upload": row, "form": form, "regroup": regroup, "busy": row.state in BUSY,
        "groupings": Upload.Grouping.choices,
        "runs": list_saved_runs(row),
        "unsaved": unsaved, "left": left, "is_rest": any(run.get("is_saved") for run in row.recognised.get("runs", ())),
        "refused": refused, "accepted": len(files) - len(refused), **_told(row),
    }  # fmt: skip
    is_refused = regroup.is_bound or (form is not None and form.is_bound)
    return render(request, "runs/imports/page.html", context, status=422 if is_refused else 200)


def describe_left(upload: Upload) -> str:
    """How many of the runs in its files were not saved, and why; empty where all were."""
    reasons = Counter(_why_left(run) for run in _list_left(upload))
    if not reasons:
        return ""
    texts = [reason.format(number=number) for reason, number in reasons.items()]
    return RUNS_LEFT.format(runs=counted(reasons.total(), "run"), reasons=", ".join(texts))


def _list_left(upload: Upload) -> list[FoundRun]:
    """Those that neither this import nor an earlier one of these files saved."""
    positions = set(upload.runs.values_list("position", flat=True))
    runs = enumerate(upload.recognised.get("runs", ()))
    return [run for number, run in runs if number not in positions and not run.get("is_saved")]


def _why_left(run: FoundRun) -> str:
    if run["error"]:
        return CANNOT_BE_MERGED
    return NOT_SELECTED if run["throughput_ops_s"] else NO_THROUGHPUT


def list_saved_runs(upload: Upload) -> Sequence[Run]:
    """The runs of the upload by their curves, with the names of their `files` and the first run of the same output."""
    rows = upload.runs.select_related("sweep").defer("spec").annotate(files=F("spec__stated__files"))
    runs = list(rows.order_by("sweep__name", "sweep_id", "position"))
    earlier = find_earlier(runs)
    for run in runs:
        run.duplicate_of = earlier.get(run)
    return runs


def completable(upload: Upload) -> bool:
    """Whether there is a run in it that could be saved."""
    return upload.state == State.RECOGNISED and any(not run["error"] for run in upload.recognised["runs"])


def _save(request: HttpRequest, upload: Upload, form: ImportForm) -> HttpResponseBase:
    if upload_lifecycle.complete(upload, store_tests(form.metadata())):
        work_at_once(upload)
    runs = list(upload.runs.order_by("position").only("pk", "name", "sweep"))
    if not runs:
        return redirect("import", pk=upload.pk)  # A worker saves it, or it could not be saved: that page says so.
    saved = RUNS_SAVED.format(runs=counted(len(runs), "run"), upload=upload)
    if len(runs) == 1:
        messages.success(request, f"{saved} {describe_left(upload)}".rstrip())
        return redirect("run", pk=runs[0].pk)
    messages.success(request, saved)
    return redirect("import", pk=upload.pk)


@team_required("GET", role=Role.RUNNER)
def upload_progress(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """How far its reader is; once it is done the whole page is asked for again."""
    upload = get_object_or_404(Upload.objects.defer("recognised", "stated"), pk=pk)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("import", pk=pk)
    if upload.state not in BUSY:
        response = HttpResponse()
        response["HX-Refresh"] = "true"
        return response
    return render(request, "runs/imports/progress.html", {"upload": upload, **_told(upload)})


def _told(upload: Upload) -> dict[str, object]:
    """How long it has been worked on, and how much of it is done."""
    began = upload.began_at if upload.claim else None
    return {
        "elapsed_s": (timezone.now() - began).total_seconds() if began else None,
        "share": upload.bytes_done / upload.bytes_total if upload.bytes_total else None,
        "kept_until": upload.created_at + upload_lifecycle.KEPT_FOR,
    }


@team_required("POST", role=Role.RUNNER)
def upload_group(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """Read it once more with its files grouped otherwise, or its dates read otherwise."""
    upload = get_object_or_404(Upload, pk=pk)
    form = GroupingForm(request.POST, upload=upload)
    if any(run.get("is_saved") for run in upload.recognised.get("runs", ())):
        return redirect("import", pk=pk)  # Grouped otherwise, what was saved before would be offered again.
    if not form.is_valid() and completable(upload):
        return _show(request, upload, ImportForm(None, upload=upload), form)
    if form.is_valid() and upload_lifecycle.regroup(upload, **form.cleaned_data):
        work_at_once(upload)
    return redirect("import", pk=pk)


@team_required("POST", role=Role.RUNNER)
def upload_rest(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """Import the runs of a saved upload that were not selected."""
    row = get_object_or_404(Upload, pk=pk)
    rest = upload_lifecycle.continue_with_rest(row, get_user(request))
    if rest is None:
        messages.info(request, "All runs of these files are saved.")
        return redirect("import", pk=pk)
    return redirect("import", pk=rest.pk)


@team_required("POST", role=Role.RUNNER)
def upload_discard(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """Forget it, whatever it waits for; saved runs stay."""
    upload = get_object_or_404(Upload, pk=pk)
    if upload_lifecycle.discard(upload):
        messages.success(request, "The import was discarded: nothing of it is kept.")
        return redirect("imports")
    messages.info(request, "It was saved before it could be discarded.")
    return redirect("import", pk=pk)
