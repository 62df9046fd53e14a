"""Signing in and out, and choosing the team to look at."""

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from benchsite.teams import sign_in_link, sso
from benchsite.teams.login_throttling import TOO_MANY, WINDOW_S, SignInForm
from benchsite.teams.models import User
from benchsite.teams.permissions import keep_team
from benchsite.url_checks import openable

BACKEND = "django.contrib.auth.backends.ModelBackend"


def _wanted(request: HttpRequest) -> str:
    """Where a person wanted to be; a form's address, which was sent after the session had ended, cannot be opened."""
    return openable(request.POST.get("next") or request.GET.get("next") or "")


def next_address(request: HttpRequest) -> str:
    """Where to go after signing in: `next` if it stays on this site, else the home page."""
    wanted = _wanted(request)
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return wanted
    return "/"


@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("password")
@never_cache
def sign_in(request: HttpRequest) -> HttpResponse:
    """Name and password."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_address(request))
    form = SignInForm(request, data=request.POST or None)
    if request.method == "POST" and form.is_valid():
        login(request, form.get_user())
        return HttpResponseRedirect(next_address(request))
    waits = form.has_error(NON_FIELD_ERRORS, TOO_MANY)
    context = {
        "form": form,
        "next": _wanted(request),
        "embedded": settings.EMBEDDED,
        "sso": sso.provider(),
    }
    status = 429 if waits else 422 if form.is_bound else 200
    response = render(request, "teams/sign_in.html", context, status=status)
    if waits:
        response.headers["Retry-After"] = str(WINDOW_S)
    return response


@csrf_exempt
def sign_in_once(request: HttpRequest, token: str) -> HttpResponse:
    """The page below, protected against forgery by its CSRF token alone.

    It is sent with `Referrer-Policy: no-referrer`, under which browsers say `Origin: null` of its own form. Django
    would refuse that before it looks at the token.
    """
    if request.META.get("HTTP_ORIGIN") == "null":
        del request.META["HTTP_ORIGIN"]
    return _sign_in_once(request, token)


@csrf_protect
@require_http_methods(["GET", "POST"])
@never_cache
def _sign_in_once(request: HttpRequest, token: str) -> HttpResponse:
    """A one-time link. Opening it only shows a button, so that a preview or a prefetch does not use it up."""
    user: User | None = None
    if request.method == "POST":
        user = sign_in_link.use_link(token)
        if user is not None:
            login(request, user, backend=BACKEND)
    if user is not None:
        response: HttpResponse = redirect("/")
    else:
        failed = request.method == "POST"
        response = render(request, "teams/sign_in_once.html", {"failed": failed}, status=410 if failed else 200)
    # The address holds the token: no page it leads to may learn it.
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


@require_POST
@login_required
def choose_team(request: HttpRequest) -> HttpResponse:
    """Keeps the chosen team in the session; one that the person is not in is ignored."""
    keep_team(request, request.POST.get("team", ""))
    return redirect("/")
