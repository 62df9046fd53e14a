"""The pages that ask before something is deleted, and the list of what can be restored."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.module_loading import import_string

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, has_role, team_required
from runs.identifiers import parse_uuid
from runs.models import Artifact, Deletion, Matrix, Phase, Run, Schedule, Sweep, Upload
from runs.results import deletion
from runs.results.deletion import MAX_AT_ONCE, DeletionRefused, ForgetRefused, RestoreRefused, Selection
from runs.results.pages.lists import get_page
from runs.results.pages.run_list import HEAVY, RunFilter

SHOWN: Final = 5
SHOWN_RUNS: Final = 20
# Kinds of rows whose pages have other names than they.
PAGES: Final = {str(Upload._meta.verbose_name): "import"}
COUNTED: Final = (Run, Sweep, Schedule, Upload, Artifact)


def blockers(rows: Iterable[Model]) -> list[dict[str, object]]:
    """Rows that need something, by kind, with how many there are and the first names."""
    by_kind: dict[tuple[str, str], set[str]] = {}
    for blocker in rows:
        owner = deletion.get_owner(blocker)
        words = (str(owner._meta.verbose_name), str(owner._meta.verbose_name_plural))
        by_kind.setdefault(words, set()).add(str(owner))

    return [
        {
            "kind": singular if len(names) == 1 else plural,
            "count": len(names),
            "names": sorted(names)[:SHOWN],
            "more": max(len(names) - SHOWN, 0),
        }
        for (singular, plural), names in sorted(by_kind.items())
    ]


def delete_page(request: HttpRequest, row: Model) -> HttpResponse:
    """GET asks, POST deletes and goes to the list of its kind. A row that something needs stays, with the reasons.

    The addresses of its page and of the list have the name of the model.
    """
    return _delete_page(request, Selection([row]))


@team_required("GET", "POST", role=Role.ADMIN)
def matrix_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A matrix with its runs and, where they are ticked, with the things that only it uses."""
    matrix = get_object_or_404(Matrix, pk=pk)
    parts = deletion.find_exclusive_parts(matrix)
    ticked = request.POST.getlist("part")
    chosen = [part for part in parts if "all" in ticked or str(part.pk) in ticked]
    return _delete_page(request, deletion.select_matrix(matrix, chosen), parts)


@team_required("GET", "POST", role=Role.ADMIN)
def upload_delete(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """A saved import with its runs; any other is dropped on its page."""
    upload = get_object_or_404(Upload, pk=pk)
    if upload.state != Upload.State.SAVED:
        return redirect("import", pk=pk)
    selection = deletion.select_runs(upload.runs.all())
    selection.roots.sort(key=lambda row: row != upload)
    return _delete_page(request, selection if upload in selection.roots else Selection([upload]))


def _delete_page(request: HttpRequest, selection: Selection, parts: Iterable[Model] = ()) -> HttpResponse:
    row = selection.roots[0]
    kind = str(row._meta.verbose_name)
    blocking = blockers(selection.blockers())
    refused = ""
    if request.method == "POST" and not blocking:
        try:
            done = deletion.delete(selection, get_user(request), get_team(request))
        except DeletionRefused as error:
            refused = str(error)
        else:
            _say_deleted(request, f"The {kind} “{row}” was deleted{selection.describe_parts()}.", done)
            return redirect("imports" if isinstance(row, Upload) else str(row._meta.verbose_name_plural))

    context = {
        "thing": row,
        "kind": kind,
        "back": reverse(PAGES.get(kind, kind), args=[row.pk]),
        "blockers": blocking,
        "refused": refused,
        "reports": import_string(settings.DELETION_MENTIONS)(selection.keys(Matrix), selection.keys(Sweep)),
        "parts": [(part, part._meta.verbose_name, deletion.list_users_in_trash(part)) for part in parts],
        "counts": [
            (number, model._meta.verbose_name, model._meta.verbose_name_plural)
            for model in COUNTED
            if model is not type(row) and (number := _count(selection, model))
        ],
    }
    status = 200
    if request.method == "POST":
        status = 409
    return render(request, "runs/delete.html", context, status=status)


def _count(selection: Selection, model: type[Model]) -> int:
    """Without the sweeps of load phases, which no list of sweeps shows."""
    rows = selection.data.get(model, ())
    return sum(not (isinstance(row, Sweep) and row.phase == Phase.LOAD) for row in rows)


@team_required("GET", "POST", role=Role.ADMIN)
def run_delete(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """One run. GET asks, POST deletes."""
    run = get_object_or_404(Run, pk=pk)
    if request.method == "GET":
        return ask(request, [run])
    return _delete_runs(request, [run])


@team_required("POST", role=Role.ADMIN)
def runs_delete(request: HttpRequest) -> HttpResponseBase:
    """The runs that the page asked about."""
    return _delete_runs(request, ticked(request))


def ticked(request: HttpRequest) -> list[Run]:
    """The team's runs of the form, or all of its filter. Keys of another team's runs match nothing."""
    if request.POST.get("all"):
        query = QueryDict(request.POST.get("back", ""))
        runs = RunFilter(query).apply(get_team(request))
        return list(runs.defer(*HEAVY)[: MAX_AT_ONCE + 1])
    keys = [key for key in request.POST.getlist("run") if parse_uuid(key)]
    return list(Run.objects.filter(pk__in=keys).defer(*HEAVY).order_by("name", "pk"))


def ask(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    """The page that names what would go, and what stays and why."""
    if not runs or len(runs) > MAX_AT_ONCE:
        messages.error(request, f"Select runs first: between 1 and {MAX_AT_ONCE:,} at once.")
        return redirect("runs")

    staying = deletion.explain_blocked(deletion.select_runs(runs))
    going = [run for run in runs if run.pk not in staying]
    single = None
    if len(runs) == 1:
        single = runs[0]
    filter_query = None
    if request.POST.get("all"):
        filter_query = request.POST.get("back", "")
    context = {
        "asked": len(runs),
        "going": going,
        "shown": going[:SHOWN_RUNS],
        "more": max(len(going) - SHOWN_RUNS, 0),
        "staying": [(run, str(staying[run.pk])) for run in runs if run.pk in staying][:SHOWN_RUNS],
        "single": single,
        "filter_query": filter_query,
    }
    return render(request, "runs/delete_runs.html", context)


def _delete_runs(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    expected = request.POST.get("expected", "")
    if expected and expected != str(len(runs)):
        messages.error(request, "Other runs match the filter now. Look at the list again: nothing was deleted.")
        return redirect("runs")

    staying = deletion.explain_blocked(deletion.select_runs(runs))
    for reason in list(staying.values())[:SHOWN]:
        messages.error(request, str(reason))

    going = [run for run in runs if run.pk not in staying]
    try:
        done = None
        if going:
            done = deletion.delete(deletion.select_runs(going), get_user(request), get_team(request))
    except DeletionRefused as refused:
        messages.error(request, str(refused))
    else:
        if done:
            text = f"{done.runs} runs were deleted." if done.runs > 1 else f"“{done.name}” was deleted."
            _say_deleted(request, text, done)

    return redirect("runs")


def _say_deleted(request: HttpRequest, text: str, done: Deletion | None) -> None:
    """With a button that restores it; not where another request deleted it first."""
    undo = ""
    if done:
        undo = render_to_string("runs/undo.html", {"deletion": done}, request)
    messages.success(request, format_html("{} {}", text, undo))


@team_required("GET", "POST")
def deleted(request: HttpRequest) -> HttpResponse:
    """The deletions of the last 30 days. An admin restores one (`restore`), or forgets it (`forget`), by POST.

    What was restored is shown next.
    """
    if request.method == "POST":
        if not has_role(request, Role.ADMIN):
            raise PermissionDenied
        return redirect(_restore_or_forget(request))
    page = get_page(request, Deletion.objects.select_related("deleted_by"))
    restoring = deletion.plan_restoring(list(page))
    rows = [(row, restoring[row.pk]) for row in page]
    return render(request, "runs/deleted.html", {"page": page, "rows": rows})


def _restore_or_forget(request: HttpRequest) -> str:
    """The address that comes next."""
    key = parse_uuid(request.POST.get("restore") or request.POST.get("forget") or "")
    row = get_object_or_404(Deletion, pk=key)
    if "forget" in request.POST:
        try:
            deletion.forget(row, get_user(request))
        except ForgetRefused as refused:
            messages.error(request, str(refused))
        else:
            messages.success(request, f"“{row.name}” is gone for ever.")
        return reverse("deleted")

    kind = row.kind
    try:
        keys = deletion.restore(row, get_user(request))
    except RestoreRefused as refused:
        messages.error(request, str(refused))
        return reverse("deleted")

    messages.success(request, f"“{row.name}” was restored.")
    if len(keys) == 1:
        return reverse(PAGES.get(kind, kind), args=keys)
    return reverse("runs")
