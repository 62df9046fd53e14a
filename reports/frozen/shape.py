"""Whether a value has the shape of a report's content, down to the last cell. A stranger wrote what is read."""

import datetime as dt
import re
import types
from collections.abc import Iterator
from typing import Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

from reports.frozen.content import FORMAT, VERSION, Content

DRAWINGS: Final = frozenset({"light", "dark", "light-narrow", "dark-narrow"})
MOST_HEIGHT_PX: Final = 10_000
MOST_DEPTH: Final = 60
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_SAYS: Final = {str: "a text", int: "a whole number", float: "a number", type(None): "null"}


def problem_of(content: Any) -> str:
    """The first thing that is wrong, with where it is; empty for what is a report's content."""
    return next(iter(_problems(content)), "")


def _problems(content: Any) -> Iterator[str]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        yield f"it does not say that it is a {FORMAT}"
        return
    if content.get("version") != VERSION:
        yield f"it has version {str(content.get('version'))[:20]}, and this site reads version {VERSION}"
        return
    wrong = next(_mismatches(content, Content, ""), "")
    if wrong:
        yield wrong
        return
    yield from _names(content)
    yield from _tables(content)
    for figure in content["figures"]:
        yield from _drawings(figure)
    if not content["title"].strip():
        yield "/title is empty"
    if not _is_moment(content["published_at"]):
        yield "/published_at is no moment with its offset from UTC"


def _is_moment(text: str) -> bool:
    try:
        return dt.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _mismatches(value: Any, hint: Any, where: str, depth: int = 0) -> Iterator[str]:
    """Where a value is not of its declared type. TypedDicts are closed: a key too many is a mismatch."""
    if depth > MOST_DEPTH:
        yield f"{where[:60]} … is nested too deeply"
    elif hint is Any:
        yield from _plain(value, where, depth)
    elif is_typeddict(hint):
        yield from _keys(value, hint, where, depth)
    elif get_origin(hint) is list:
        if not isinstance(value, list):
            yield f"{where} is no list"
            return
        for index, one in enumerate(value):
            yield from _mismatches(one, get_args(hint)[0], f"{where}/{index}", depth + 1)
    elif get_origin(hint) is dict:
        if not isinstance(value, dict):
            yield f"{where} is no object"
            return
        for key, one in value.items():
            yield from _plain(key, where, depth)
            yield from _mismatches(one, get_args(hint)[1], f"{where}/{key[:40]}", depth + 1)
    elif not _is_one_of(value, get_args(hint) if get_origin(hint) in (types.UnionType, Union) else (hint,)):
        yield f"{where} is not {_SAYS.get(hint, 'a text, a number or null')}"
    else:
        yield from _plain(value, where, depth)


def _is_one_of(value: Any, kinds: tuple[Any, ...]) -> bool:
    return type(value) in kinds or (type(value) is int and float in kinds)


def _keys(value: Any, hint: Any, where: str, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where or '/'} is no object"
        return
    hints = get_type_hints(hint)
    for key in sorted(hint.__required_keys__ - value.keys()):
        yield f"{where}/{key} is missing"
    for key in sorted(value.keys() - hints.keys()):
        yield f"{where}/{str(key)[:40]} is unknown"
    for key in hints.keys() & value.keys():
        yield from _mismatches(value[key], hints[key], f"{where}/{key}", depth + 1)


def _plain(value: Any, where: str, depth: int) -> Iterator[str]:
    """JSON as it is; PostgreSQL keeps no NUL."""
    if depth > MOST_DEPTH:
        yield f"{where[:60]} … is nested too deeply"
    elif isinstance(value, str):
        if "\0" in value:
            yield f"{where} has a NUL"
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _plain(one, f"{where}/{index}", depth + 1)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _plain(one, f"{where}/{key[:40]}", depth + 1)


def _names(content: Any) -> Iterator[str]:
    seen: set[str] = set()
    for kind in ("figures", "tables"):
        for index, one in enumerate(content[kind]):
            if not NAME.fullmatch(one["name"]):
                yield f"/{kind}/{index}/name is not made of small letters, digits and hyphens"
            if one["name"] in seen:
                yield f"/{kind}/{index}/name stands twice"
            seen.add(one["name"])


def _tables(content: Any) -> Iterator[str]:
    tables = [(f"/{kind}/{i}", one["table"]) for kind in ("figures", "tables") for i, one in enumerate(content[kind])]
    tables += [(f"/method/{name}", content["method"][name]) for name in ("environment", "validity", "excluded")]
    for where, table in tables:
        width = len(table["columns"])
        wrong = next((y for y, row in enumerate(table["rows"]) if len(row) != width), None)
        if wrong is not None:
            yield f"{where}: row {wrong + 1} has not as many cells as there are columns"


def _drawings(figure: Any) -> Iterator[str]:
    where = f"/figures/{figure['name']}"
    if not 0 <= figure["height_px"] <= MOST_HEIGHT_PX:
        yield f"{where}/height_px is not between 0 and {MOST_HEIGHT_PX}"
    for name, drawn in figure["drawn"].items():
        data, layout = drawn.get("data"), drawn.get("layout")
        traces = isinstance(data, list) and all(isinstance(trace, dict) for trace in data)
        if name not in DRAWINGS or not traces or not isinstance(layout, dict):
            yield f"{where}/drawn/{name[:20]} is no drawing"
