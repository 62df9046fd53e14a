"""Long lists are read by cursor: pages that neither skip nor repeat a row while others are added.

A cursor names the last row of a page by the columns of the list's order. It is opaque to whoever uses it, and signed
for this list, so that what it holds fits the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from django.core import signing
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from benchsite.rest.problems import Problem

M = TypeVar("M", bound=Model)
MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50


class PageQuery(Schema):
    """What every list by pages takes."""

    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="How many at most.")
    cursor: str | None = Field(None, max_length=400, description="`next_cursor` of the page before.")


class PageAnswer(Schema):
    """What every list by pages says, beside its `items`."""

    next_cursor: str | None = Field(description="For the next page; null: this is the last.")
    next: str | None = Field(description="The address of the next page, with the same filter.")


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """The rows of one page, from which django-ninja makes the answer of the endpoint."""

    items: list[M]
    next_cursor: str | None
    next: str | None


def get_page(request: HttpRequest, rows: QuerySet[M], order: Sequence[str], query: PageQuery) -> Slice[M]:
    """One page of the rows in `order`: columns, all ascending or all descending (“-created_at”), the last one unique.

    Raises Problem for a cursor that is none.
    """
    columns = [name.removeprefix("-") for name in order]
    lookup = "gt"
    if order[0].startswith("-"):
        lookup = "lt"
    salt = f"benchsite.rest.pages:{rows.model._meta.label}:{','.join(order)}"
    if query.cursor is not None:
        try:
            last_values = signing.loads(query.cursor, salt=salt)
        except (signing.BadSignature, ValueError):
            raise Problem(
                "validation-error",
                "The cursor is none of this list's: take `next_cursor` of the page before, or begin without.",
                errors=[{"pointer": "query.cursor", "detail": "not a cursor of this list", "code": "cursor"}],
            ) from None
        rows = rows.filter(_build_condition(columns, last_values, lookup))

    items = list(rows.order_by(*order)[: query.limit + 1])
    if len(items) <= query.limit:
        return Slice(items, next_cursor=None, next=None)

    items = items[: query.limit]
    cursor = signing.dumps([_serialise(getattr(items[-1], name)) for name in columns], salt=salt)
    parameters = request.GET.copy()
    parameters["cursor"] = cursor
    address = f"{request.path}?{urlencode(list(parameters.lists()), doseq=True)}"
    return Slice(items, next_cursor=cursor, next=address)


def _serialise(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _build_condition(columns: Sequence[str], values: Sequence[Any], lookup: str) -> Q:
    """Behind the row with these values, in the order of all columns; the first condition alone is what an index serves.

    `lookup` is gt or lt.
    """
    column, *more_columns = columns
    value, *more_values = values
    is_behind = Q((f"{column}__{lookup}", value))
    if not more_columns:
        return is_behind
    tie = Q((column, value)) & _build_condition(more_columns, more_values, lookup)
    return Q((f"{column}__{lookup}e", value)) & (is_behind | tie)
