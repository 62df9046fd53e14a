"""Which reports of a team everybody may find."""

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from benchsite.teams.models import Team
from reports.models import Report, ReportLink, ReportRevision


def listed(team: Team) -> QuerySet[ReportRevision]:
    """The newest revision of every report that is public, not expired and has an open link, with its `token`."""
    now = timezone.now()
    link = ReportLink.objects.filter(report=OuterRef("report"), revoked_at=None).values("token")[:1]
    newer = ReportRevision.objects.filter(report=OuterRef("report"), number__gt=OuterRef("number"))
    rows = ReportRevision.objects.filter(report__team=team, report__access=Report.Access.PUBLIC)
    rows = rows.filter(Q(report__expires_at=None) | Q(report__expires_at__gt=now))
    rows = rows.annotate(token=Subquery(link)).exclude(Exists(newer)).exclude(token=None)
    return rows.defer("content").order_by("-published_at")
