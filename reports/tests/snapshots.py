"""Published reports for tests of reading them; what they hold is measured and drawn once in a session."""

import copy
import datetime as dt
from functools import cache
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from benchsite.accounts.models import Team, User
from reports.models import Report, ReportRevision
from reports.published.content import Content
from reports.published.links import make_link
from reports.published.publication import write_revision
from reports.tests.frozen import measured_matrix, some_content
from runs.tests.factories import make_team

TITLE = "What durability costs Redis"


class _Enough(Exception):
    """Takes the rows back."""


@cache
def _usual() -> Content:
    """Of rows that are gone again: a snapshot needs none."""
    made: list[Content] = []
    try:
        with transaction.atomic():
            team = make_team(name="Storage")
            content = some_content(team, measured_matrix(team), TITLE)
            columns = content["method"]["environment"]["columns"]
            content["method"]["environment"]["rows"] = [["version", *["7.0"] * (len(columns) - 1)]]
            made.append(content)
            raise _Enough
    except _Enough:
        return made[0]


def published(
    team: Team,
    /,
    *,
    user: User | None = None,
    access: str = Report.Access.UNLISTED,
    title: str = TITLE,
    revisions: int = 1,
    expires_at: dt.datetime | None = None,
    **changes: Any,
) -> Report:
    """A published report with its link and no run behind it; `changes` replace entries of its content."""
    content = cast(Content, copy.deepcopy({**_usual(), "title": title, "team": team.name, **changes}))
    report = Report.objects.create(team=team, title=title[:200], access=access, expires_at=expires_at, created_by=user)
    for number in range(revisions):
        headline = content["headline"] if number == 0 else f"{content['headline']} Revised {number} times."
        write_revision(report, {**content, "headline": headline}, user)
    make_link(report)
    return report


def imported(team: Team, user: User, original: ReportRevision) -> Report:
    """A report of another site with the same content, as versions before 0.1 imported it."""
    report = Report.objects.create(team=team, title=original.title, created_by=user, access=Report.Access.PRIVATE)
    ReportRevision.objects.create(
        report=report,
        number=1,
        content=bytes(original.content),
        digest=original.digest,
        title=original.title,
        headline=original.headline,
        published_by=user,
        published_at=original.published_at,
        imported_by=team.name,
        imported_at=timezone.now(),
    )
    make_link(report)
    return report
