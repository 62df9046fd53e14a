"""The addresses of reports, `/r/{token}`: made, opened, rotated and revoked.

A link that no longer opens anything keeps its row, so that it can say what became of it instead of "unknown".
"""

import secrets
from typing import Final

from django.db import transaction
from django.utils import timezone

from benchsite.teams import audit
from benchsite.teams.models import User
from reports.frozen.rights import LINK_REFUSED, NotAllowed, may_open_again
from reports.models import Report, ReportLink

TOKEN_BYTES: Final = 16  # 128 bits, 22 characters


class LinkUnknown(Exception):
    """No report ever had this link."""


class LinkRevoked(Exception):
    """The link opened a report once. The message says why it does no longer."""


def make_link(report: Report) -> ReportLink:
    """The report's open link; a new one where it has none."""
    link = link_of(report)
    return link or ReportLink.objects.create(token=secrets.token_urlsafe(TOKEN_BYTES), report=report)


def link_of(report: Report) -> ReportLink | None:
    """The link of the report that is not revoked."""
    return report.links.filter(revoked_at__isnull=True).first()


def open_link(token: str) -> ReportLink:
    """The link with its report and team. Who may read a private report is the reader's page to ask.

    Raises LinkUnknown, or LinkRevoked for one that was revoked, rotated, has expired or whose report is deleted.
    """
    link = ReportLink.objects.select_related("report__team").filter(token=token).first() if _possible(token) else None
    if link is None:
        raise LinkUnknown("No report has this address. Perhaps it was cut: it ends in 22 characters.")
    if link.report is None:
        raise LinkRevoked("This report was deleted.")
    if link.revoked_at is not None:
        raise LinkRevoked("This link was revoked by the team that published the report. Ask them for another.")
    if link.report.has_expired:
        raise LinkRevoked("This link has expired. Ask the team that published the report to extend it.")
    return link


def rotate(report: Report, by: User | None) -> ReportLink:
    """Another link; the old one opens nothing from now on. Also makes one where the last was revoked.

    Raises NotAllowed where that is not for this person.
    """
    with transaction.atomic():
        Report.objects.select_for_update().get(pk=report.pk)
        if not _take_back(report) and not may_open_again(report, by):
            raise NotAllowed(LINK_REFUSED)
        link = make_link(report)
        audit.note("link_rotated", team=report.team, actor=by, subject=report.title)
    return link


def revoke(report: Report, by: User | None) -> bool:
    """Revokes the link; False where there was none. The report and its revisions stay for the team."""
    with transaction.atomic():
        Report.objects.select_for_update().get(pk=report.pk)
        taken = _take_back(report)
        if taken:
            audit.note("link_revoked", team=report.team, actor=by, subject=report.title)
    return taken


def _take_back(report: Report) -> bool:
    return bool(report.links.filter(revoked_at__isnull=True).update(revoked_at=timezone.now()))


def _possible(token: str) -> bool:
    """PostgreSQL takes no NUL; nothing longer than the column is asked for."""
    return 0 < len(token) <= 32 and token.isascii() and token.isprintable()
