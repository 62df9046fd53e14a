"""Badges and sparklines of what may be seen without an account, as SVG."""

import hashlib
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags
from ninja import Path
from pydantic import StringConstraints

from benchsite.accounts import tenancy
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import refusals
from reports.api.routers import badges
from reports.models import BadgeLink, Report, ReportRevision
from reports.published.links import open_link
from reports.trends.badges import COLOURS, KEPT_S, badge, find_link, line_at, sparkline, verdict_at, verdict_badge

Token = Annotated[str, StringConstraints(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9_-]+$")]
SVG = "image/svg+xml"
# HistoryChange by hand, for a picture is no schema.
DRAWN: dict[str, Any] = {
    "responses": {
        200: {"description": "The picture", "content": {SVG: {"schema": {"type": "string"}}}},
        304: {"description": "Not changed since the ETag that was sent along"},
    }
}


@badges.get(
    "/badges/reports/{token}.svg",
    response={**refusals(410)},
    summary="The badge of an unlisted or public report",
    openapi_extra=DRAWN,
)
def report_badge(request: HttpRequest, token: Path[Token]) -> HttpResponse:
    """Its title, and which revision stands. A private report has no badge."""
    report = open_link(token).report
    newest = ReportRevision.objects.filter(report=report).only("number", "title").first()
    if report is None or report.access == Report.Access.PRIVATE or newest is None:
        raise Problem("not-found", "No report that may be read without an account has this address.")
    text = f"{newest.title} · revision {newest.number}"
    return _respond(request, badge("benchmark report", text, COLOURS["improvement"]))


@badges.get(
    "/badges/{token}.svg",
    response={**refusals(410)},
    operation_id="verdict_badge",
    summary="How the newest commit of one test stands",
    openapi_extra=DRAWN,
)
def get_verdict_badge(request: HttpRequest, token: Path[Token]) -> HttpResponse:
    """An admin of the team made the address, and can revoke it (410)."""
    link = _enter_link(token)
    return _respond(request, verdict_badge(link.label, verdict_at(link)))


@badges.get(
    "/badges/{token}/history.svg",
    response={**refusals(410)},
    operation_id="history_sparkline",
    summary="How the throughput of one test went, without numbers",
    openapi_extra=DRAWN,
)
def get_sparkline(request: HttpRequest, token: Path[Token]) -> HttpResponse:
    link = _enter_link(token)
    return _respond(request, sparkline(link.label, line_at(link)))


def _enter_link(token: str) -> BadgeLink:
    """The link, whose team is that of the request from now on."""
    link = find_link(token)
    if link is None:
        raise Problem("not-found", "No badge has this address.")
    if link.revoked_at is not None:
        raise Problem("link-revoked", "This badge was revoked by the team that made it.")
    tenancy.enter(link.team_id)
    return link


def _respond(request: HttpRequest, svg: str) -> HttpResponse:
    """The picture, or that it is the one that the client has."""
    content = svg.encode()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    client_etags = [text.removeprefix("W/") for text in parse_etags(request.headers.get("If-None-Match", ""))]
    response = HttpResponse(content, content_type=SVG)
    if "*" in client_etags or etag in client_etags:
        response = HttpResponse(status=304)
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={KEPT_S}"
    response["X-Robots-Tag"] = "noindex"
    return response
