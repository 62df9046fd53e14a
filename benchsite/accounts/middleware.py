"""Sets `request.team`: the team whose things a signed-in person is looking at. And answers whose password must wait."""

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import SimpleLazyObject

from benchsite.accounts import tenancy
from benchsite.accounts.password_hashing import Busy
from benchsite.accounts.permissions import current_team

RETRY_AFTER_S: Final = 5


class CurrentTeam:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.team = SimpleLazyObject(lambda: current_team(request))  # type: ignore[attr-defined]
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Operators see the rows of all teams in Django's administration."""
        match = request.resolver_match
        if match is not None and match.app_name == "admin" and request.user.is_staff:
            tenancy.enter(tenancy.Scope.ALL_TEAMS)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """In whichever form somebody states a password or chooses one."""
        if not isinstance(exception, Busy):
            return None
        response = render(request, "503.html", status=503)
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
        return response
