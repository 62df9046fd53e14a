"""The verdict against a baseline in the answer about an upload: `POST /runs?baseline=release-1.2`, or `?judge=1`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest

from reports.analysis.verdicts import Verdict, combined
from reports.api.schemas import VerdictDocument
from reports.queries.baselines import runs_named
from reports.verdicts.answers import Side, VerdictAnswer
from reports.verdicts.choosing import BaselineUnknown, verdict_of_run
from reports.verdicts.telling import tell
from runs.api.answers import extend
from runs.models import Run

MOST_JUDGED: Final = 20  # runs of one upload


@extend
def against_a_baseline(request: HttpRequest, runs: Sequence[Run]) -> Mapping[str, Any]:
    """`against`: the verdicts of the measured runs, and what they come to. Nothing where nobody asked for it."""
    name = request.GET.get("baseline", "").replace("\0", "")[:200]
    if not name and request.GET.get("judge", "") not in ("1", "true"):
        return {}
    measured = [run.pk for run in runs if run.phase == "measure"][:MOST_JUDGED]
    found = [_judged(run, name) for run in runs_named(runs[0].team, measured)]
    said = [VerdictDocument.from_orm(one).model_dump(mode="json") for one in found]
    return {"against": {"verdict": str(combined([Verdict(one.verdict) for one in found])), "verdicts": said}}


def _judged(run: Run, name: str) -> VerdictAnswer:
    """The upload is stored: a name that stands for nothing does not undo it, and is said."""
    try:
        found = verdict_of_run(run, baseline=name)
    except BaselineUnknown:
        said = f"Inconclusive: your team has no baseline “{name}”. Set it with PUT /api/v1/baselines/{{name}}."
        return VerdictAnswer(Verdict.INCONCLUSIVE, (said,), Side((run.pk,)), test=run.config_key)
    tell(run, found)
    return found
