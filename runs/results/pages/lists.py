"""What all lists share: filters in the address, pages, and streamed exports (CSV, JSON) of the same filter."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Page, Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import URLPattern, path

from benchsite.core.formatting import printable
from benchsite.core.table import Columns, csv_line, read_row
from runs.identifiers import parse_uuid
from runs.models import Phase

MAX_CHARACTERS = 200  # of one value
MAX_WORDS = 8  # of a search
M = TypeVar("M", bound=Model)
CONTENT_TYPES: Final = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
# Nobody turns more pages than these rows have; counting a million rows for each page would take longer than the page.
MAX_ROWS = 2_000
PER_PAGE = 50
BOTH = "any"  # phases


class Menu(forms.ChoiceField):
    """A filter of the rows whose `column` has the chosen value. Without `choices`, any value may be asked for and the
    page offers those of its rows (`offer`). With an `initial` choice there is always one.
    """

    def __init__(self, label: str, column: str = "", choices: Any = (), **options: Any) -> None:
        super().__init__(label=label, required=False, **options)
        self.column = column
        self.is_open = not choices
        self.offer(choices)

    def offer(self, choices: Iterable[str] | Iterable[tuple[str, str]]) -> None:
        """Values, or values with their texts."""
        pairs = [(choice, choice) if isinstance(choice, str) else choice for choice in choices]
        self.choices = pairs
        if not self.initial:
            self.choices = [("", "any"), *pairs]

    def valid_value(self, value: str) -> bool:
        return self.is_open or super().valid_value(value)


class KeyMenu(Menu):
    """A menu of rows."""

    def valid_value(self, value: str) -> bool:
        return parse_uuid(value) is not None


def search_field(placeholder: str) -> forms.CharField:
    return forms.CharField(label="Search", required=False, widget=forms.SearchInput({"placeholder": placeholder}))


def phase_menu() -> Menu:
    """The measured phase unless the address says otherwise, because loads are a means."""
    return Menu("Phase", "phase", [*Phase.choices, (BOTH, "both")], initial=Phase.MEASURE.value)


class Order(forms.ChoiceField):
    """The orders of a list's rows by their names; `initial` unless the address says otherwise."""

    def __init__(self, sorts: Mapping[str, Sequence[str | OrderBy]], initial: str = "newest") -> None:
        names = [(name, name) for name in sorts]
        super().__init__(choices=names, required=False, initial=initial, widget=forms.HiddenInput)
        self.sorts = sorts


class ListFilter(forms.Form):
    """Search, filters and order of a list, from its address. A value that is not valid restricts nothing."""

    noun: ClassVar[str]
    plural: ClassVar[str]  # also begins the names of its exports' addresses
    fields: dict[str, Any]

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__({name: _plain(query.get(name) or "") for name in self.base_fields})
        self.full_clean()
        self.defaults = {name: field.initial or "" for name, field in self.fields.items()}
        self.values = {name: self.cleaned_data.get(name) or usual for name, usual in self.defaults.items()}
        self.data = self.values

    @property
    def query(self) -> str:
        """The query string, only with what differs from the defaults and in one order: equal lists have equal
        addresses.
        """
        return urlencode([(name, value) for name, value in self.values.items() if value != self.defaults[name]])

    @property
    def active(self) -> bool:
        """Whether anything is restricted; sorting is no restriction."""
        return {**self.values, "sort": ""} != {**self.defaults, "sort": ""}

    @property
    def words(self) -> list[str]:
        """The words of the search."""
        return self.values["q"].split()[:MAX_WORDS]

    def offer(self, **choices: Iterable[str] | Iterable[tuple[str, str]]) -> None:
        """Sets the options of open menus."""
        for name, values in choices.items():
            self.fields[name].offer(values)

    def offer_values(self, rows: QuerySet[M], *names: str) -> None:
        """The values that the rows have in the columns of these menus; one query."""
        columns = [self.fields[name].column for name in names]
        values = list(rows.order_by().values_list(*columns).distinct())
        for at, name in enumerate(names):
            self.fields[name].offer(sorted({row[at] for row in values} - {""}))

    def narrow(self, rows: QuerySet[M]) -> QuerySet[M]:
        """The rows that have the chosen values in their columns and are of the chosen phase."""
        for name, field in self.fields.items():
            column, value = getattr(field, "column", ""), self.values[name]
            if column and value and (name, value) != ("phase", BOTH):
                rows = rows.filter(Q((column, value)))
        return rows

    def order(self, rows: QuerySet[M], *ties: str) -> QuerySet[M]:
        return rows.order_by(*self.fields["sort"].sorts[self.values["sort"]], *ties)


def _plain(text: str) -> str:
    return printable(text).strip()[:MAX_CHARACTERS]


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
    def count_text(self) -> str:
        return f"{self.count:,}{'+' if self.beyond else ''}"


def get_page(request: HttpRequest, rows: QuerySet[M], per_page: int = PER_PAGE, *, by_keys: bool = False) -> Page[M]:
    """The page that the URL asks for; one that does not exist is the nearest that does."""
    return BoundedPaginator(rows, per_page, by_keys=by_keys).get_page(request.GET.get("page"))


def export_urls(view: Callable[..., HttpResponseBase], name: str) -> list[URLPattern]:
    """`name.csv` and `name.json`, for a view that takes `form`; their names end in -csv and -json."""
    return [path(f"{name}.{form}", view, {"form": form}, name=f"{name}-{form}") for form in CONTENT_TYPES]


def export(form: str, name: str, columns: Columns, rows: Iterable[object]) -> StreamingHttpResponse:
    """The rows as a download."""
    cells = (read_row(columns, row) for row in rows)
    pieces = map(csv_line, chain([tuple(columns)], cells)) if form == "csv" else _json(columns, cells)
    response = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


def _json(columns: Iterable[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A list with one object a line."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(dict(zip(columns, row, strict=True)), cls=DjangoJSONEncoder, ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"
