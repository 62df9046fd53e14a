"""Load generators and the queue."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchsite.teams.models import Role
from benchsite.teams.permissions import has_role, is_operator, team_of, team_required
from workers.queries import generators, health, queue_lines


@require_GET
@team_required
def load_generators(request: HttpRequest) -> HttpResponse:
    found = generators(team_of(request))
    context = {"generators": found, "health": health(found), "is_operator": is_operator(request)}
    return render(request, _whole_or_part(request, "workers/load_generators"), context)


@require_GET
@team_required
def queue(request: HttpRequest) -> HttpResponse:
    lines = queue_lines(team_of(request))
    context = {
        "holding": [line for line in lines if line.row.holds],
        "waiting": [line for line in lines if not line.row.holds],
        "ends_at": max((line.row.forecast.ends_at for line in lines), default=None),
        "can_run": has_role(request, Role.RUNNER),
    }
    return render(request, _whole_or_part(request, "workers/queue"), context)


def _whole_or_part(request: HttpRequest, name: str) -> str:
    """A poll gets the part that changes, everybody else the page."""
    return f"{name}_part.html" if request.htmx else f"{name}.html"  # type: ignore[attr-defined]
