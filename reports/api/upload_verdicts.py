"""The verdict against a baseline in the answer about an upload: `POST /runs?baseline=release-1.2`, or `?judge=1`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest
from pydantic import TypeAdapter

from reports.analysis.verdicts import Verdict, combined
from reports.queries.baselines import runs_named
from reports.verdicts.baseline_selection import BaselineUnknown, verdict_of_run
from reports.verdicts.regression_alerts import tell
from reports.verdicts.serialization import SideAnswer, VerdictDocument
from runs.api.upload_extensions import extend
from runs.models import Run

DOCUMENTS: Final = TypeAdapter(list[VerdictDocument])
MAX_JUDGED: Final = 20  # runs of one upload


@extend
def against_a_baseline(request: HttpRequest, runs: Sequence[Run]) -> Mapping[str, Any]:
    """`against`: the verdicts of the measured runs, and what they come to. Nothing where nobody asked for it."""
    name = request.GET.get("baseline", "").replace("\0", "")[:200]
    if not name and request.GET.get("judge", "") not in ("1", "true"):
        return {}
    measured = [run.pk for run in runs if run.phase == "measure"][:MAX_JUDGED]
    verdicts = [_judged(run, name) for run in runs_named(runs[0].team, measured)]
    return {
        "against": {
            "verdict": str(combined([Verdict(document.verdict) for document in verdicts])),
            "verdicts": DOCUMENTS.dump_python(verdicts, mode="json"),
        }
    }


def _judged(run: Run, name: str) -> VerdictDocument:
    """The upload is stored: a name that stands for nothing does not undo it, and is said."""
    try:
        document = verdict_of_run(run, baseline=name)
    except BaselineUnknown:
        reason = f"Inconclusive: your team has no baseline “{name}”. Set it with PUT /api/v1/baselines/{{name}}."
        return VerdictDocument("inconclusive", (reason,), SideAnswer((run.pk,)), test=run.config_key)
    tell(run, document)
    return document
