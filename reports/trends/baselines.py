"""Setting and unsetting baselines: names for runs that others are judged against. Verbs for pages and API."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from benchsite.core.formatting import exact
from reports.models import EVERY_METRIC, Baseline, BaselineRun, ChangePoint
from reports.trends.queries.baselines import find_repeats
from reports.trends.verdicts.verdict import why_not
from runs.models import Run

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
NAME_SAYS: Final = (
    "A baseline's name begins with a letter or a digit, and has letters, digits, dots, dashes and underscores, "
    "at most 80 of them."
)
MAX_RUNS: Final = 500
MAX_NOTE_LENGTH: Final = 2_000
MAX_THRESHOLDS: Final = 40
# A threshold is a share: below a thousandth nothing is measured, and ten times is no threshold any more.
MIN_THRESHOLD: Final = 0.001
MAX_THRESHOLD: Final = 10.0
METRIC: Final = re.compile(r"throughput|mean|p99|[A-Z0-9][A-Z0-9_-]{0,59} (mean|p99)")


class BaselineRefused(Exception):
    """The baseline cannot be set like this. `field` says what is wrong, the message what to do."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@transaction.atomic
def set_baseline(
    team: Team,
    by: User,
    name: str,
    runs: Sequence[Run],
    *,
    chosen: str,
    thresholds: Mapping[str, float] | None = None,
) -> Baseline:
    """Let a name stand for these runs of the team, instead of those it stood for. Raises BaselineRefused.

    `chosen` says how they were chosen. Thresholds that are not given stay as they are.
    """
    _check(name, runs, thresholds)
    Team.objects.select_for_update().get(pk=team.pk)  # Two at the same time set it one after the other.
    values: dict[str, Any] = {"chosen": chosen[:300], "set_by": by, "set_at": timezone.now()}
    if thresholds is not None:
        values["thresholds"] = dict(thresholds)
    baseline, _ = Baseline.objects.update_or_create(team=team, name=name, defaults=values)
    # Whoever deletes a run holds its row meanwhile; it is gone then, or pinned.
    run_ids = {run.pk for run in runs}
    locked = list(Run.objects.select_for_update().filter(team=team, pk__in=run_ids).order_by("pk"))
    if len(locked) < len(run_ids):
        raise BaselineRefused("runs", "One of these runs has just been deleted. Choose again.")

    baseline.pins.all().delete()
    BaselineRun.objects.bulk_create(BaselineRun(baseline=baseline, run=run) for run in locked)
    audit.note("baseline_set", team=team, actor=by, subject=name, text=f"{len(locked)} runs. {chosen[:300]}")
    return baseline


@transaction.atomic
def unset_baseline(baseline: Baseline, by: User) -> None:
    """The name stands for nothing any more, and its runs may be deleted again."""
    audit.note("baseline_unset", team=baseline.team, actor=by, subject=baseline.name, text=baseline.chosen)
    baseline.delete()


@transaction.atomic
def accept_level(run: Run, by: User, note: str) -> ChangePoint:
    """Let the level of a test begin with the commit of this run, for all metrics. Raises BaselineRefused.

    Later commits are compared with it, and with nothing before it.
    """
    reason = why_not(run)
    if not run.config_key:
        reason = f"“{run.name}” belongs to no test that is followed."
    if reason:
        raise BaselineRefused("run", f"{reason} A level begins with a run that counts.")

    # The newest is first. The run itself counts, so there is one.
    counting = [repeat for repeat in find_repeats(run) if not why_not(repeat)]
    decisions = ChangePoint.objects.filter(team=run.team, config_key=run.config_key, run__in=counting)
    decisions.exclude(metric=EVERY_METRIC).delete()
    point, _ = ChangePoint.objects.update_or_create(
        team=run.team,
        config_key=run.config_key,
        metric=EVERY_METRIC,
        run=counting[-1],
        defaults={"state": ChangePoint.State.ACCEPTED, "note": note[:MAX_NOTE_LENGTH], "changed_by": by},
    )
    audit.note("level_accepted", team=run.team, actor=by, subject=run.name, text=f"Commit {run.commit[:12]}. {note}")
    return point


def _check(name: str, runs: Sequence[Run], thresholds: Mapping[str, float] | None) -> None:
    if not NAME.fullmatch(name):
        raise BaselineRefused("name", NAME_SAYS)
    if not runs:
        raise BaselineRefused("runs", "A baseline pins at least one run.")
    if len(runs) > MAX_RUNS:
        raise BaselineRefused("runs", f"A baseline pins at most {MAX_RUNS} runs, and these are {len(runs)}.")
    for run in runs:
        reason = why_not(run)
        if reason:
            raise BaselineRefused("runs", f"{reason} Only runs that count can be a baseline.")
    if len(thresholds or {}) > MAX_THRESHOLDS:
        raise BaselineRefused("thresholds", f"At most {MAX_THRESHOLDS} thresholds can be given.")

    for metric, share in (thresholds or {}).items():
        if not METRIC.fullmatch(metric):
            message = f"“{metric[:70]}” is no metric: use throughput, mean, p99, or an operation's, as in READ p99."
            raise BaselineRefused("thresholds", message)
        # No number that is not finite lies between the limits.
        if not MIN_THRESHOLD <= share <= MAX_THRESHOLD:
            limits = f"{MIN_THRESHOLD} to {exact(MAX_THRESHOLD)}"
            message = f"The threshold of {metric} is a share from {limits}, as in 0.05."
            raise BaselineRefused("thresholds", message)
