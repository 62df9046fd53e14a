"""A report that another site or team exported becomes one of ours: the same content, byte for byte, the same digest.

Every text in it is a stranger's; pages show it as they show all content (`rendering`). What was altered is refused.
"""

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn, cast

from django.db import transaction
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from reports.frozen.content import FORMAT, VERSION, Content, canonical
from reports.frozen.links import make_link
from reports.frozen.publication import MAX_BYTES, ContentRefused, title_of, write_revision
from reports.frozen.sanitizer import TRACES
from reports.models import Report

MAX_DEPTH: Final = 60
MAX_NUMBER: Final = 1e18  # beyond every count, rate, latency and time stamp; a float holds it
# No report is older than YCSB. The upper end allows for a clock that is fast.
MIN_PUBLISHED: Final = dt.datetime(2010, 1, 1, tzinfo=dt.UTC)
MAX_AHEAD: Final = dt.timedelta(days=1)
CONTENT: Final = TypeAdapter(Content)


def _problems(content: Any) -> Iterator[str]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        yield f"it does not say that it is a {FORMAT}"
        return
    if content.get("version") != VERSION:
        yield f"it has version {str(content.get('version'))[:20]}, and this site reads version {VERSION}"
        return
    yield from _plain(content, "", 0)
    try:
        CONTENT.validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = "".join(f"/{str(step)[:40]}" for step in first["loc"])
        yield f"{where}: {first['msg']}"
        return
    names = [part["name"] for kind in ("figures", "tables") for part in content[kind]]
    if len(set(names)) < len(names):
        yield f"two of the figures and tables are called {max(names, key=names.count)}"
    tables = [(f"/{kind}/{i}", part["table"]) for kind in ("figures", "tables") for i, part in enumerate(content[kind])]
    tables += [(f"/method/{name}", content["method"][name]) for name in ("environment", "validity", "excluded")]
    for where, table in tables:
        width = len(table["columns"])
        wrong = next((y for y, row in enumerate(table["rows"]) if len(row) != width), None)
        if wrong is not None:
            yield f"{where}: row {wrong + 1} has not as many cells as there are columns"
    # Pages draw these types and no others.
    for i, figure in enumerate(content["figures"]):
        for drawing, drawn in figure["drawn"].items():
            for j, trace in enumerate(drawn["data"]):
                kind = trace.get("type", "scatter")
                if not isinstance(kind, str) or kind not in TRACES:
                    yield f"/figures/{i}/drawn/{drawing}/data/{j}/type must be one of {', '.join(sorted(TRACES))}"
    try:
        published_at = dt.datetime.fromisoformat(content["published_at"])
    except ValueError:
        published_at = dt.datetime.min
    if published_at.tzinfo is None:
        yield "/published_at is no moment with its offset from UTC"
    elif not MIN_PUBLISHED <= published_at <= dt.datetime.now(dt.UTC) + MAX_AHEAD:
        yield f"/published_at must be between {MIN_PUBLISHED:%Y-%m-%d} and today"


def _plain(value: Any, where: str, depth: int) -> Iterator[str]:
    """PostgreSQL stores no NUL, a float no number beyond its range, and the stack has an end."""
    if depth > MAX_DEPTH:
        yield f"{where[:60]} … is nested too deeply"
    elif isinstance(value, int | float):
        if not (abs(value) <= MAX_NUMBER and math.isfinite(value)):
            yield f"{where} is beyond the numbers of a report (±{MAX_NUMBER})"
    elif isinstance(value, str):
        if "\0" in value:
            yield f"{where} has a NUL"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _plain(item, f"{where}/{index}", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _plain(key, f"{where}/{key[:40]}", depth)
            yield from _plain(item, f"{where}/{key[:40]}", depth + 1)


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
    # The first thing that is wrong, with where it is; empty for what is a report's content.
    problem = next(_problems(content), "")
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
