"""Which revision an address means, and whether this reader may see it: two indexed queries, whatever is cached."""

import datetime as dt
import uuid
from dataclasses import dataclass

from benchsite.teams.models import Membership
from reports.frozen.links import LinkUnknown, open_link
from reports.models import Report, ReportRevision


@dataclass(frozen=True, slots=True)
class Opened:
    """A revision of a report, as its link opens it, without its content."""

    token: str
    report: Report  # with its team
    revision_id: uuid.UUID
    number: int
    newest: int
    digest: str
    published_at: dt.datetime
    changed_at: dt.datetime  # when the newest revision was published: then the page last said something else
    pinned: bool  # the address names the revision

    @property
    def is_listed(self) -> bool:
        return self.report.access == Report.Access.PUBLIC

    @property
    def is_private(self) -> bool:
        return self.report.access == Report.Access.PRIVATE


def open_report(token: str, number: int | None = None) -> Opened:
    """The newest revision, or the one with that number. Raises LinkUnknown or LinkRevoked."""
    link = open_link(token)
    report = link.report
    if report is None:
        raise LinkUnknown("No report has this address.")
    facts = report.revisions.order_by("-number").values_list("number", "pk", "digest", "published_at")
    revisions = {row[0]: row for row in facts}
    newest = next(iter(revisions.values()), None)
    wanted = newest if number is None else revisions.get(number)
    if newest is None or wanted is None:
        raise LinkUnknown("The report has no such revision.")
    return Opened(
        token=link.token,
        report=report,
        number=wanted[0],
        revision_id=wanted[1],
        digest=wanted[2],
        published_at=wanted[3],
        newest=newest[0],
        changed_at=newest[3],
        pinned=number is not None,
    )


def may_read(opened: Opened, user_id: uuid.UUID | None) -> bool:
    """Everybody who has the link, but of a private report members of its team only."""
    if not opened.is_private:
        return True
    return user_id is not None and Membership.objects.filter(user=user_id, team=opened.report.team_id).exists()


def row_of(opened: Opened) -> ReportRevision:
    """The revision with its content."""
    return ReportRevision.objects.get(pk=opened.revision_id)
