"""Buttons on the page of a row: something is done to the row, and its page comes back."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from uuid import UUID

from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import team_required

M = TypeVar("M", bound=Model)
Action = Callable[[HttpRequest, M], HttpResponseBase | None]


def row_action(
    model: type[M], *refusals: type[Exception], prefix: str = "", anchor: str = ""
) -> Callable[[Action[M]], Callable[..., HttpResponseBase]]:
    """For runners, by POST. The page of the row, whose address has the name of the model, comes next unless the action
    answers another one. It shows what is refused, behind the prefix.
    """

    def decorate(action: Action[M]) -> Callable[..., HttpResponseBase]:
        @team_required("POST", role=Role.RUNNER)
        @wraps(action)
        def view(request: HttpRequest, pk: UUID) -> HttpResponseBase:
            answer = None
            try:
                answer = action(request, get_object_or_404(model, pk=pk))
            except refusals as refused:
                messages.error(request, f"{prefix}{refused}")
            return answer or redirect(reverse(str(model._meta.model_name), args=[pk]) + anchor)

        return view

    return decorate
