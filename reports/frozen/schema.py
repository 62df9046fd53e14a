"""Whether a value has the shape of a report's content, down to the last cell. A stranger wrote what is read."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from reports.frozen.content import FORMAT, VERSION, Content

MAX_DEPTH: Final = 60
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
    names = [one["name"] for kind in ("figures", "tables") for one in content[kind]]
    if len(set(names)) < len(names):
        yield f"two of the figures and tables are called {max(names, key=names.count)}"
    yield from _tables(content)
    try:
        aware = dt.datetime.fromisoformat(content["published_at"]).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        yield "/published_at is no moment with its offset from UTC"


def _plain(value: Any, where: str, depth: int) -> Iterator[str]:
    """PostgreSQL keeps no NUL; what shows a report goes down into it step by step."""
    if depth > MAX_DEPTH:
        yield f"{where[:60]} … is nested too deeply"
    elif isinstance(value, str):
        if "\0" in value:
            yield f"{where} has a NUL"
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _plain(one, f"{where}/{index}", depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _plain(key, f"{where}/{key[:40]}", depth)
            yield from _plain(one, f"{where}/{key[:40]}", depth + 1)


def _tables(content: Any) -> Iterator[str]:
    tables = [(f"/{kind}/{i}", one["table"]) for kind in ("figures", "tables") for i, one in enumerate(content[kind])]
    tables += [(f"/method/{name}", content["method"][name]) for name in ("environment", "validity", "excluded")]
    for where, table in tables:
        width = len(table["columns"])
        wrong = next((y for y, row in enumerate(table["rows"]) if len(row) != width), None)
        if wrong is not None:
            yield f"{where}: row {wrong + 1} has not as many cells as there are columns"
