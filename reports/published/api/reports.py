"""Frozen reports by program: published, revised, given another link, revoked."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Status

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.paging import PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import owned, refusals
from reports.api.routers import reports
from reports.models import Report
from reports.published import links, publication, rights
from reports.published.api.report_schemas import (
    AccessChange,
    DryRun,
    LinkAnswer,
    NewReport,
    PublishedAnswer,
    ReportAnswer,
    ReportChange,
    ReportPage,
    ReportPreview,
    report_address,
)
from reports.published.builder import Built, build
from reports.published.content import canonical
from reports.published.drafts import Draft, DraftFootnote, parse_draft
from reports.published.queries.reports import get_reports, get_revisions

WRITE = Needs(Scope.REPORTS_WRITE)
READ = Needs(Scope.REPORTS_WRITE, Scope.RUNS_READ)
NAMES = ("query", "headline", "notes")


@reports.get("/reports", response={200: ReportPage}, auth=READ, summary="List the team's reports")
def list_reports(request: HttpRequest, query: Query[PageQuery]) -> Slice[Report]:
    return get_page(request, get_reports(team_in(request)), ("-created_at", "-pk"), query)


@reports.post(
    "/reports",
    response={200: ReportPreview, 201: PublishedAnswer, **refusals(422)},
    auth=WRITE,
    summary="Publish a report",
)
def publish_report(request: HttpRequest, query: Query[DryRun], new: NewReport) -> Status[Any]:
    """Freezes the comparison in `query`, and answers with the link. Look at `found` first, with `dry_run=1`.

    Only admins of the team publish a report that is `public` at once.
    """
    team, user = team_in(request), bearer_in(request).user
    draft = _change_draft(Draft(query=new.query.removeprefix("?")), new)
    report = Report(team=team, title=publication.build_title(new.title), draft=draft.as_json(), created_by=user)
    report.access, report.expires_at = Report.Access(new.access), new.expires_at
    if query.dry_run:
        publication.refuse_public(report, user)
        publication.refuse_unclear(team, draft)
        return Status(200, _build_preview(build(team, draft, new.title)))
    return Status(201, _publish(request, report))


@reports.get(
    "/reports/{report_id}", response={200: ReportAnswer}, auth=READ, summary="Read one report's link and revisions"
)
def get_report(request: HttpRequest, report_id: UUID) -> dict[str, Any]:
    return _build_answer(request, _get_report(report_id))


@reports.post(
    "/reports/{report_id}/revisions",
    response={200: ReportPreview, 201: PublishedAnswer, **refusals(422)},
    auth=WRITE,
    summary="Publish another revision",
)
def revise_report(request: HttpRequest, report_id: UUID, query: Query[DryRun], change: ReportChange) -> Status[Any]:
    """The numbers as they are now, with what is changed here. Earlier revisions stay as they are.

    A `query` names the matrix or the sweeps that it means: the latest study of Compare is refused here.
    """
    report = _get_report(report_id)
    draft = _change_draft(parse_draft(report.draft), change)
    if not (draft.selection.matrix or draft.selection.sweeps):
        raise publication.PublishRefused(
            "The query names neither a matrix nor sweeps, and the latest study may be another one than the report is "
            "about: add matrix=ID."
        )

    title = change.title or report.title
    if query.dry_run:
        publication.refuse_unclear(report.team, draft)
        return Status(200, _build_preview(build(report.team, draft, title)))

    report.draft, report.title = draft.as_json(), publication.build_title(title)
    return Status(201, _publish(request, report))


@reports.patch(
    "/reports/{report_id}", response={200: ReportAnswer}, auth=WRITE, summary="Change who may read it, and until when"
)
def change_report_access(request: HttpRequest, report_id: UUID, change: AccessChange) -> dict[str, Any]:
    """Only admins of the team make a report `public`; whoever may publish takes that back."""
    report = _get_report(report_id)
    values = change.dict(exclude_unset=True)
    until = values.get("expires_at", report.expires_at)
    publication.set_access(report, change.access or report.access, until, bearer_in(request).user)
    return _build_answer(request, report)


@reports.delete(
    "/reports/{report_id}",
    response={204: None, **refusals(403, 404)},
    auth=WRITE,
    summary="Delete a report with all its revisions",
)
def delete_report(request: HttpRequest, report_id: UUID) -> Status[None]:
    """For whoever began it, and admins of the team. Its link answers 410 from now on."""
    report = _get_report(report_id)
    user = bearer_in(request).user
    if not rights.may_delete(report, user):
        raise Problem("insufficient-scope", "Only who began this report, and the team's admins, may delete it.")
    publication.delete(report, user)
    return Status(204, None)


@reports.post(
    "/reports/{report_id}/link/rotate",
    response={200: LinkAnswer, **refusals(409)},
    auth=WRITE,
    summary="Give a report another link",
)
def rotate_report_link(request: HttpRequest, report_id: UUID) -> LinkAnswer:
    """The old one answers 410 from now on.

    Also makes one where the last was revoked: for the author of the report, and admins of the team.
    """
    report = _get_report(report_id)
    if not report.revisions.exists():
        raise Problem("conflict", "Nothing of this report is published yet, so it has no link.")
    link = links.rotate(report, bearer_in(request).user)
    return LinkAnswer(permalink=report_address(request, link.token))


@reports.delete("/reports/{report_id}/link", response={204: None}, auth=WRITE, summary="Revoke a report's link")
def revoke_report_link(request: HttpRequest, report_id: UUID) -> Status[None]:
    """Nobody can read the report then; its revisions are kept."""
    links.revoke(_get_report(report_id), bearer_in(request).user)
    return Status(204, None)


def _get_report(report_id: UUID) -> Report:
    return owned(Report.objects.select_related("team", "created_by"), report_id)


def _change_draft(draft: Draft, change: ReportChange) -> Draft:
    """The draft with what the request says of it."""
    texts = {name: getattr(change, name) for name in NAMES}
    values: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    if change.items is not None:
        values["items"] = tuple(change.items)
    if change.may_be_seen is not None:
        values["kept"] = tuple(change.may_be_seen)
    if change.footnotes is not None:
        values["footnotes"] = tuple(DraftFootnote(**footnote.dict()) for footnote in change.footnotes)
    if change.disclosures:
        values |= change.disclosures.dict()
    return replace(draft, **values)


def _publish(request: HttpRequest, report: Report) -> dict[str, Any]:
    built_report = publication.publish_once(report, bearer_in(request).user)
    return {**_build_answer(request, report), "found": built_report.found, "problems": built_report.problems}


def _build_answer(request: HttpRequest, report: Report) -> dict[str, Any]:
    link = links.find_link(report)
    return {
        "id": report.pk,
        "title": report.title,
        "access": report.access,
        "expires_at": report.expires_at,
        "permalink": report_address(request, link.token) if link else None,
        "page": reverse("report", args=[report.pk]),
        "revisions": list(get_revisions(report)),
    }


def _build_preview(built_report: Built) -> dict[str, Any]:
    return {
        "headline": built_report.content["headline"],
        "proposed_headline": built_report.headline,
        "items": built_report.content["order"],
        "available": built_report.items,
        "found": built_report.found,
        "problems": built_report.problems,
        "bytes": len(canonical(built_report.content)),
    }
