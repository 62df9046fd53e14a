"""Sets `request.team`: the team whose things a signed-in person is looking at. Answers whose password must wait,
refuses large bodies of people who have not signed in, and asks for a second factor where the site requires it.
"""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import SimpleLazyObject

from benchsite.accounts import second_factor, tenancy
from benchsite.accounts.password_hashing import Busy
from benchsite.accounts.permissions import current_team
from benchsite.core.middleware import Middleware

RETRY_AFTER_S: Final = 5
MAX_ANONYMOUS_BODY_BYTES: Final = 4096
# Their endpoints check a credential before they read a body.
APIS: Final = ("/api/", "/generator-api/")


class AnonymousBodies(Middleware):
    """Answers 413 to a body above MAX_ANONYMOUS_BODY_BYTES, and 417 to one that waits for "100 Continue", of somebody
    who has not signed in. Nothing of it is read: it would occupy a thread for large bodies as long as it arrives.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        status = self._refusal(request)
        if status is None or request.user.is_authenticated:
            return self.get_response(request)
        text = f"Sign in first. Without that a request has at most {MAX_ANONYMOUS_BODY_BYTES} bytes, sent at once."
        return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")

    def _refusal(self, request: HttpRequest) -> int | None:
        if request.path_info.startswith(APIS):
            return None
        if "Expect" in request.headers:
            return 417
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > MAX_ANONYMOUS_BODY_BYTES:
            return 413
        return None


class RequiredSecondFactor(Middleware):
    """Whoever must set a second factor up opens no other page before."""

    OPEN: Final = ("mfa_activate_totp", "mfa_reauthenticate", "account_reauthenticate", "sign-out")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        match = request.resolver_match
        is_open = match is not None and match.url_name in self.OPEN
        if is_open or not second_factor.must_set_up(request):
            return None
        return redirect("mfa_activate_totp")


class CurrentTeam(Middleware):
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
