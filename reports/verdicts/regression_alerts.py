"""Telling people of a regression, once for each commit and what it was judged against."""

import hashlib
from datetime import timedelta
from typing import Final

from django.urls import reverse
from django.utils import timezone

from benchsite.teams import notices
from reports.analysis.verdicts import Verdict
from reports.verdicts.serialization import VerdictDocument
from runs.models import Run

# Whoever looks at an old run tells nobody anything new.
FRESH: Final = timedelta(days=1)
LOSES: Final = frozenset({Verdict.REGRESSION.value, Verdict.MIXED.value})


def tell(run: Run, found: VerdictDocument) -> bool:
    """Note a notice of a loss that a fresh upload shows; whether it was noted now."""
    if found.verdict not in LOSES or run.source != Run.Source.UPLOADED or found.base is None:
        return False
    if timezone.now() - run.created_at > FRESH:
        return False
    against = found.base.name or found.base.commit or "-".join(str(pk) for pk in found.base.runs[:1])
    notice = notices.note(
        "regression",
        run.team,
        subject=f"{run.name}: {found.headline}",
        text="\n".join([*found.reasons, found.base.chosen]),
        path=reverse("run-against", args=[run.pk]),
        data={
            "run": str(run.pk),
            "verdict": str(found.verdict),
            "reasons": list(found.reasons),
            "commit": run.commit,
            "branch": run.branch,
            "baseline": found.base.name,
            "base_commit": found.base.commit,
            "algorithm": found.algorithm,
            "algorithm_version": found.algorithm_version,
        },
        key=f"regression:{_digest(str(run.team_id), run.config_key, run.commit or str(run.pk), against)}",
    )
    return notice is not None


def _digest(*parts: str) -> str:
    """Of one length, whatever the parts are."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
