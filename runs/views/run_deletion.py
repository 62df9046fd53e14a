"""The page that asks before runs are deleted, naming them, and says which of them stay and why."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from benchsite.teams.models import Role
from benchsite.teams.permissions import owned_or_404, role_required, team_of, user_of
from runs.deletion import MAX_AT_ONCE, DeletionRefused, delete_run, obstacle
from runs.identifiers import uuid_of
from runs.models import Run
from runs.pages.run_list import HEAVY


@require_http_methods(["GET", "POST"])
@role_required(Role.ADMIN)
def run_delete(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """One run. GET asks, POST deletes."""
    found = owned_or_404(Run.objects.all(), request, pk)
    if request.method == "GET":
        return ask(request, [found])
    return _delete(request, [found])


@require_POST
@role_required(Role.ADMIN)
def runs_delete(request: HttpRequest) -> HttpResponseBase:
    """The runs that the page asked about."""
    return _delete(request, ticked(request))


def ticked(request: HttpRequest) -> list[Run]:
    """The team's runs of the form. Keys of another team's runs match nothing, like keys of no run at all."""
    keys = [key for key in request.POST.getlist("run") if uuid_of(key)]
    return list(Run.objects.filter(team=team_of(request), pk__in=keys).defer(*HEAVY).order_by("name", "pk"))


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
            delete_run(run, user_of(request))
            deleted += 1
        except DeletionRefused as refused:
            stayed += 1
            messages.error(request, str(refused))
    if deleted == 1 and not stayed:
        messages.success(request, f"“{runs[0].name}” was deleted.")
    elif deleted:
        messages.success(request, f"{deleted} runs were deleted.")
    return redirect("runs")
