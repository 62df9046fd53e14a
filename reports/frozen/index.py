"""Which reports of a team everybody may find."""

from dataclasses import dataclass

from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from benchsite.teams.models import Team
from reports.models import Report, ReportLink, ReportRevision


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a team's index: the newest revision of a public report."""

    token: str
    revision: ReportRevision  # without its content


def listed(team: Team) -> list[Listed]:
    """Public, published, not expired, with an open link; newest first. Two queries."""
    now = timezone.now()
    rows = Report.objects.filter(team=team, access=Report.Access.PUBLIC)
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=now))
    newest = ReportRevision.objects.filter(report=OuterRef("pk")).order_by("-number").values("pk")[:1]
    link = ReportLink.objects.filter(report=OuterRef("pk"), revoked_at=None).values("token")[:1]
    found = rows.annotate(newest=Subquery(newest), token=Subquery(link)).exclude(newest=None).exclude(token=None)
    tokens = dict(found.order_by().values_list("newest", "token"))
    revisions = ReportRevision.objects.filter(pk__in=tokens).defer("content").order_by("-published_at")
    return [Listed(tokens[one.pk], one) for one in revisions]
