"""The thresholds of a team as a table: what counts, what the default is, who replaced it and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchsite.teams.models import Team
from runs.models import ThresholdOverride
from runs.thresholds import thresholds_of
from runs.validity import THRESHOLDS, profile
from runs.validity.profile import Threshold, shown


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    about: Threshold
    value: str
    default: str
    override: ThresholdOverride | None  # the one that counts


def threshold_rows(team: Team, purpose: str) -> Sequence[ThresholdRow]:
    """Every threshold under a purpose, in the order of the checks."""
    ours, default = thresholds_of(team, purpose), profile(purpose)
    kept = team.threshold_overrides.filter(purpose__in=["", purpose]).select_related("changed_by").order_by("purpose")
    overrides = {one.threshold: one for one in kept}
    return [
        ThresholdRow(about, shown(name, getattr(ours, name)), shown(name, getattr(default, name)), overrides.get(name))
        for name, about in THRESHOLDS.items()
    ]
