"""Load generators and the queue."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchsite.teams.models import Role
from benchsite.teams.permissions import has_role, is_operator, team_of, team_required
from runs.views.paging import page_of
from workers.fleet import WHOSE, FleetFilter, bindings_of, fleet_of, health, shown
from workers.queries import queue_lines


@require_GET
@team_required
def load_generators(request: HttpRequest) -> HttpResponse:
    """A page of them, and of all how many are in which state."""
    wanted = FleetFilter.from_query(request.GET)
    every = fleet_of(team_of(request))
    rows = wanted.apply(every)
    found = health(rows)
    page = page_of(request, rows.filter(state=wanted.state) if wanted.state else rows)
    part = bool(request.htmx)  # type: ignore[attr-defined]
    context = {
        "filter": wanted,
        "health": found,
        "page": page,
        "generators": shown(team_of(request), page.object_list),
        "bindings": () if part else bindings_of(every),
        "whose": WHOSE.items(),
        "is_operator": is_operator(request),
    }
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
