"""What a fresh one-machine site begins with: a team and the person who started it."""

from django.db import transaction

from benchsite.teams.models import Membership, Role, Team, User

DEMO_TEAM, DEMO_SLUG, DEMO_USER = "Demo team", "demo", "demo"


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
