"""The measured sweeps that may answer a sizing question."""

from typing import Any

from benchsite.accounts.models import Team
from reports.compare.curves import PUBLISHABLE
from reports.compare.queries.curves import curves
from reports.compare.queries.sweep_selection import get_sweeps_by_phase, one_per_test

# Sweeps looked at, the newest first: each brings all its points.
MAX_SWEEPS = 200


def candidates(team: Team, *, workload: str = "", every_purpose: bool = False) -> dict[str, Any]:
    """Curves, the newest first, whether there are `more`, and how many were left out for their purpose.

    Eight queries at most, whatever the number of sweeps and runs.
    """
    rows = get_sweeps_by_phase(team)
    if workload:
        rows = rows.filter(workload_name=workload)
    left_out = 0
    if not every_purpose:
        left_out = rows.exclude(purpose__in=PUBLISHABLE).count()
        rows = rows.filter(purpose__in=PUBLISHABLE)
    newest = one_per_test(rows, team).select_related("matrix", "workload", "database").order_by("-created_at", "name")
    sweeps = list(newest[: MAX_SWEEPS + 1])
    return {"curves": curves(sweeps[:MAX_SWEEPS]), "more": len(sweeps) > MAX_SWEEPS, "unpublishable": left_out}


def measured_workloads(team: Team) -> list[str]:
    """The names of the workloads that the team's sweeps ran; one query."""
    names = get_sweeps_by_phase(team).order_by("workload_name").values_list("workload_name", flat=True).distinct()
    return [name for name in names if name]
