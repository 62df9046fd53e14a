"""Revisions as rows: content goes in once, compressed, and comes out as it was."""

import datetime as dt
import json
from typing import Final, cast

import zstandard
from django.db import transaction
from django.db.models import Max

from benchsite import formatting
from benchsite.teams.models import User
from reports.frozen.content import FORMAT, Content, canonical, digest
from reports.models import Report, ReportRevision

LEVEL: Final = 10  # The four drawings of a figure differ little: this finds it out, in a tenth of a second.
MAX_BYTES: Final = 64 * 2**20  # canonical; what is larger is refused in words
MAX_TITLE_LENGTH: Final = 200


class ContentRefused(Exception):
    """What cannot become a revision; the message says why and what to do."""


def content_of(revision: ReportRevision) -> Content:
    """What the revision says. No row of a run is asked for it."""
    packed = bytes(revision.content)
    text = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_BYTES)
    return cast(Content, json.loads(text))


def write_revision(
    report: Report,
    content: Content,
    user: User | None,
    *,
    imported_by: str = "",
    imported_at: dt.datetime | None = None,
) -> ReportRevision:
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
            imported_by=imported_by,
            imported_at=imported_at,
        )
