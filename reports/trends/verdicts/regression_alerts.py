"""Telling people of a regression, once for each commit and what it was judged against."""

import hashlib
from datetime import timedelta
from typing import Final

from django.urls import reverse
from django.utils import timezone

from benchsite.notifications import notices
from reports.trends.analysis.verdict_rules import Verdict
from reports.trends.verdicts.serialization import SideAnswer, VerdictDocument
from runs.models import Run

# Whoever looks at an old run tells nobody anything new.
FRESH: Final = timedelta(days=1)
LOSES: Final = frozenset({Verdict.REGRESSION.value, Verdict.MIXED.value})


def tell(run: Run, document: VerdictDocument) -> bool:
    """Note a notice of a loss that a fresh upload shows; whether it was noted now."""
    if document.verdict not in LOSES or run.source != Run.Source.UPLOADED or document.base is None:
        return False
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
