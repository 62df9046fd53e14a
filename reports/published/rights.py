"""What of a report is not for every runner of its team: making it public, opening a closed link, deleting it.

The site itself (`None`), as it makes its demonstration, may all of it.
"""

from benchsite.accounts.models import Membership, Role, User
from reports.models import Report

PUBLIC_REFUSED = "Only admins of the team make a report public. Choose unlisted, or ask one of them."
LINK_REFUSED = "The link was revoked. Only the author of this report and the team's admins can make a new one."


class NotAllowed(Exception):
    """Who may do it, as a sentence."""


def may_make_public(report: Report, user: User | None) -> bool:
    """Admins only: it is published in the name of the whole team."""
    return user is None or _has(report, user, Role.ADMIN)


def may_keep_public(report: Report, user: User | None) -> bool:
    """Whether it may be public after this change: what an admin made so stays so, until its day is over."""
    return is_public(report) or may_make_public(report, user)


def is_public(report: Report) -> bool:
    """Whether it is public now."""
    return report.access == Report.Access.PUBLIC and not report.has_expired


def may_open_again(report: Report, user: User | None) -> bool:
    """Who makes another link where the last was revoked, perhaps by an admin, and for a reason."""
    return user is None or may_delete(report, user)


def may_delete(report: Report, user: User) -> bool:
    """The person who began it, as long as they may publish, and the team's admins."""
    return _has(report, user, Role.ADMIN, *([Role.RUNNER] if report.created_by_id == user.pk else []))


def _has(report: Report, user: User, *roles: Role) -> bool:
    return Membership.objects.filter(user=user, team=report.team_id, role__in=roles).exists()
