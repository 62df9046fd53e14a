"""Who may see and do what. "Exists but is not yours" is always 404."""

from typing import TYPE_CHECKING

from django.http import HttpRequest

from benchsite.teams.models import Membership, Role, Team

if TYPE_CHECKING:
    pass

ORDER = {Role.VIEWER: 0, Role.RUNNER: 1, Role.ADMIN: 2}


def current_team(request: HttpRequest) -> Team | None:
    """The team chosen in the session, else the person's first; None for somebody in no team."""
    if not request.user.is_authenticated:
        return None
    memberships = Membership.objects.filter(user=request.user).select_related("team").order_by("team__name")
    chosen = request.session.get("team")
    found = list(memberships)
    for membership in found:
        if str(membership.team_id) == chosen:
            return membership.team
    return found[0].team if found else None
