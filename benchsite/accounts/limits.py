"""Limits of what a team or a person may hold, as the operator sets them (docs/deployment.md). 0: none.

Pages answer 403 and the API the problem `limit-reached`, both with the limit's name. How often a token may ask is
counted elsewhere (`benchsite.rest.limits`).
"""

from django.conf import settings
from django.core.exceptions import PermissionDenied

from benchsite.accounts.models import Team
from benchsite.core.formatting import Number, grouped, size


class LimitReached(PermissionDenied):
    """No more of this for this team or person. `limit` is its name in `settings.LIMITS`."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        super().__init__(message)


def refuse_beyond(limit: str, number: int) -> None:
    """Raises LimitReached where `number`, with what is added now, is more than the limit of that name."""
    most = settings.LIMITS[limit]
    if most and number > most:
        raise LimitReached(
            limit,
            f"The limit {limit} is reached: {shown(limit, most)}. Remove some, or ask the site's operator for more.",
        )


def shown(limit: str, number: Number) -> str:
    """A number of what this limit counts."""
    if limit == "storage-per-team":
        return size(number)
    return grouped(number)


def lock(team: Team) -> None:
    """Two requests at once would each have room for one more. What only names the team goes on."""
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
