"""The pages that ask before something is deleted, naming it, and say what stays and why."""

from collections.abc import Callable, Iterable
from uuid import UUID

from django.contrib import messages
from django.db import router, transaction
from django.db.models import Model
from django.db.models.deletion import Collector, ProtectedError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from benchsite.accounts import audit
from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, team_required
from runs.identifiers import parse_uuid
from runs.models import MatrixEntry, Run
from runs.results.deletion import MAX_AT_ONCE, DeletionRefused, delete_run, obstacle
from runs.results.pages.run_list import HEAVY

SHOWN = 5


def blockers(row: Model, also: Iterable[Model] = ()) -> list[dict[str, object]]:
    """Everything that protects a row, by kind, with how many there are and the first names.

    `also` are rows that need it without the database's knowing.
    """
    blocking = list(also)
    try:
        # Collecting is the first half of deleting: it finds what is protected and changes nothing.
        Collector(using=router.db_for_write(type(row))).collect([row])
    except ProtectedError as error:
        blocking += list(error.protected_objects)
    by_kind: dict[tuple[str, str], set[str]] = {}
    for blocker in blocking:
        # A person knows the matrix, not the row that ties it to a database.
        shown = blocker
        if isinstance(blocker, MatrixEntry):
            shown = blocker.matrix
        words = (str(shown._meta.verbose_name), str(shown._meta.verbose_name_plural))
        by_kind.setdefault(words, set()).add(str(shown))
    return [
        {
            "kind": singular if len(names) == 1 else plural,
            "count": len(names),
            "names": sorted(names)[:SHOWN],
            "more": max(len(names) - SHOWN, 0),
        }
        for (singular, plural), names in sorted(by_kind.items())
    ]


def delete_page(request: HttpRequest, row: Model, also: Callable[[], Iterable[Model]] = tuple) -> HttpResponse:
    """GET asks, POST deletes and goes to the list of its kind. A protected row stays, with the reasons.

    The addresses of its page and of the list have the name of the model.
    """
    kind = str(row._meta.verbose_name)
    blocking = blockers(row, also())
    if request.method == "POST" and not blocking:
        name = str(row)
        try:
            with transaction.atomic():
                row.delete()
                audit.note("thing_deleted", team=get_team(request), actor=get_user(request), subject=name, text=kind)
        except ProtectedError:
            blocking = blockers(row, also())  # Somebody began to use it while the page was being read.
        else:
            messages.success(request, f"The {kind} “{name}” was deleted.")
            return redirect(str(row._meta.verbose_name_plural))
    context = {"thing": row, "kind": kind, "back": reverse(kind, args=[row.pk]), "blockers": blocking}
    return render(request, "runs/delete.html", context, status=409 if request.method == "POST" else 200)


@team_required("GET", "POST", role=Role.ADMIN)
def run_delete(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """One run. GET asks, POST deletes."""
    run = get_object_or_404(Run, pk=pk)
    if request.method == "GET":
        return ask(request, [run])
    return _delete(request, [run])


@team_required("POST", role=Role.ADMIN)
def runs_delete(request: HttpRequest) -> HttpResponseBase:
    """The runs that the page asked about."""
    return _delete(request, ticked(request))


def ticked(request: HttpRequest) -> list[Run]:
    """The team's runs of the form. Keys of another team's runs match nothing, like keys of no run at all."""
    keys = [key for key in request.POST.getlist("run") if parse_uuid(key)]
    return list(Run.objects.filter(pk__in=keys).defer(*HEAVY).order_by("name", "pk"))


def ask(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    """The page that names what would go, and what stays and why."""
    if not runs or len(runs) > MAX_AT_ONCE:
        messages.error(request, f"Select runs first: between 1 and {MAX_AT_ONCE} at once.")
        return redirect("runs")
    judged = [(run, obstacle(run)) for run in runs]
    context = {
        "going": [run for run, why in judged if why is None],
        "staying": [(run, str(why)) for run, why in judged if why is not None],
        "single": runs[0] if len(runs) == 1 else None,
    }
    return render(request, "runs/delete_runs.html", context)


def _delete(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    deleted, stayed = 0, 0
    for run in runs[:MAX_AT_ONCE]:
        try:
            delete_run(run, get_user(request))
            deleted += 1
        except DeletionRefused as refused:
            stayed += 1
            messages.error(request, str(refused))
    if deleted == 1 and not stayed:
        messages.success(request, f"“{runs[0].name}” was deleted.")
    elif deleted:
        messages.success(request, f"{deleted} runs were deleted.")
    return redirect("runs")
