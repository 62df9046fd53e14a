"""Whether a value has the shape of a report's content, down to the last cell. A stranger wrote what is read."""

import datetime as dt
import math
from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from reports.frozen.content import FORMAT, VERSION, Content
from reports.frozen.sanitizer import TRACES

MAX_DEPTH: Final = 60
MAX_NUMBER: Final = 1e18  # beyond every count, rate, latency and time stamp; a float holds it
# No report is older than YCSB. The upper end allows for a clock that is fast.
MIN_PUBLISHED: Final = dt.datetime(2010, 1, 1, tzinfo=dt.UTC)
MAX_AHEAD: Final = dt.timedelta(days=1)
CONTENT: Final = TypeAdapter(Content)


def problem_of(content: Any) -> str:
    """The first thing that is wrong, with where it is; empty for what is a report's content."""
    return next(_problems(content), "")


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
    yield from _tables(content)
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


def _tables(content: Any) -> Iterator[str]:
    tables = [(f"/{kind}/{i}", part["table"]) for kind in ("figures", "tables") for i, part in enumerate(content[kind])]
    tables += [(f"/method/{name}", content["method"][name]) for name in ("environment", "validity", "excluded")]
    for where, table in tables:
        width = len(table["columns"])
        wrong = next((y for y, row in enumerate(table["rows"]) if len(row) != width), None)
        if wrong is not None:
            yield f"{where}: row {wrong + 1} has not as many cells as there are columns"
