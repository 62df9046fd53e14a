"""The thresholds that a team's runs are judged by, and replacing one of them with a written reason."""

import math
import uuid

from django.db import connection, transaction

from benchsite.accounts.models import Team, User
from runs.checks import THRESHOLDS, Profile, profile
from runs.checks.default_thresholds import refusal
from runs.models import Purpose, ThresholdOverride

MAX_REASON_LENGTH = 2_000
PURPOSES = tuple(Purpose.values)


class ThresholdRefused(Exception):
    """This value cannot be a threshold. The message says why."""


def get_thresholds(team: Team | uuid.UUID, purpose: str) -> Profile:
    """The team's thresholds of a purpose. One for the purpose outweighs one for all purposes."""
    with connection.cursor() as cursor:  # In SQL, for every upload asks for it, and most teams have none.
        cursor.execute(
            "SELECT threshold, value FROM runs_thresholdoverride"
            " WHERE team_id = %s AND purpose IN ('', %s) ORDER BY purpose",
            [team.pk if isinstance(team, Team) else team, purpose],
        )
        rows = cursor.fetchall()
    # A threshold that this release does not know any more decides nothing.
    replaced = {threshold: float(value) for threshold, value in rows if threshold in THRESHOLDS}
    return profile(purpose, replaced)


@transaction.atomic
def replace_threshold(team: Team, user: User, name: str, *, purpose: str, value: float, reason: str) -> None:
    """Put the team's value in the place of a default. Raises ThresholdRefused."""
    reason = " ".join(reason.split())
    if not reason:
        raise ThresholdRefused("Write why: the reason is shown to everybody who wonders about a verdict.")
    if len(reason) > MAX_REASON_LENGTH:
        raise ThresholdRefused(f"A reason has at most {MAX_REASON_LENGTH:,} characters.")

    # Two at once could together do what neither may do alone.
    Team.objects.select_for_update().get(pk=team.pk)
    for affected in [purpose] if purpose else PURPOSES:
        problem = "It is no number."
        if math.isfinite(value):
            problem = refusal(name, value, get_thresholds(team, affected))
        if problem and not purpose:
            problem += f" (purpose {affected})"
        if problem:
            raise ThresholdRefused(problem)

    ThresholdOverride.objects.update_or_create(
        team=team, threshold=name, purpose=purpose, defaults={"value": value, "reason": reason, "changed_by": user}
    )


@transaction.atomic
def restore_default(team: Team, name: str, *, purpose: str) -> None:
    """Take the team's value away. Raises ThresholdRefused where the default does not fit the team's others."""
    Team.objects.select_for_update().get(pk=team.pk)
    ThresholdOverride.objects.filter(team=team, threshold=name, purpose=purpose).delete()
    for affected in [purpose] if purpose else PURPOSES:
        thresholds = get_thresholds(team, affected)
        problem = refusal(name, getattr(thresholds, name), thresholds)
        if problem:
            raise ThresholdRefused(f"The default does not fit your other thresholds of purpose {affected}. {problem}")
