"""The rungs of one sweep with every run of theirs, measured or not."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import F

from reports.curves import Curve
from runs.models import Run, Sweep


def rung_rows(sweep: Sweep, curve: Curve) -> list[dict[str, Any]]:
    """Each rung with its point, where one was measured, and its runs by their repeats. One query."""
    points = {(point.target_ops_s or 0, point.threads): point for point in curve.points}
    rungs: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in sweep.runs.defer("spec", "evidence").order_by("repeat", "created_at"):
        rungs[(run.target_ops_s or 0, run.threads)].append(run)
    return [
        {"threads": threads, "target_ops_s": target or None, "point": points.get((target, threads)), "runs": runs}
        for (target, threads), runs in sorted(rungs.items(), key=lambda item: item[0])
    ]


def last_evidence(sweep: Sweep) -> Mapping[str, Any] | None:
    """What the newest ended run of a sweep found out about its server: version and disk probe; one query."""
    newest = sweep.runs.filter(evidence__has_key="server_version").order_by("-finished_at")
    return newest.values("pk", server_version=F("evidence__server_version"), disk=F("evidence__disk")).first()
