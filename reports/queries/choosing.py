"""Which sweeps a selection means, and what else could be chosen."""

import uuid
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from benchsite.teams.models import Team
from reports.curves import PUBLISHABLE, Curve, in_order
from reports.queries.curves import curves
from reports.selection import ALL, Selection
from runs.models import Matrix, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase

# More sweeps than this make no picture that anybody can read.
MOST_SWEEPS = 60
MOST_MATRICES = 50


def sweeps_of(team: Team) -> QuerySet[Sweep]:
    """Every sweep that a team may see."""
    return Sweep.objects.filter(team=team)


def measured_sweeps(team: Team) -> QuerySet[Sweep]:
    """What a comparison chooses from: loads only where they are named."""
    return sweeps_of(team).filter(phase=Phase.MEASURE)


@dataclass(frozen=True, slots=True)
class Compared:
    """The curves of a selection, in the order in which they are listed, and what there is to say about it."""

    curves: tuple[Curve, ...]
    matrix_id: uuid.UUID | None  # of the one matrix it is about
    matrix_name: str
    problems: tuple[str, ...]


def compared(team: Team, selection: Selection) -> Compared:
    """The team's sweeps that the selection means. Foreign and unknown ids are left out, with a sentence.

    At most nine queries, whatever the number of sweeps and runs.
    """
    problems: list[str] = list(selection.problems)
    matrix = _matrix(team, selection, problems)
    rows = _chosen(team, selection, matrix)
    found = list(
        rows.select_related("matrix", "workload", "database").order_by("-created_at", "name")[: MOST_SWEEPS + 1]
    )
    if len(found) > MOST_SWEEPS:
        problems.append(f"More than {MOST_SWEEPS} sweeps match; the newest {MOST_SWEEPS} are shown. Choose fewer.")
        found = found[:MOST_SWEEPS]
    missing = len(selection.sweeps) - len(found)
    if selection.sweeps and missing > 0 and not _narrowed(selection):
        problems.append(
            f"{missing} of the {len(selection.sweeps)} chosen sweeps {'are' if missing > 1 else 'is'} not among your "
            f"team's; left out."
        )
    drawn = in_order(curves(found))
    return Compared(tuple(drawn), matrix.pk if matrix else None, matrix.name if matrix else "", tuple(problems))


def _matrix(team: Team, selection: Selection, problems: list[str]) -> Matrix | None:
    """The matrix that the selection is about: the named one, else, with nothing named, the newest with sweeps."""
    if selection.sweeps or selection.matrix == ALL:
        return None
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False)
    if selection.matrix_id:
        if named := matrices.filter(pk=selection.matrix_id).first():
            return named
        problems.append("That matrix is not among your team's; the newest one is shown.")
    return matrices.filter(sweeps__phase=Phase.MEASURE).order_by("-submitted_at", "-pk").first()


def _chosen(team: Team, selection: Selection, matrix: Matrix | None) -> QuerySet[Sweep]:
    if selection.sweeps:
        rows = sweeps_of(team).filter(pk__in=selection.sweeps)
    else:
        rows = measured_sweeps(team)
        # A team without any matrix may have uploaded what it compares.
        rows = rows.filter(matrix=matrix) if matrix else rows
    purposes = selection.purposes
    if not purposes and selection.matrix == ALL and not selection.sweeps:
        # Across matrices only what is meant to be compared, unless the address asks for the rest.
        purposes = tuple(sorted(PUBLISHABLE))
    for column, values in (
        ("system__in", selection.systems),
        ("mode__in", selection.modes),
        ("workload_name__in", selection.workloads),
        ("purpose__in", purposes),
    ):
        if values:
            rows = rows.filter(Q(**{column: values}))
    return rows


def _narrowed(selection: Selection) -> bool:
    return bool(selection.systems or selection.modes or selection.workloads or selection.purposes)


@dataclass(frozen=True, slots=True)
class Facets:
    """What the menus offer: only what the team's sweeps hold."""

    matrices: tuple[tuple[str, str], ...]  # id, name
    systems: tuple[str, ...]
    modes: tuple[str, ...]
    workloads: tuple[str, ...]
    purposes: tuple[tuple[str, str], ...]


def facets(team: Team, matrix_id: uuid.UUID | None) -> Facets:
    """The choices within one matrix, or within everything; two queries."""
    rows = measured_sweeps(team)
    matrices = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-submitted_at")
    if matrix_id:
        rows = rows.filter(matrix=matrix_id)
    held = list(rows.order_by().values_list("system", "mode", "workload_name", "purpose").distinct())
    labels = dict(Purpose.choices)
    return Facets(
        matrices=tuple((str(pk), name) for pk, name in matrices.values_list("pk", "name")[:MOST_MATRICES]),
        systems=tuple(sorted({system for system, _, _, _ in held})),
        modes=tuple(sorted({mode for _, mode, _, _ in held})),
        workloads=tuple(sorted({workload for _, _, workload, _ in held if workload})),
        purposes=tuple(sorted({(purpose, str(labels.get(purpose, purpose))) for _, _, _, purpose in held})),
    )
