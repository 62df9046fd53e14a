"""What else could be chosen: the menus of the compare page."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Func, QuerySet, TextField

from benchsite.accounts.models import Team
from reports.compare.queries.sweep_selection import get_sweeps
from runs.models import Matrix, Phase, Sweep

MAX_MATRICES = 50
MAX_LABELS = 100
# Facet of a selection -> its column of the query below.
FACETS = {
    "system": "system", "mode": "mode", "class": "durability_class", "workload": "workload_name",
    "cluster": "cluster_name", "version": "version", "purpose": "purpose", "source": "source",
}  # fmt: skip
# Only a matrix submits sweeps; what has none was uploaded.
SWEEPS = (
    "SELECT sweep.phase, sweep.system, sweep.mode, sweep.durability_class, sweep.workload_name, sweep.cluster_name,"
    " sweep.version, sweep.purpose, CASE WHEN matrix_id IS NULL THEN 'uploaded'"
    " ELSE 'scheduled' END AS source FROM runs_sweep AS sweep"
)


def facets(team: Team, matrix_id: uuid.UUID | None, phase: str = "") -> dict[str, Sequence[Any]]:
    """The values of each facet within one matrix, or within everything, and within one phase; three queries.

    `phase` has those of all sweeps in question, `matrices` ids with names.
    """
    every = get_sweeps(team).order_by()
    if matrix_id:
        every = every.filter(matrix=matrix_id)
    phase = phase or Phase.MEASURE.value
    values: dict[str, set[str]] = {column: set() for column in FACETS.values()}
    phases = set()
    for row_phase, column, value in _values(team, matrix_id):
        phases.add(row_phase)
        if row_phase == phase and value:
            values[column].add(value)

    return {
        **{name: sorted(values[column]) for name, column in FACETS.items()},
        "label": get_labels(every.filter(phase=phase)),
        "phase": sorted(phases),
        "matrices": get_matrix_choices(team),
    }


def _values(team: Team, matrix_id: uuid.UUID | None) -> list[tuple[str, str, str]]:
    """(phase, column, value), each once.

    Sorted into groups in one pass over the sweeps: what is crossed with what would be thousands of lines.
    """
    columns = list(FACETS.values())
    groups = ", ".join(f"(phase, {column})" for column in columns)
    names = " ".join(f"WHEN GROUPING({column}) = 0 THEN '{column}'" for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT phase, CASE {names} END, COALESCE({', '.join(columns)}) FROM ({SWEEPS}"
            f" WHERE sweep.team_id = %s {'AND matrix_id = %s' if matrix_id else ''}) AS sweep"
            f" GROUP BY GROUPING SETS ({groups})",
            [team.pk, matrix_id] if matrix_id else [team.pk],
        )
        values: list[tuple[str, str, str]] = cursor.fetchall()
        return values


def get_matrix_choices(team: Team) -> tuple[tuple[str, str], ...]:
    """The newest submitted ones; one query."""
    rows = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-submitted_at")
    return tuple((str(pk), name) for pk, name in rows.values_list("pk", "name")[:MAX_MATRICES])


def get_labels(rows: QuerySet[Sweep]) -> list[str]:
    """The tags of these sweeps; one query."""
    each = Func("tags", function="unnest", output_field=TextField())
    tags = rows.order_by().exclude(tags=[]).annotate(tag=each).values_list("tag", flat=True).distinct()
    return sorted(tags[:MAX_LABELS])
