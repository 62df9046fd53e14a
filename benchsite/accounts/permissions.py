"""Who may see and do what. "Exists but is not yours" is always 404."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from benchsite.accounts import tenancy
from benchsite.accounts.models import Membership, Role, Team, User

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

ORDER = {Role.VIEWER: 0, Role.RUNNER: 1, Role.BUILDER: 2, Role.ADMIN: 3}


def get_memberships(request: HttpRequest) -> list[Membership]:
    """The signed-in person's memberships, asked for once per request."""
    memberships: list[Membership] | None = getattr(request, "_memberships", None)
    if memberships is None:
        memberships = list(
            Membership.objects.filter(user=request.user.pk).select_related("team").order_by("team__name")
        )
        request._memberships = memberships  # type: ignore[attr-defined]
    return memberships


def current_membership(request: HttpRequest) -> Membership | None:
    """The membership in the team chosen in the session, else in the person's first team."""
    if not request.user.is_authenticated:
        return None
    memberships = get_memberships(request)
    chosen = request.session.get("team")
    in_chosen = [membership for membership in memberships if str(membership.team_id) == chosen]
    return next(iter(in_chosen or memberships), None)


def current_team(request: HttpRequest) -> Team | None:
    """The team chosen in the session, else the person's first; None for somebody in no team."""
    membership = current_membership(request)
    if membership:
        return membership.team
    return None


def get_membership(request: HttpRequest) -> Membership:
    """The membership in the current team, where there must be one."""
    membership = current_membership(request)
    if membership is None:
        raise PermissionDenied("You are not a member of any team.")
    return membership


def get_team(request: HttpRequest) -> Team:
    """The current team, where there must be one; the object itself and not the middleware's lazy stand-in."""
    return get_membership(request).team


def get_user(request: HttpRequest) -> User:
    """The signed-in person."""
    if not isinstance(request.user, User):
        raise PermissionDenied("Sign in first.")
    return request.user


def keep_team(request: HttpRequest, key: str) -> bool:
    """Choose the team of this key for the session; False for one that the person is not in."""
    is_member = any(str(membership.team_id) == key for membership in get_memberships(request))
    if is_member:
        request.session["team"] = key
    return is_member


def has_role_in(team: Team, user: User | None, role: Role) -> bool:
    """Whether the account's role in the team includes `role`."""
    membership = Membership.objects.filter(team=team, user=user).first()
    return membership is not None and ORDER[Role(membership.role)] >= ORDER[role]


def has_role(request: HttpRequest, role: Role) -> bool:
    """Whether the person's role in the current team includes `role`."""
    membership = current_membership(request)
    return membership is not None and ORDER[Role(membership.role)] >= ORDER[role]


def roles(request: HttpRequest) -> dict[str, Callable[[], bool]]:
    """For all templates: whether the person is a runner (`can_run`) or an admin (`is_admin`) of the current team."""
    return {"can_run": partial(has_role, request, Role.RUNNER), "is_admin": partial(has_role, request, Role.ADMIN)}


def is_operator(request: HttpRequest) -> bool:
    """Whether the person looks after the site itself: machines, process clusters, load generators."""
    return request.user.is_authenticated and request.user.is_staff


def team_required(*methods: str, role: Role = Role.VIEWER) -> Callable[[View[P]], View[P]]:
    """Only by these HTTP methods, and only for members of a team whose role includes `role`; the rest get 403.

    A person who is not signed in is sent to sign in; one without a team gets a page that says so.
    """

    def decorate(view: View[P]) -> View[P]:
        @require_http_methods(methods)
        @login_required
        @wraps(view)
        def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            team = current_team(request)
            if team is None:
                return render(request, "teams/no_team.html", status=403)
            tenancy.enter(team.pk)
            if not has_role(request, role):
                raise PermissionDenied(f"This needs the role {role} in your team.")
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def operator_required(*methods: str) -> Callable[[View[P]], View[P]]:
    """Only by these HTTP methods, and only for operators of the site who are members of a team; the rest get 403."""

    def decorate(view: View[P]) -> View[P]:
        @team_required(*methods)
        @wraps(view)
        def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not is_operator(request):
                raise PermissionDenied("Only an operator of this site may do that.")
            return view(request, *args, **kwargs)

        return wrapped

    return decorate
