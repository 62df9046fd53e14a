"""The team's reports as lists show them."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Length
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import Team
from reports.models import Report, ReportLink, ReportRevision
from reports.published.drafts import parse_draft


def get_reports(team: Team) -> QuerySet[Report]:
    """Every report of a team, with `revisions_made`, `token` of its open link, and when it was last published."""
    link = ReportLink.objects.filter(report=OuterRef("pk"), revoked_at=None).values("token")[:1]
    newest = ReportRevision.objects.filter(report=OuterRef("pk")).order_by("-number")
    return (
        Report.objects.filter(team=team)
        .select_related("created_by")
        .annotate(
            revisions_made=Count("revisions"),
            token=Subquery(link),
            published_at=Subquery(newest.values("published_at")[:1]),
            headline=Subquery(newest.values("headline")[:1]),
        )
        .order_by("-changed_at", "-pk")
    )


def get_revisions(report: Report) -> QuerySet[Any]:
    """The newest first, with their `bytes` in place of their content."""
    rows = report.revisions.select_related("published_by").defer("content").order_by("-number")
    return rows.annotate(bytes=Length("content"))


def public_reports(team: Team) -> QuerySet[ReportRevision]:
    """The newest revision of every report that is public, not expired and has an open link, with its `token`."""
    now = timezone.now()
    link = ReportLink.objects.filter(report=OuterRef("report"), revoked_at=None).values("token")[:1]
    newer = ReportRevision.objects.filter(report=OuterRef("report"), number__gt=OuterRef("number"))
    rows = ReportRevision.objects.filter(report__team=team, report__access=Report.Access.PUBLIC)
    rows = rows.filter(Q(report__expires_at=None) | Q(report__expires_at__gt=now))
    rows = rows.annotate(token=Subquery(link)).exclude(Exists(newer)).exclude(token=None)
    return rows.defer("content").order_by("-published_at")


def find_reports(matrices: Collection[UUID], sweeps: Iterable[UUID]) -> list[tuple[str, str]]:
    """Titles and addresses of the team's reports that are made of one of these."""
    addresses: list[tuple[str, str]] = []
    for report in Report.objects.only("title", "draft"):
        selection = parse_draft(report.draft).selection
        if selection.matrix_id in matrices or not set(sweeps).isdisjoint(selection.sweeps):
            addresses.append((report.title, reverse("report", args=[report.pk])))
    return addresses
