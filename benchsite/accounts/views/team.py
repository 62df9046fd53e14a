"""The team's own pages: members, invitations, what happened."""

import uuid
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from benchsite.accounts import audit, membership, sso
from benchsite.accounts.forms import InvitationForm, SignUpForm, TeamForm
from benchsite.accounts.models import Invitation, Membership, Role, Team, User
from benchsite.accounts.permissions import current_membership, get_team, get_user, has_role, team_required
from benchsite.accounts.views.sign_in import BACKEND
from benchsite.core.encryption import INVITATIONS, CannotOpen, seal, unseal
from benchsite.core.responses import form_status, get_posted

ENTRIES_PER_PAGE = 100
NEW_LINK = "new_link"  # of the session
NEW_LINK_LIFE = timedelta(hours=1)


@require_http_methods(["GET", "POST"])
@sensitive_post_parameters("password1", "password2")
@never_cache
def invited(request: HttpRequest, token: str) -> HttpResponse:
    invitation = membership.find_invitation(token)
    if invitation is None:
        return render(request, "teams/invited_gone.html", status=410)

    me = None
    if isinstance(request.user, User):
        me = request.user
    request.session[sso.INVITED] = token  # Whoever comes back from an identity provider is let in by it.
    form = SignUpForm(get_posted(request) if me is None else None)
    refusal = ""
    if request.method == "POST" and (me is not None or form.is_valid()):
        try:
            user, team = _join(token, me, form)
        except membership.MembershipRefused as refused:
            refusal = str(refused)
        else:
            if me is None:
                login(request, user, backend=BACKEND)
            request.session["team"] = str(team.pk)
            messages.success(request, f"You are a member of {team} now.")
            return redirect("home")

    context = {"invitation": invitation, "form": form, "refusal": refusal, "sso": sso.provider()}
    status = 422
    if not refusal:
        status = form_status(form)
    return render(request, "teams/invited.html", context, status=status)


@transaction.atomic
def _join(token: str, me: User | None, form: SignUpForm) -> tuple[User, Team]:
    """The account, made where there is none, and its team: both or neither."""
    user = me or form.save()
    return user, membership.accept(token, user)


@team_required("GET")
@never_cache
def members(request: HttpRequest) -> HttpResponse:
    return _render_members(request, InvitationForm())


@team_required("GET", "POST", role=Role.ADMIN)
@never_cache
def invite(request: HttpRequest) -> HttpResponse:
    """Makes a link, which the page of the members then shows to whoever made it."""
    if request.method == "GET":
        return redirect("members")
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _render_members(request, form)
    data = form.cleaned_data
    try:
        token = membership.invite(get_team(request), get_user(request), role=data["role"], note=data["note"])
    except membership.MembershipRefused as refused:
        form.add_error(None, str(refused))
        return _render_members(request, form)
    request.session[NEW_LINK] = seal(token, INVITATIONS)
    return redirect("members")


def _find_new_link(request: HttpRequest) -> str:
    """The link that this person made within the last hour, while it lets somebody in; only a sealed copy is stored."""
    stored = request.session.get(NEW_LINK)
    if not stored or not has_role(request, Role.ADMIN):
        return ""
    try:
        token = unseal(stored, INVITATIONS)
    except CannotOpen:
        return ""
    invitation = membership.find_invitation(token)
    if invitation is None or invitation.team != get_team(request):
        return ""
    if timezone.now() - invitation.created_at > NEW_LINK_LIFE:
        return ""
    return request.build_absolute_uri(reverse("invited", args=[token]))


def _render_members(request: HttpRequest, form: InvitationForm) -> HttpResponse:
    team = get_team(request)
    context = {
        "team": team,
        "members": team.memberships.select_related("user").order_by("user__username"),
        "invitations": membership.open_invitations(team).select_related("created_by"),
        "roles": Role.choices,
        "mine": current_membership(request),
        "form": form,
        "link": _find_new_link(request),
    }
    return render(request, "teams/members.html", context, status=form_status(form))


@team_required("POST", role=Role.ADMIN)
def withdraw(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    membership.withdraw(get_object_or_404(Invitation, pk=pk), get_user(request))
    messages.success(request, "The invitation is withdrawn. Its link no longer works.")
    return redirect("members")


@team_required("POST")
def member_change(request: HttpRequest, pk: int) -> HttpResponse:
    """Another role, or out of the team; everybody may leave."""
    member = get_object_or_404(Membership.objects.select_related("user", "team"), team=get_team(request), pk=pk)
    me = get_user(request)
    role = request.POST.get("role", "")
    leaves = "remove" in request.POST and member.user == me
    if not leaves and not has_role(request, Role.ADMIN):
        return HttpResponse("This needs the role admin in your team.", status=403)

    try:
        if "remove" in request.POST:
            membership.remove(member, me)
            messages.success(request, f"{member.user} is no member of {member.team} any more. What they made stays.")
        elif role in Role.values:
            membership.change_role(member, me, role)
            messages.success(request, f"{member.user} is {role} now.")
    except membership.MembershipRefused as refused:
        messages.error(request, str(refused))

    if leaves:
        return redirect("home")

    return redirect("members")


@require_http_methods(["GET", "POST"])
@login_required
def team_add(request: HttpRequest) -> HttpResponse:
    form = TeamForm(get_posted(request))
    if form.is_valid():
        team = membership.make_team(form.cleaned_data["name"], get_user(request))
        request.session["team"] = str(team.pk)
        messages.success(request, f"{team} is there, and you are its admin. Invite its members.")
        return redirect("members")
    return render(request, "teams/team_add.html", {"form": form}, status=form_status(form))


@team_required("GET", role=Role.ADMIN)
def audit_log(request: HttpRequest) -> HttpResponse:
    page = Paginator(audit.get_entries(get_team(request)), ENTRIES_PER_PAGE).get_page(request.GET.get("page"))
    entries = [(entry, audit.KINDS.get(entry.kind, entry.kind)) for entry in page.object_list]
    return render(request, "teams/audit.html", {"page": page, "entries": entries})
