"""Which revision an address means, and whether this reader may see it: one indexed query, whatever is cached.

It is written in SQL because it is all that a kept page costs; what a link that opens nothing has to say is asked of
`links`.
"""

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from benchsite.teams.models import Membership
from reports.frozen.links import LinkUnknown, open_link
from reports.models import Report, ReportRevision

MAX_NUMBER: Final = 2**31 - 1
MAX_TOKEN: Final = 32

_SQL: Final = """
SELECT report.team_id, report.access, report.title, report.expires_at,
       wanted.id, wanted.number, wanted.digest, wanted.published_at, newest.number, newest.published_at,
       wanted.imported_by, wanted.imported_at
  FROM reports_reportlink link
  JOIN reports_report report ON report.id = link.report_id
  JOIN LATERAL (SELECT number, published_at FROM reports_reportrevision
                 WHERE report_id = report.id ORDER BY number DESC LIMIT 1) newest ON true
  JOIN reports_reportrevision wanted
    ON wanted.report_id = report.id AND wanted.number = coalesce(%s, newest.number)
 WHERE link.token = %s AND link.revoked_at IS NULL
"""


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
    pinned: bool  # the address names the revision
    signature: bool = False  # the address is that of a file's signature

    @property
    def provenance(self) -> str:
        """The sentence that every rendering of an imported revision shows; empty for a revision published here."""
        if self.imported_at is None:
            return ""
        return f"Imported by {self.imported_by} on {self.imported_at:%Y-%m-%d}. This site did not verify its numbers."

    @property
    def is_listed(self) -> bool:
        return self.access == Report.Access.PUBLIC

    @property
    def is_private(self) -> bool:
        return self.access == Report.Access.PRIVATE


def open_report(token: str, number: int | None = None) -> Opened:
    """The newest revision, or the one with that number. Raises LinkUnknown or LinkRevoked."""
    if len(token) > MAX_TOKEN or (number is not None and number > MAX_NUMBER):
        raise LinkUnknown("No report has this address.")
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [number, token])
        row = cursor.fetchone()
    if row is None or (row[3] is not None and row[3] <= timezone.now()):
        open_link(token)  # says what became of it
        raise LinkUnknown("The report has no such revision.")
    # The row's columns without `expires_at`, in the order of the fields.
    fields: list[Any] = [token, *row[:3], *row[4:], number is not None]
    return Opened(*fields)


def may_read(opened: Opened, user_id: uuid.UUID | None) -> bool:
    """Everybody who has the link, but of a private report members of its team only."""
    if not opened.is_private:
        return True
    return user_id is not None and Membership.objects.filter(user=user_id, team=opened.team_id).exists()


def row_of(opened: Opened) -> ReportRevision:
    """The revision with its content."""
    return ReportRevision.objects.get(pk=opened.revision_id)
