"""What all lists share: filters that live in the address, pages, and downloads as CSV and JSON of the same filter.

Downloads are streamed, with cells that no spreadsheet takes for a formula.
"""

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Final, Self, TypeVar
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.urls import URLPattern, path

from benchsite.core.formatting import not_a_formula
from runs.identifiers import parse_uuid
from runs.models.run import Phase

MAX_CHARACTERS = 200  # of one value
MAX_WORDS = 8  # of a search
M = TypeVar("M", bound=Model)
CONTENT_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
# Nobody turns more pages than these rows have; counting a million rows for each page would take longer than the page.
MAX_ROWS = 2_000
PER_PAGE = 50


class AddressFilter:
    """A base for frozen dataclasses of texts: each field is one parameter of the address, empty means no restriction.

    `phase` is "measure" unless the address says otherwise, because loads are a means; "any" shows both.
    """

    __slots__ = ()
    q: str
    phase: str
    sort: str
    COLUMNS: ClassVar[Mapping[str, str]]  # field -> the column that must have its value
    CHOICES: ClassVar[Mapping[str, Collection[str]]]  # field -> the values that it may have
    IDS: ClassVar[Collection[str]] = ()  # fields that name a row

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, str]) -> Self:
        """Reads the address; a value that cannot be meant is no restriction instead of an empty page."""
        choices = {"phase": {*Phase.values, "any"}, **cls.CHOICES}
        values = {}
        for name in (field.name for field in fields(cls)):  # type: ignore[arg-type]
            text = "".join(c for c in query.get(name) or "" if c.isprintable()).strip()[:MAX_CHARACTERS]
            if name in cls.IDS:
                text = str(parse_uuid(text) or "")
            if text and (name not in choices or text in choices[name]):
                values[name] = text
        return cls(**values)

    def query(self, **changes: str) -> str:
        """The query string, only with what differs from the defaults and in one order, so that equal lists have
        equal addresses."""
        changed, plain = replace(self, **changes), type(self)()  # type: ignore[type-var]
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return urlencode([(name, v) for name in names if (v := getattr(changed, name)) != getattr(plain, name)])

    @property
    def active(self) -> bool:
        """Whether anything is restricted; sorting is no restriction."""
        plain = type(self)()
        names = [field.name for field in fields(self) if field.name != "sort"]  # type: ignore[arg-type]
        return any(getattr(self, name) != getattr(plain, name) for name in names)

    @property
    def words(self) -> list[str]:
        """Of the search."""
        return self.q.split()[:MAX_WORDS]

    def narrowed(self, rows: QuerySet[M]) -> QuerySet[M]:
        """The rows that have the chosen values in their columns and are of the chosen phase."""
        chosen = {column: value for name, column in self.COLUMNS.items() if (value := getattr(self, name))}
        if self.phase != "any":
            chosen["phase"] = self.phase
        return rows.filter(Q(**chosen))


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not at run time
    """Counts to `MAX_ROWS` and no further. Narrowing the filter or another order leads to what comes behind.

    `by_keys` sorts as few rows as a search matches by their keys: PostgreSQL would go through the whole list in its
    order until it has met them.
    """

    def __init__(self, rows: QuerySet[Any], per_page: int, *, by_keys: bool = False) -> None:
        super().__init__(rows, per_page)
        self.by_keys = by_keys

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        if not self.by_keys:
            return int(rows.order_by()[: MAX_ROWS + 1].count())
        keys = list(rows.order_by().values_list("pk", flat=True)[: MAX_ROWS + 1])
        if len(keys) <= MAX_ROWS:
            self.object_list = rows.filter(pk__in=keys)
        return len(keys)

    @cached_property
    def count(self) -> int:
        return min(self._counted, MAX_ROWS)

    @property
    def beyond(self) -> bool:
        """Whether there are more rows than it pages through."""
        return self._counted > MAX_ROWS

    @property
    def said(self) -> str:
        return f"{self.count:,}{'+' if self.beyond else ''}"


def get_page(request: HttpRequest, rows: QuerySet[M], per_page: int = PER_PAGE, *, by_keys: bool = False) -> Page[M]:
    """The page that the URL asks for; one that does not exist is the nearest that does."""
    return BoundedPaginator(rows, per_page, by_keys=by_keys).get_page(request.GET.get("page"))


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
