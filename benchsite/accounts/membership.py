"""How people come into a team, what they may do there, and how they leave: the verbs of pages and API."""

import secrets
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.text import slugify

from benchsite.accounts import audit, limits
from benchsite.accounts.messages import TOO_MANY_INVITATIONS
from benchsite.accounts.models import Invitation, Membership, Role, Team, User
from benchsite.accounts.sign_in_link import TOKEN_BYTES, digest
from benchsite.accounts.tenancy import all_teams

DEMO_TEAM, DEMO_SLUG, DEMO_USER = "Demo team", "demo", "demo"
INVITATION_LIFE: Final = timedelta(days=7)
MAX_OPEN_INVITATIONS: Final = 100


@transaction.atomic
def ensure_demo_team() -> tuple[Team, User]:
    """The team "Demo team" and its one person, made when they are not there; what people changed later stays.

    The person operates the site, for it is their own machine, and has no password: the one-time link signs them in.
    """
    team, _ = Team.objects.get_or_create(slug=DEMO_SLUG, defaults={"name": DEMO_TEAM})
    user, made = User.objects.get_or_create(username=DEMO_USER, defaults={"is_staff": True, "is_superuser": True})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    Membership.objects.get_or_create(team=team, user=user, defaults={"role": Role.ADMIN})
    return team, user


class MembershipRefused(Exception):
    """What was asked for would leave a team without an admin, or is no longer possible. The message says which."""


@transaction.atomic
def make_team(name: str, user: User) -> Team:
    """A new team whose one admin is `user`. Raises LimitReached."""
    User.objects.select_for_update().get(pk=user.pk)
    limits.refuse_beyond("teams-per-person", user.memberships.filter(role=Role.ADMIN).count() + 1)
    team = Team.objects.create(name=name, slug=_find_free_slug(name))
    Membership.objects.create(team=team, user=user, role=Role.ADMIN)
    audit.note("team_made", team=team, actor=user, subject=name)
    return team


def _find_free_slug(name: str) -> str:
    """Of the name; with a number where other teams have it."""
    stem = slugify(name)[:70] or "team"
    taken = set(Team.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    slug, number = stem, 1
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug


@transaction.atomic
def invite(team: Team, by: User, *, role: str, note: str = "") -> str:
    """The token of a new invitation, which is nowhere but in the answer. Raises MembershipRefused."""
    if open_invitations(team).count() >= MAX_OPEN_INVITATIONS:
        raise MembershipRefused(TOO_MANY_INVITATIONS.format(limit=MAX_OPEN_INVITATIONS))

    token = secrets.token_urlsafe(TOKEN_BYTES)
    Invitation.objects.create(
        team=team,
        role=role,
        note=note,
        token_sha256=digest(token),
        created_by=by,
        expires_at=Now() + INVITATION_LIFE,
    )
    audit.note("invited", team=team, actor=by, subject=note or "somebody", text=f"as {role}")
    return token


def open_invitations(team: Team) -> QuerySet[Invitation]:
    """Those that still let somebody in."""
    return team.invitations.filter(accepted_at__isnull=True, expires_at__gt=timezone.now())


def find_invitation(token: str) -> Invitation | None:
    """The open invitation whose link holds this token; None for one that is unknown, used, withdrawn or too old."""
    with all_teams():
        return _find_open(token).select_related("team", "created_by").first()


def _find_open(token: str) -> QuerySet[Invitation]:
    return Invitation.objects.filter(token_sha256=digest(token), accepted_at__isnull=True, expires_at__gt=Now())


@transaction.atomic
def accept(token: str, user: User) -> Team:
    """`user` joins; of two who follow one link at the same moment, one. Raises MembershipRefused."""
    invitation = find_invitation(token)
    with all_teams():
        is_accepted = _find_open(token).update(accepted_at=Now(), accepted_by=user)

    if invitation is None or not is_accepted:
        raise MembershipRefused(
            "This invitation was used already, withdrawn, or is older than a week. Ask for a new one."
        )

    membership, is_new = Membership.objects.get_or_create(
        user=user, team=invitation.team, defaults={"role": invitation.role}
    )
    if not is_new:
        raise MembershipRefused(f"You are a member of {invitation.team} already, as {membership.role}.")

    audit.note("joined", team=invitation.team, actor=user, subject=user.get_username(), text=f"as {invitation.role}")
    return invitation.team


def withdraw(invitation: Invitation, by: User) -> None:
    """The link lets nobody in any more."""
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, accepted_at__isnull=True).delete()[0]:
            audit.note("invitation_withdrawn", team=invitation.team, actor=by, subject=invitation.note or "somebody")


@transaction.atomic
def change_role(membership: Membership, by: User, role: str) -> None:
    """Raises MembershipRefused where nobody would be left to manage the team."""
    limits.lock(membership.team)  # Two admins who take each other's role at once must not both succeed.
    membership.refresh_from_db()
    if membership.role == role:
        return
    if role != Role.ADMIN:
        _keep_an_admin(membership)
    old = membership.role
    Membership.objects.filter(pk=membership.pk).update(role=role)
    audit.note(
        "role_changed", team=membership.team, actor=by, subject=membership.user.get_username(), text=f"{old} to {role}"
    )


@transaction.atomic
def remove(membership: Membership, by: User) -> None:
    """Take a member out, or leave oneself; what they made stays the team's. Raises MembershipRefused."""
    limits.lock(membership.team)  # Two admins who remove each other at once must not both succeed.
    _keep_an_admin(membership)
    user = membership.user
    Membership.objects.filter(pk=membership.pk).delete()
    audit.note("left" if user == by else "removed", team=membership.team, actor=by, subject=user.get_username())


def _keep_an_admin(membership: Membership) -> None:
    others = Membership.objects.filter(team=membership.team, role=Role.ADMIN).exclude(pk=membership.pk)
    if membership.role == Role.ADMIN and not others.exists():
        raise MembershipRefused(
            f"{membership.user} is the only admin of {membership.team}: make somebody else one first."
        )
