"""Notices of losses: one for each commit and what it was judged against.

A pipeline may upload without asking for a verdict, so the delivery loop judges uploads too
(`NOTICE_FINDERS`). A verdict on request makes its notice by the same function, `tell`.
"""

import hashlib
import time
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Max, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils import timezone

from benchsite.accounts.models import NoticeKind
from benchsite.notifications import notices
from reports.models import CommitLook
from reports.trends.analysis.verdict_rules import Verdict
from reports.trends.verdicts.baseline_selection import verdict_of_run
from reports.trends.verdicts.serialization import SideAnswer, VerdictDocument
from runs.models import Phase, Run, Status
from runs.queue.database_retries import contained

# Verdicts in one look, a few tens of milliseconds each; what waits beside them is judged in the next.
MAX_AT_ONCE: Final = 10
# Nor does a look begin another verdict after so long: deliveries wait for it.
MAX_S: Final = 2.0
# So long after its last upload a commit is taken for whole: its repeats arrive one by one.
QUIET: Final = timedelta(seconds=60)
# With so many uploads of a test nobody waits for quiet.
ENOUGH: Final = 5
FRESH: Final = timedelta(days=1)
LOSSES: Final = frozenset({Verdict.REGRESSION.value, Verdict.MIXED.value})


def look(most: int = MAX_AT_ONCE) -> int:
    """Judge what was uploaded lately, of the teams in which somebody asked; answers how many notices were made."""
    # Verdicts of older uploads are told nowhere, so there is nothing to remember of them.
    CommitLook.objects.filter(last_at__lt=timezone.now() - FRESH).delete()
    teams = notices.asked_for(NoticeKind.REGRESSION)
    if not teams:
        return 0

    noted = 0
    until = time.monotonic() + MAX_S
    for group in _find_due(teams, most):
        noted += _look_at(group)
        if time.monotonic() > until:
            break
    return noted


def _find_due(teams: Collection[UUID], most: int) -> list[dict[str, Any]]:
    """Tests of commits with uploads that were not looked at, those that wait longest first. One query.

    A run without a commit has no repeats: its verdict cannot be a loss.
    """
    now = timezone.now()
    uploaded = Run.objects.filter(
        team__in=teams, source=Run.Source.UPLOADED, phase=Phase.MEASURE, status__in=Status.terminal(), is_bracket=False
    )
    fresh = uploaded.filter(created_at__gt=now - FRESH).exclude(commit="").exclude(config_key="")
    test = ("team", "config_key", "commit")
    looked = CommitLook.objects.filter(**{name: OuterRef(name) for name in test})
    groups = (
        fresh.order_by()
        .values(*test)
        .annotate(runs=Count("pk"), last_at=Max("created_at"))
        .annotate(seen_runs=Subquery(looked.values("runs")), seen_at=Subquery(looked.values("last_at")))
    )
    is_new = Q(seen_at=None) | Q(seen_at__lt=F("last_at")) | Q(seen_runs__lt=F("runs"))
    is_whole = Q(last_at__lt=now - QUIET) | Q(runs__gte=ENOUGH)
    due = groups.filter(is_new, is_whole).order_by("last_at", "config_key", "commit")
    return [dict(group) for group in due[:most]]


def _look_at(group: Mapping[str, Any]) -> bool:
    """Judge the newest run of a commit; whether a notice was noted.

    It is noted and remembered together, so that whoever is killed meanwhile has done neither.
    """
    test = {"team_id": group["team"], "config_key": group["config_key"], "commit": group["commit"]}
    seen = {"runs": group["runs"], "last_at": group["last_at"]}
    is_noted = False
    with transaction.atomic():
        CommitLook.objects.update_or_create(**test, defaults=seen)
        # One that cannot be judged must not keep the others waiting for ever.
        with contained("The uploads of commit %s could not be judged.", group["commit"]):
            runs = Run.objects.filter(**test, source=Run.Source.UPLOADED, phase=Phase.MEASURE)
            run = runs.select_related("sweep__matrix", "team").order_by("-created_at", "-pk").first()
            if run:
                is_noted = tell(run, verdict_of_run(run))
    return is_noted


def tell(run: Run, document: VerdictDocument) -> bool:
    """Note a notice of a loss that a fresh upload shows; whether it was noted now."""
    if document.verdict not in LOSSES or run.source != Run.Source.UPLOADED or document.base is None:
        return False
    # Whoever looks at an old run tells nobody anything new.
    if timezone.now() - run.created_at > FRESH:
        return False

    data = {
        "run": str(run.pk),
        "verdict": str(document.verdict),
        "reasons": list(document.reasons),
        "commit": run.commit,
        "branch": run.branch,
        "baseline": document.base.name,
        "base_commit": document.base.commit,
        "algorithm": document.algorithm,
        "algorithm_version": document.algorithm_version,
    }
    notice = notices.note(
        "regression",
        run.team,
        subject=f"{run.name}: {document.headline}",
        text="\n".join([document.headline, document.certainty, *document.reasons[1:], document.base.chosen]),
        path=reverse("run-against", args=[run.pk]),
        data=data,
        key=_build_key(run, document.since, document.base),
    )
    return notice is not None


def _build_key(run: Run, since: str, base: SideAnswer) -> str:
    """Notices of the same loss have the same key: of one that lasts, whichever commit shows it."""
    if since:
        lost_at, base_name = since, ""
    else:
        lost_at = run.commit or str(run.pk)
        base_name = base.name or base.commit or "".join(str(pk) for pk in base.runs[:1])
    parts = (str(run.team_id), run.config_key, lost_at, base_name)
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"regression:{digest}"
