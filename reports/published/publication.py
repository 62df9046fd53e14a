"""What is done to a report as a whole: begun, kept, published, opened to others, deleted. Each is one transaction."""

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

import zstandard
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from benchsite.core import formatting
from reports.compare.queries import is_lost, pinned
from reports.models import Report, ReportPicture, ReportRevision
from reports.published.builder import Built, build
from reports.published.content import FORMAT, Content, canonical, digest
from reports.published.drafts import MAX_QUERY_LENGTH, Draft, parse_draft
from reports.published.figure_images import PictureRefused, encoded_anew, keep_pictures
from reports.published.links import make_link
from reports.published.rights import PUBLIC_REFUSED, NotAllowed, may_keep_public, may_make_public, may_open_again
from runs.ycsb.redact import redact

LEVEL: Final = 10  # The four drawings of a figure differ little: this finds it out, in a tenth of a second.
MAX_BYTES: Final = 64 * 2**20  # canonical; what is larger is refused in words
MAX_TITLE_LENGTH: Final = 200
MAX_LIFE: Final = dt.timedelta(days=3660)
_LINES: Final = re.compile(r"[ \t\r\n]+")
UNTITLED: Final = "Report without a title"


class ContentRefused(Exception):
    """What cannot become a revision; the message says why and what to do."""


def load_content(revision: ReportRevision) -> Content:
    """The content of the revision, without a query for its runs."""
    packed = bytes(revision.content)
    text = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_BYTES)
    return cast(Content, json.loads(text))


def write_revision(report: Report, content: Content, user: User | None) -> ReportRevision:
    """The report's next revision. Raises ContentRefused for what is no content or too large."""
    if content["format"] != FORMAT:
        raise ContentRefused(f"This says that it is “{content['format']}”, and not {FORMAT}.")

    raw = canonical(content)
    if len(raw) > MAX_BYTES:
        raise ContentRefused(
            f"The report has {formatting.size(len(raw))}, and at most {MAX_BYTES // 2**20} MB can be published. "
            "Leave figures or tables out, or compare fewer sweeps."
        )

    with transaction.atomic():
        # Two who publish at once get two numbers.
        Report.objects.select_for_update().get(pk=report.pk)
        last = report.revisions.aggregate(last=Max("number"))["last"] or 0
        return ReportRevision.objects.create(
            report=report,
            number=last + 1,
            content=zstandard.ZstdCompressor(level=LEVEL).compress(raw),
            digest=digest(content),
            title=content["title"][:MAX_TITLE_LENGTH],
            headline=content["headline"],
            published_by=user,
            published_at=dt.datetime.fromisoformat(content["published_at"]),
        )


class PublishRefused(Exception):
    """Why it cannot be published as it is, and what to do."""


class NumbersChanged(PublishRefused):
    """Something in it is no longer what its author looked at."""


def begin(team: Team, user: User | None, query: str, title: str = "") -> Report:
    """A draft about the comparison in that address. Nobody sees it but the team."""
    draft = _pin(team, Draft(query=query.removeprefix("?")[:MAX_QUERY_LENGTH].replace("\0", "")))
    return Report.objects.create(
        team=team, title=build_title(title), draft=draft.as_json(), created_by=user, access=Report.Access.PRIVATE
    )


def _pin(team: Team, draft: Draft) -> Draft:
    """The draft about what its address means today, and not about whichever matrix is the newest at publishing."""
    query = pinned(team, draft.selection).query().removeprefix("?")
    if len(query) <= MAX_QUERY_LENGTH:
        return replace(draft, query=query)
    return draft


def build_title(text: str) -> str:
    """On one line, without secrets, and never empty: badges and the audit log repeat it."""
    # Private keys are recognised by their lines.
    text = redact(text)
    return formatting.printable(text, " ").strip()[:MAX_TITLE_LENGTH] or UNTITLED


def keep(report: Report, draft: Draft, title: str) -> None:
    """Writes down what is being put together. What is published does not change by it."""
    report.draft, report.title = draft.as_json(), build_title(title)
    report.save(update_fields=["draft", "title", "changed_at"])


def built(report: Report) -> Built:
    """The report as it would be published now."""
    return build(report.team, parse_draft(report.draft), report.title)


def publish(report: Report, user: User | None, pictures: Mapping[str, bytes], *, seen: str = "") -> ReportRevision:
    """The next revision, its pictures and, with the first one, the link.

    `pictures` are PNGs by the names of figures; one that is none is left away. `seen` is the digest of what the author
    was shown. Raises PublishRefused, and NumbersChanged where it would be something else by now.
    """
    return _publish(report, user, _build_publishable(report, seen), pictures)


def publish_once(report: Report, user: User | None) -> Built:
    """The report, kept where it is new or changed, and its next revision; what is refused leaves nothing behind.

    Raises NotAllowed for a new one that is public at once, where that is not for this person.
    """
    refuse_public(report, user)
    draft = parse_draft(report.draft)
    refuse_unclear(report.team, draft)
    report.draft = _pin(report.team, draft).as_json()
    built_report = _build_publishable(report)
    with transaction.atomic():
        report.save()
        _publish(report, user, built_report, {})
    return built_report


def refuse_unclear(team: Team, draft: Draft) -> None:
    """Nobody has looked at it, so an address that is not meant as it stands is refused."""
    problems = draft.selection.problems
    if problems:
        raise PublishRefused(" ".join(problems))
    _refuse_what_is_lost(team, draft)


def _build_publishable(report: Report, seen: str = "") -> Built:
    _refuse_what_is_lost(report.team, parse_draft(report.draft))
    built_report = built(report)
    if not built_report.content["sources"]:
        raise PublishRefused("Nothing that counts is in this report: choose sweeps of which at least one point counts.")
    if seen and seen != digest(built_report.content):
        raise NumbersChanged("Something changed since you looked: read it once more, then publish.")
    return built_report


def _refuse_what_is_lost(team: Team, draft: Draft) -> None:
    """Another matrix never takes the place of the one that the report is about."""
    if is_lost(team, draft.selection):
        raise PublishRefused("The matrix that this report is about is not among your team's: choose another one.")


def _publish(report: Report, user: User | None, built_report: Built, pictures: Mapping[str, bytes]) -> ReportRevision:
    content: Content = {**built_report.content, "published_at": timezone.now().isoformat(timespec="seconds")}
    figures = {figure["name"] for figure in content["figures"]}
    encoded: dict[str, ReportPicture] = {}
    for name in sorted(figures & pictures.keys()):
        try:
            encoded[name] = encoded_anew(pictures[name])
        except PictureRefused:
            continue  # A report stands without its pictures: they are for those who are sent a link.

    with transaction.atomic():
        revision = write_revision(report, content, user)
        keep_pictures(revision, encoded)
        is_first = revision.number == 1
        # A new revision does not restore a revoked link.
        if is_first or may_open_again(report, user):
            make_link(report)
        kind = "report_published" if is_first else "report_revised"
        text = f"revision {revision.number}, {report.access}"
        audit.note(kind, team=report.team, actor=user, subject=report.title, text=text)
        report.save(update_fields=["changed_at"])

    return revision


def refuse_public(report: Report, user: User | None) -> None:
    """A new report is public at once only by an admin: NotAllowed for others."""
    if report._state.adding and report.access == Report.Access.PUBLIC and not may_make_public(report, user):
        raise NotAllowed(PUBLIC_REFUSED)


def set_access(report: Report, access: str, expires_at: dt.datetime | None, by: User | None) -> None:
    """Who may read it, and until when its link opens it. Raises NotAllowed where that is not for this person."""
    with transaction.atomic():
        # As it is now: an admin may have closed it since it was looked up.
        present = Report.objects.select_for_update().get(pk=report.pk)
        if (present.access, present.expires_at) == (access, expires_at):
            return
        if access == Report.Access.PUBLIC and not may_keep_public(present, by):
            raise NotAllowed(PUBLIC_REFUSED)

        report.access, report.expires_at = Report.Access(access), expires_at
        report.save(update_fields=["access", "expires_at", "changed_at"])
        text = f"{present.access} to {access}"
        if expires_at:
            text += f" until {expires_at:%Y-%m-%d}"
        audit.note("access_changed", team=report.team, actor=by, subject=report.title, text=text)


def delete(report: Report, by: User | None) -> None:
    """The report with all revisions. Its links stay and say that it is gone."""
    with transaction.atomic():
        report.links.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())
        audit.note("report_deleted", team=report.team, actor=by, subject=report.title)
        report.delete()


def with_proposal(draft: Draft, headline: str, proposed: str) -> Draft:
    """The draft with this headline; the proposed one is not written down, so that it follows the numbers."""
    line = _LINES.sub(" ", headline).strip()
    if line == proposed:
        line = ""
    return replace(draft, headline=line)
