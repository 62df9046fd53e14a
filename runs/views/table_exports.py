"""The .csv and .json twins of a table page: the same filter, streamed, with cells that no spreadsheet takes for a
formula.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponseBase, StreamingHttpResponse
from django.urls import URLPattern, path

from benchsite.formatting import not_a_formula

CONTENT_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def twin_urls(view: Callable[..., HttpResponseBase], name: str) -> list[URLPattern]:
    """`name.csv` and `name.json`, for a view that takes `form`; their names end in -csv and -json."""
    return [path(f"{name}.{form}", view, {"form": form}, name=f"{name}-{form}") for form in CONTENT_TYPES]


def twin(form: str, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """The rows as a download."""
    pieces = _csv(columns, rows) if form == "csv" else _json(columns, rows)
    response = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


class _Echo:
    """A file that hands each written line back, for streaming."""

    def write(self, line: str) -> str:
        return line


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([not_a_formula(_cell(value)) for value in row])


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return ", ".join(value) if isinstance(value, list) else value


def _json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A list with one object a line."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(dict(zip(columns, row, strict=True)), cls=DjangoJSONEncoder, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"
