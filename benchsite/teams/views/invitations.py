"""The page behind an invitation's link: join with the account one has, or make one."""

from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from benchsite.teams import membership, sso
from benchsite.teams.forms import SignUpForm
from benchsite.teams.membership import MembershipRefused
from benchsite.teams.models import Team, User
from benchsite.teams.views.sign_in import BACKEND


@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("password1", "password2")
@never_cache
def invited(request: HttpRequest, token: str) -> HttpResponse:
    invitation = membership.invitation_of(token)
    if invitation is None:
        return render(request, "teams/invited_gone.html", status=410)
    me = request.user if isinstance(request.user, User) else None
    request.session[sso.INVITED] = token  # Whoever comes back from an identity provider is let in by it.
    form = SignUpForm(request.POST if request.method == "POST" and me is None else None)
    refusal = ""
    if request.method == "POST" and (me is not None or form.is_valid()):
        try:
            user, team = _join(token, me, form)
        except MembershipRefused as refused:
            refusal = str(refused)
        else:
            if me is None:
                login(request, user, backend=BACKEND)
            request.session["team"] = str(team.pk)
            messages.success(request, f"You are a member of {team} now.")
            return redirect("home")
    bad = bool(refusal) or form.is_bound
    context = {"invitation": invitation, "form": form, "refusal": refusal, "sso": sso.provider()}
    return render(request, "teams/invited.html", context, status=422 if bad else 200)


@transaction.atomic
def _join(token: str, me: User | None, form: SignUpForm) -> tuple[User, Team]:
    """The account, made where there is none, and its team: both or neither."""
    user = me or form.save()
    return user, membership.accept(token, user)
