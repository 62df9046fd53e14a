"""Runs that V05 rejects however often they are measured, because their plan's window is too short."""

import math
import uuid

from django.db.models import Q, QuerySet

from benchsite.accounts.models import Team
from runs.checks.default_thresholds import PROFILES
from runs.checks.team_thresholds import get_thresholds
from runs.models import Phase, Run, Verdict


def find_min_window_s(team: Team | uuid.UUID, purpose: str) -> int:
    """The shortest window of whole seconds that V05 does not reject under the team's thresholds; 0: it rejects none."""
    if not PROFILES[purpose].min_window_s:
        return 0
    return math.ceil(get_thresholds(team, purpose).min_window_s)


def select_too_short(runs: QuerySet[Run], team: Team | uuid.UUID) -> QuerySet[Run]:
    """The rejected ones among the runs whose window never is as long, but those that count by a reason."""
    is_short = Q(pk__in=[])
    for purpose in PROFILES:
        if least_s := find_min_window_s(team, purpose):
            is_short |= Q(purpose=purpose, spec__window__max_measure_s__lt=least_s)
    measured = runs.filter(phase=Phase.MEASURE, source=Run.Source.SCHEDULED, excluded_reason="")
    return measured.filter(is_short, verdict=Verdict.REJECT, verdict_override="")


def is_too_short(run: Run) -> bool:
    return run.verdict == Verdict.REJECT and select_too_short(Run.objects.filter(pk=run.pk), run.team_id).exists()
