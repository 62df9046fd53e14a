"""Pages of a list."""

from functools import cached_property
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

PER_PAGE = 50
# Nobody turns more pages than these rows have; counting a million rows for each page would take longer than the page.
MAX_ROWS = 2_000
M = TypeVar("M", bound=Model)


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not at run time
    """Counts to `MAX_ROWS` and no further. What comes behind is found by narrowing the filter or another order."""

    @cached_property
    def _counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: MAX_ROWS + 1].count())

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


def page_of(request: HttpRequest, rows: QuerySet[M], per_page: int = PER_PAGE) -> Page[M]:
    """The page that the URL asks for; one that does not exist is the nearest that does."""
    return BoundedPaginator(rows, per_page).get_page(request.GET.get("page"))
