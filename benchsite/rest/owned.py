"""Rows of the asker's team. Another team's row is no more there than one that does not exist."""

from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from benchsite.rest.authentication import team_in
from benchsite.rest.problems import Problem

M = TypeVar("M", bound=Model)


def owned(rows: QuerySet[M], request: HttpRequest, pk: UUID) -> M:
    """The team's row of this key. Raises Problem("not-found")."""
    row = rows.filter(team=team_in(request), pk=pk).first()
    if row is None:
        kind = rows.model._meta.verbose_name
        raise Problem("not-found", f"Your team has no {kind} {pk}.")
    return row
