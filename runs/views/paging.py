"""Pages of a list."""

from typing import TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

PER_PAGE = 50
M = TypeVar("M", bound=Model)


def page_of(request: HttpRequest, rows: QuerySet[M], per_page: int = PER_PAGE) -> Page[M]:
    """The page that the URL asks for; one that does not exist is the nearest that does."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))
