"""Tenant isolation: a query of a team's rows sees those of one team, and raises where no team is known.

`TeamManager` is the manager of every model with a `team` whose rows only members read. What it answers depends on the
scope of the context: one team, all teams, or none, in which a query raises. A request begins with none; what lets
somebody in (a membership, a token, a link) enters the team. Processes that serve all teams (commands, the scheduler,
conductors) say so once, when they start.

Foreign keys are followed without a scope: a row that may be seen leads to the rows that it names.
"""

import enum
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.core.signals import request_finished, request_started
from django.db.models import Manager, Model, QuerySet

M_co = TypeVar("M_co", bound=Model, covariant=True)


class Scope(enum.Enum):
    """A scope that is not one team."""

    NO_TEAM = enum.auto()
    ALL_TEAMS = enum.auto()


_scope: ContextVar[uuid.UUID | Scope] = ContextVar("scope")
# A context variable's value does not reach the threads that a process starts.
_process_scope = Scope.NO_TEAM


class TeamRequired(RuntimeError):
    """A team's rows were asked for where no team is known: a defect of the code, never somebody's input."""


class TeamManager(Manager[M_co]):
    """The rows of the team in scope. Raises TeamRequired where there is none."""

    def get_queryset(self) -> QuerySet[M_co]:
        rows = super().get_queryset()
        scope = _scope.get(_process_scope)
        if scope is Scope.ALL_TEAMS:
            return rows
        if scope is Scope.NO_TEAM:
            raise TeamRequired(f"{self.model.__name__} rows belong to teams, and no team was entered here.")
        return rows.filter(team=scope)

    def none(self) -> QuerySet[M_co]:
        """No rows of no team: forms name their model so, before there is a request."""
        return super().get_queryset().none()


def serve_all_teams() -> None:
    """Let this process, outside of requests, see the rows of all teams."""
    global _process_scope
    _process_scope = Scope.ALL_TEAMS


def enter(scope: uuid.UUID | Scope) -> None:
    """Set the scope for the rest of the request, its streamed body included: the key of a team, or ALL_TEAMS."""
    _scope.set(scope)


@contextmanager
def all_teams() -> Iterator[None]:
    """For what crosses teams on purpose: the owner of a secret, places in the queue, who uses a machine."""
    before = _scope.set(Scope.ALL_TEAMS)
    try:
        yield
    finally:
        _scope.reset(before)


def begin_request(**_: Any) -> None:
    """Nobody has entered a team yet."""
    _scope.set(Scope.NO_TEAM)


def leave(**_: Any) -> None:
    """Back to the scope of the process. The signal comes after the last byte of a streamed body."""
    _scope.set(_process_scope)


request_started.connect(begin_request)
request_finished.connect(leave)
