"""Signing in and out, the account of a person, and choosing the team to look at."""

import uuid

from allauth.account.utils import perform_login
from allauth.mfa.models import Authenticator
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from benchsite.accounts import audit, sessions, sign_in_link, sso
from benchsite.accounts.login_throttling import TOO_MANY, WINDOW_S, GuardedPasswordChange, SignInForm
from benchsite.accounts.models import SignedIn, User
from benchsite.accounts.permissions import get_user, keep_team
from benchsite.core.responses import get_posted
from benchsite.core.url_checks import openable

BACKEND = "django.contrib.auth.backends.ModelBackend"


def set_status(response: HttpResponse, form: forms.BaseForm) -> HttpResponse:
    """422 for a form that was refused, 429 for too many wrong passwords or codes."""
    if not form.errors:
        return response
    response.status_code = 422
    if any(form.has_error(field, TOO_MANY) for field in form.errors):
        response.status_code = 429
        response.headers["Retry-After"] = str(WINDOW_S)
    return response


@require_http_methods(["GET", "POST"])
@login_required
@sensitive_post_parameters()
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """Who came by a one-time link has no password yet, and none to state."""
    user = get_user(request)
    kind = GuardedPasswordChange if user.has_usable_password() else SetPasswordForm
    form = kind(user, get_posted(request))
    if form.is_valid():
        form.save()
        audit.note("password_changed", team=None, actor=user)
        # Every other session holds the hash of the old password, which lets nobody in; this one gets a new key.
        old = request.session.session_key
        update_session_auth_hash(request, user)
        SignedIn.objects.filter(user=user, session_key=old).update(session_key=request.session.session_key)
        SignedIn.objects.filter(user=user).exclude(session_key=request.session.session_key).delete()
        messages.success(request, "The password is changed, and every other browser is signed out.")
        return redirect("account")

    context = {
        "form": form,
        "sessions": sessions.get_sessions(user),
        "current": request.session.session_key,
        "sso": sso.provider(),
        "connected": sso.connected(user),
        "second_factor": Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).first(),
    }
    return set_status(render(request, "teams/account.html", context), form)


@require_POST
@login_required
def session_end(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    sessions.end(get_object_or_404(SignedIn.objects.select_related("user"), user=get_user(request), pk=pk))
    messages.success(request, "That browser is signed out.")
    return redirect("account")


def _read_next(request: HttpRequest) -> str:
    """The address that a person asked for; that of a form, sent after the session had ended, cannot be opened."""
    return openable(request.POST.get("next") or request.GET.get("next") or "")


def next_address(request: HttpRequest) -> str:
    """Where to go after signing in: `next` if it stays on this site, else the home page."""
    address = _read_next(request)
    if url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()}, require_https=request.is_secure()):
        return address
    return "/"


@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("password")
@never_cache
def sign_in(request: HttpRequest) -> HttpResponse:
    """Name and password; a code follows where the person has a second factor."""
    if request.user.is_authenticated:
        return HttpResponseRedirect(next_address(request))

    form = SignInForm(request, data=request.POST or None)
    if request.method == "POST" and form.is_valid():
        response: HttpResponse = perform_login(request, form.get_user(), redirect_url=next_address(request))
        return response

    context = {
        "form": form,
        "next": _read_next(request),
        "embedded": settings.EMBEDDED,
        "sso": sso.provider(),
    }
    return set_status(render(request, "teams/sign_in.html", context), form)


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
        response: HttpResponse = perform_login(request, user, redirect_url=next_address(request))
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
