"""A report that another site or team exported becomes one of ours: the same content, byte for byte, the same digest.

Every text in it is a stranger's; pages show it as they show all content (`rendering`). What was altered is refused.
"""

import hashlib
import json
import re
from typing import Any, Final, NoReturn, cast

from django.db import transaction
from django.utils import timezone

from benchsite.teams import audit
from benchsite.teams.models import Team, User
from reports.frozen.content import Content, canonical
from reports.frozen.links import make_link
from reports.frozen.publication import title_of
from reports.frozen.revisions import MAX_BYTES, ContentRefused, write_revision
from reports.frozen.schema import problem_of
from reports.models import Report

MIN_DIGITS: Final = 12  # of a stated digest: fewer would match by chance
_IN_NAME: Final = re.compile(r"-([0-9a-f]{12,64})(?: ?\(\d+\))?\.json$")


class ImportRefused(ValueError):
    """The file cannot be imported. The message says why, and what to do."""


def stated_in(name: str) -> str:
    """The beginning of the digest in the name that an export has; empty where somebody renamed it."""
    match = _IN_NAME.search(name)
    return match.group(1) if match else ""


def import_report(team: Team, user: User, data: bytes, stated: str) -> Report:
    """A private report with one revision. `stated` is the digest, or its first digits, as the report's page says it.

    Raises ImportRefused.
    """
    content = checked(data, stated)
    with transaction.atomic():
        report = Report.objects.create(team=team, title=title_of(content["title"]), created_by=user)
        try:
            write_revision(report, content, user, imported_by=team.name, imported_at=timezone.now())
        except ContentRefused as refused:
            raise ImportRefused(str(refused)) from refused
        make_link(report)
        audit.note("report_imported", team=team, actor=user, subject=report.title)
    return report


def checked(data: bytes, stated: str) -> Content:
    """The content of an exported file, if it is exactly what was published. Raises ImportRefused."""
    wanted = stated.strip().lower()
    if not re.fullmatch(rf"[0-9a-f]{{{MIN_DIGITS},64}}", wanted):
        raise ImportRefused(
            f"State the report's SHA-256, at least its first {MIN_DIGITS} digits: they stand on its page below "
            "“Cite and verify”, and in the name of the exported file."
        )
    if len(data) > MAX_BYTES:
        raise ImportRefused(f"The file has more than {MAX_BYTES // 2**20} MB: no report is that large.")
    digest = hashlib.sha256(data).hexdigest()
    if not digest.startswith(wanted):
        raise ImportRefused(
            f"The file was altered, or is another one: its SHA-256 begins with {digest[:16]}, and {wanted[:16]} was "
            "stated. Export the report again and import the file as it is."
        )
    content = _parsed(data)
    problem = problem_of(content)
    if problem:
        raise ImportRefused(f"This is no exported report: {problem}.")
    if not _is_canonical(content, data):
        raise ImportRefused("Another program has written this file anew. Import the file as it was exported.")
    return cast(Content, content)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"This is no JSON: {str(error)[:120]}.") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _is_canonical(content: Any, data: bytes) -> bool:
    """Whether it would be exported as the same bytes again."""
    try:
        return canonical(content) == data
    except (ValueError, RecursionError):
        return False
