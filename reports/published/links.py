"""The addresses of reports, `/r/{token}`: made, opened, rotated and revoked.

A link that no longer opens anything keeps its row, so that it can say what became of it instead of "unknown".
"""

import datetime as dt
import secrets
import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import Membership, User
from reports.models import Report, ReportLink, ReportRevision
from reports.published.messages import IMPORTED
from reports.published.rights import LINK_REFUSED, NotAllowed, may_open_again

MAX_NUMBER: Final = 2**31 - 1
MAX_TOKEN: Final = 32

# This is SQL because it is all that a kept page costs.
_SQL: Final = """
SELECT report.team_id, report.access, report.title,
       wanted.id, wanted.number, wanted.digest, wanted.published_at, newest.number, newest.published_at,
       wanted.imported_by, wanted.imported_at
  FROM reports_reportlink link
  JOIN reports_report report ON report.id = link.report_id
  JOIN LATERAL (SELECT number, published_at FROM reports_reportrevision
                 WHERE report_id = report.id ORDER BY number DESC LIMIT 1) newest ON true
  JOIN reports_reportrevision wanted
    ON wanted.report_id = report.id AND wanted.number = coalesce(%s, newest.number)
 WHERE link.token = %s AND link.revoked_at IS NULL AND (report.expires_at IS NULL OR report.expires_at > %s)
"""
TOKEN_BYTES: Final = 16  # 128 bits, 22 characters


@dataclass(frozen=True, slots=True)
class Opened:
    """A revision of a report, as its link opens it, without its content."""

    token: str
    team_id: uuid.UUID
    access: str
    title: str  # of the report
    revision_id: uuid.UUID
    number: int
    digest: str
    published_at: dt.datetime
    newest: int
    changed_at: dt.datetime  # when the newest revision was published: then the page last said something else
    imported_by: str  # the team; empty: published here
    imported_at: dt.datetime | None
    is_pinned: bool  # the address names the revision
    signature: bool = False  # the address is that of a file's signature
    site: str = ""  # "https://bench.example", for what others quote
    alone: bool = False  # a file on somebody's disk, which has no address

    @property
    def provenance(self) -> str:
        """The sentence that every rendering of an imported revision shows; empty for a revision published here."""
        if self.imported_at is None:
            return ""
        return IMPORTED.format(person=self.imported_by, day=self.imported_at)

    @property
    def is_listed(self) -> bool:
        return self.access == Report.Access.PUBLIC

    @property
    def is_private(self) -> bool:
        return self.access == Report.Access.PRIVATE

    @property
    def address(self) -> str:
        """The path of the newest revision; empty for a file."""
        return "" if self.alone else f"/r/{self.token}"

    @property
    def pinned(self) -> str:
        """The path of exactly this revision."""
        return f"/r/{self.token}@{self.number}"

    @property
    def absolute(self) -> str:
        return f"{self.site}/r/{self.token}"

    @property
    def absolute_pinned(self) -> str:
        return f"{self.site}{self.pinned}"

    @property
    def revisions(self) -> list[tuple[int, str]]:
        return [(number, f"/r/{self.token}@{number}") for number in range(1, self.newest + 1)]


def get_site_url(request: HttpRequest) -> str:
    """The address of this site as people type it; where it is not stated, that of the request."""
    return settings.PUBLIC_URL.rstrip("/") or f"{request.scheme}://{request.get_host()}"


def open_report(token: str, number: int | None) -> Opened:
    """The newest revision, or the one with that number. Raises LinkUnknown or LinkRevoked."""
    if len(token) > MAX_TOKEN or (number is not None and number > MAX_NUMBER):
        raise LinkUnknown("No report has this address.")
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [number, token, timezone.now()])
        row = cursor.fetchone()
    if row is None:
        open_link(token)  # says what became of it
        raise LinkUnknown("The report has no such revision.")
    # The columns are in the order of the fields.
    fields: list[Any] = [token, *row, number is not None]
    return Opened(*fields)


def may_read(opened: Opened, user_id: uuid.UUID | None) -> bool:
    """Everybody who has the link, but of a private report members of its team only."""
    if not opened.is_private:
        return True
    return user_id is not None and Membership.objects.filter(user=user_id, team=opened.team_id).exists()


def get_row(opened: Opened) -> ReportRevision:
    """The revision with its content."""
    return ReportRevision.objects.get(pk=opened.revision_id)


class LinkUnknown(Exception):
    """No report ever had this link."""


class LinkRevoked(Exception):
    """The link opened a report once. The message says why it does no longer."""


def make_link(report: Report) -> ReportLink:
    """The report's open link; a new one where it has none."""
    return find_link(report) or ReportLink.objects.create(token=secrets.token_urlsafe(TOKEN_BYTES), report=report)


def find_link(report: Report) -> ReportLink | None:
    """The link of the report that is not revoked."""
    return report.links.filter(revoked_at__isnull=True).first()


def open_link(token: str) -> ReportLink:
    """The link with its report and team. Who may read a private report is the reader's page to ask.

    Raises LinkUnknown, or LinkRevoked for one that was revoked, rotated, has expired or whose report is deleted.
    """
    link = None
    # PostgreSQL takes no NUL; nothing longer than the column is asked for.
    if 0 < len(token) <= MAX_TOKEN and token.isascii() and token.isprintable():
        link = ReportLink.objects.select_related("report__team").filter(token=token).first()
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
        if not (_revoke_links(report) or may_open_again(report, by)):
            raise NotAllowed(LINK_REFUSED)
        link = make_link(report)
        audit.note("link_rotated", team=report.team, actor=by, subject=report.title)
    return link


def revoke(report: Report, by: User | None) -> bool:
    """Revokes the link; False where there was none. The report and its revisions stay for the team."""
    with transaction.atomic():
        Report.objects.select_for_update().get(pk=report.pk)
        is_revoked = _revoke_links(report)
        if is_revoked:
            audit.note("link_revoked", team=report.team, actor=by, subject=report.title)
    return is_revoked


def _revoke_links(report: Report) -> bool:
    """Whether there was one that was open."""
    return bool(report.links.filter(revoked_at__isnull=True).update(revoked_at=timezone.now()))
