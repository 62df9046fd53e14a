"""The noise of clusters, from the repeats and brackets that a team ran on them."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from django.db.models import Q, QuerySet

from benchsite.teams.models import Team
from reports.analysis.noise import Cell, NoiseFloor, noise_floor
from runs.models import Run, Sweep
from runs.models.run import Phase, Status, Verdict

# The newest repeated sweeps of a cluster from which its noise is read; older ones tell of other days.
MOST_SWEEPS: Final = 20
# Where nothing was planned to be repeated, nothing tells of noise; of uploads nobody knows what was planned.
REPEATED: Final = Q(matrix=None) | Q(matrix__repeats__gt=1) | Q(matrix__bracket=True)

CellKey = tuple[uuid.UUID | None, int, int | None]  # sweep, threads, target in ops/s


def noise_floors(team: Team, cluster_names: Collection[str]) -> Mapping[str, NoiseFloor]:
    """Cluster -> its noise floor; a cluster on which fewer than two tests were repeated is left out: unknown.

    Runs that are rejected or excluded are no part of it, as they are no part of a point. Two queries.
    """
    names = sorted({name for name in cluster_names if name})
    if not names:
        return {}
    cluster_of = dict(_newest_sweeps(team, names).values_list("pk", "cluster_name"))
    runs = Run.objects.filter(
        sweep__in=list(cluster_of), status=Status.SUCCEEDED, throughput_ops_s__gt=0, excluded_reason=""
    ).exclude(verdict=Verdict.REJECT, verdict_override="")
    rows = runs.order_by().values_list("sweep_id", "threads", "target_ops_s", "throughput_ops_s", "is_bracket")
    values: dict[CellKey, list[float]] = defaultdict(list)
    brackets: dict[CellKey, int] = defaultdict(int)
    for sweep_id, threads, target_ops_s, throughput_ops_s, is_bracket in rows:
        cell: CellKey = (sweep_id, threads, target_ops_s)
        values[cell].append(throughput_ops_s or 0.0)
        brackets[cell] += is_bracket
    cells: dict[str, list[Cell]] = defaultdict(list)
    for key, measured in values.items():
        assert key[0] is not None  # The query asks for runs of these sweeps.
        cells[cluster_of[key[0]]].append(Cell(measured, brackets[key]))
    return {name: floor for name, found in cells.items() if (floor := noise_floor(found))}


def _newest_sweeps(team: Team, names: list[str]) -> QuerySet[Sweep]:
    """As many of each cluster, so that a busy one does not hide the others."""
    rows = Sweep.objects.filter(REPEATED, team=team, phase=Phase.MEASURE)
    each = [rows.filter(cluster_name=name).order_by("-created_at")[:MOST_SWEEPS] for name in names]
    return each[0].union(*each[1:], all=True) if len(each) > 1 else each[0]
