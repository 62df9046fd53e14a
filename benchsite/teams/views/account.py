"""A person's own account: password, and in which browsers they are signed in."""

import uuid

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from benchsite.teams import audit, sessions, sso
from benchsite.teams.login_throttling import TOO_MANY, WINDOW_S, GuardedPasswordChange
from benchsite.teams.models import SignedIn
from benchsite.teams.permissions import user_of


@require_http_methods(["GET", "POST"])
@login_required
@sensitive_post_parameters()
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    """Who came by a one-time link has no password yet, and none to state."""
    user = user_of(request)
    kind = GuardedPasswordChange if user.has_usable_password() else SetPasswordForm
    form = kind(user, request.POST if request.method == "POST" else None)
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
        "sessions": sessions.sessions_of(user),
        "current": request.session.session_key,
        "sso": sso.provider(),
        "connected": sso.connected(user),
    }
    waits = form.has_error("old_password", TOO_MANY)
    response = render(request, "teams/account.html", context, status=429 if waits else 422 if form.is_bound else 200)
    if waits:
        response.headers["Retry-After"] = str(WINDOW_S)
    return response


@require_POST
@login_required
def session_end(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    sessions.end(get_object_or_404(SignedIn.objects.select_related("user"), user=user_of(request), pk=pk))
    messages.success(request, "That browser is signed out.")
    return redirect("account")
