"""A team's public reports, for everybody: the only place where a report is listed without an account."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchsite.teams.models import Team
from reports.models import Report
from reports.queries.reports import public_reports


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's public reports whose links are open. A team that never made one public has no such page."""
    team = Team.objects.filter(slug=slug).first()
    if team is None or not Report.objects.filter(team=team, access=Report.Access.PUBLIC).exists():
        raise Http404
    response = render(request, "reports/frozen/index.html", {"team": team, "reports": public_reports(team)})
    response.headers["Cache-Control"] = "no-cache"
    return response
