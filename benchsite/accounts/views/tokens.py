"""A team's keys for programs."""

import uuid
from collections.abc import Collection
from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from benchsite.accounts import tokens
from benchsite.accounts.forms import TokenForm
from benchsite.accounts.models import ApiToken, Role, Scope
from benchsite.accounts.permissions import get_membership, get_team, get_user, has_role, team_required
from benchsite.core.responses import form_status, get_posted


@team_required("GET", "POST")
@never_cache
def token_list(request: HttpRequest) -> HttpResponse:
    """The team's tokens; making one answers with the whole of it, this once."""
    role = get_membership(request).role
    form = TokenForm(get_posted(request), role=role)
    token, scopes = "", []
    if form.is_valid():
        data = form.cleaned_data
        try:
            token = tokens.make(
                get_team(request), get_user(request), name=data["name"], scopes=data["scopes"], life=form.life
            )
        except tokens.TokenRefused as refused:
            form.add_error(None, str(refused))
        else:
            form, scopes = TokenForm(role=role), data["scopes"]

    return _render_page(request, form, token, scopes)


@team_required("POST")
@never_cache
def token_change(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """Rotate or revoke: one's own, or as an admin anybody's."""
    token = get_object_or_404(ApiToken.objects.select_related("maker", "team"), pk=pk)
    me = get_user(request)
    if token.maker != me and not has_role(request, Role.ADMIN):
        return HttpResponse("Only its maker and the team's admins may do that.", status=403)
    if "revoke" in request.POST:
        tokens.revoke(token, me)
        messages.success(request, f"“{token.name}” is revoked. Requests with it are refused.")
        return redirect("tokens")
    if token.maker != me:
        return HttpResponse("Only its maker may rotate a token: it would go on in their name.", status=403)

    form = TokenForm(role=get_membership(request).role)
    try:
        return _render_page(request, form, tokens.rotate(token, me), token.scopes)
    except tokens.TokenRefused as refused:
        messages.error(request, str(refused))
        return redirect("tokens")


def _render_page(request: HttpRequest, form: TokenForm, token: str, scopes: Collection[str]) -> HttpResponse:
    rows = get_team(request).tokens.select_related("maker")
    ended = Q(revoked_at__isnull=False) | Q(expires_at__lte=timezone.now())
    context = {
        "form": form,
        "made": token,
        "command": _build_upload(request) if Scope.RUNS_WRITE in scopes else "",
        "alive": rows.exclude(ended),
        "ended": rows.filter(ended),
    }
    return render(request, "teams/tokens.html", context, status=form_status(form))


def _build_upload(request: HttpRequest) -> str:
    """A command for bash and zsh that asks for the token, so that no history has it, and uploads a file."""
    site = request.build_absolute_uri("/").rstrip("/")
    host = urlsplit(site).hostname
    without_tls = ""
    if not request.is_secure() and host not in ("127.0.0.1", "::1", "localhost"):
        without_tls = "--allow-http "
    return (
        "printf 'Token: ' && read -rs BENCHSITE_TOKEN && export BENCHSITE_TOKEN &&\n"
        f"curl -fsSO {site}/static/benchsite-upload.py &&\n"
        f"BENCHSITE_URL={site} python3 benchsite-upload.py {without_tls}output.txt"
    )
