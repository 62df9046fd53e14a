"""The rungs of one sweep with every run of theirs, measured or not."""

import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.curves import Curve, Point
from runs.models import Run, Sweep


@dataclass(frozen=True, slots=True)
class RungRow:
    """One rung: its point, where one was measured, and its runs in the order of the repeats."""

    threads: int
    target_ops_s: int | None
    point: Point | None
    runs: tuple[Run, ...]


def rung_rows(sweep: Sweep, curve: Curve) -> list[RungRow]:
    """One query more than the curve."""
    points = {(point.target_ops_s or 0, point.threads): point for point in curve.points}
    rungs: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in sweep.runs.defer("spec", "evidence").order_by("repeat", "created_at"):
        rungs[(run.target_ops_s or 0, run.threads)].append(run)
    return [
        RungRow(threads, target or None, points.get((target, threads)), tuple(runs))
        for (target, threads), runs in sorted(rungs.items(), key=lambda item: item[0])
    ]


@dataclass(frozen=True, slots=True)
class LastEvidence:
    """What the newest ended run of a sweep found out about its server."""

    run_id: uuid.UUID
    server_version: str
    disk: Mapping[str, Any]


def last_evidence(sweep: Sweep) -> LastEvidence | None:
    """The server's own version and the disk probe, for the sweep's page; one query."""
    row = (
        sweep.runs.filter(evidence__has_key="server_version")
        .order_by("-finished_at")
        .values_list("pk", "evidence__server_version", "evidence__disk")
        .first()
    )
    if row is None:
        return None
    pk, version, disk = row
    return LastEvidence(pk, str(version or ""), disk if isinstance(disk, Mapping) else {})
