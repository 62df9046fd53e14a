"""The team's reports as lists show them."""

import datetime as dt
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Length

from benchsite.teams.models import Team
from reports.models import Report, ReportLink, ReportRevision


def reports_of(team: Team) -> QuerySet[Report]:
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


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision without its content."""

    number: int
    title: str
    headline: str
    digest: str
    published_at: dt.datetime
    published_by: str
    bytes: int


def revisions_of(report: Report) -> list[RevisionRow]:
    """The newest first; one query."""
    rows = report.revisions.order_by("-number").annotate(bytes=Length("content"))
    return [
        RevisionRow(*row[:5], row[5] or "somebody who left", row[6])
        for row in rows.values_list(
            "number", "title", "headline", "digest", "published_at", "published_by__username", "bytes"
        )
    ]
