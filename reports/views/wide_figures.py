"""The addresses of the pictures that look at several sweeps from one side; the query string is the compare page's."""

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.figures.distributions import CEILING, RUNG
from reports.queries import compared
from reports.queries.over_time import ridges
from reports.selection import read
from reports.sheets import (
    durability_sheet,
    price_sheet,
    scalability_sheet,
    stability_sheet,
    sweeps_percentiles_sheet,
)
from reports.views.figures import respond


@require_GET
@team_required
def percentiles(request: HttpRequest, form: str = "") -> HttpResponseBase:
    """One operation of every sweep: at its ceiling, with `at=rung` at the rung they share, up to `load` where named."""
    selection = read(request.GET)
    found = compared(team_of(request), selection).curves
    sheet = sweeps_percentiles_sheet(
        found,
        operation=selection.operation or "READ",
        kind=selection.kind_for(found),
        at=RUNG if request.GET.get("at") == RUNG else CEILING,
        load_ops_s=selection.load_ops_s,
        highlight=selection.highlight,
    )
    return respond(request, sheet, form, "figure-percentiles")


@require_GET
@team_required
def stability(request: HttpRequest, form: str = "") -> HttpResponseBase:
    """How even each sweep's run at its ceiling is, second by second."""
    selection = read(request.GET)
    found = compared(team_of(request), selection).curves
    sheet = stability_sheet(found, ridges(found), highlight=selection.highlight)
    return respond(request, sheet, form, "figure-stability")


@require_GET
@team_required
def scalability(request: HttpRequest, form: str = "") -> HttpResponseBase:
    """Ceilings over the number of nodes."""
    selection = read(request.GET)
    found = compared(team_of(request), selection).curves
    return respond(request, scalability_sheet(found, highlight=selection.highlight), form, "figure-scalability")


@require_GET
@team_required
def durability(request: HttpRequest, form: str = "") -> HttpResponseBase:
    """What each guarantee costs."""
    selection = read(request.GET)
    found = compared(team_of(request), selection).curves
    return respond(request, durability_sheet(found, highlight=selection.highlight), form, "figure-durability")


@require_GET
@team_required
def price(request: HttpRequest, form: str = "") -> HttpResponseBase:
    """What a dollar buys at the ceiling."""
    selection = read(request.GET)
    found = compared(team_of(request), selection).curves
    return respond(request, price_sheet(found, highlight=selection.highlight), form, "figure-price")
