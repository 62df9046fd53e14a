"""What else could be chosen: the menus of the compare page."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Func, QuerySet, TextField

from benchsite.accounts.models import Team
from reports.compare.queries.sweep_selection import COLUMNS, get_sweeps
from runs.models import Matrix, Phase, Sweep

MAX_MATRICES = 50
MAX_LABELS = 100
# Only a matrix submits sweeps; what has none was uploaded.
SOURCE = "CASE WHEN matrix_id IS NULL THEN 'uploaded' ELSE 'scheduled' END AS source"


def facets(team: Team, matrix_id: uuid.UUID | None, phase: str = "") -> dict[str, Sequence[Any]]:
    """The values of each facet within one matrix, or within everything, and within one phase; three queries.

    `phase` has those of all sweeps in question, `matrices` ids with names.
    """
    every = get_sweeps(team).order_by()
    if matrix_id:
        every = every.filter(matrix=matrix_id)
    phase = phase or Phase.MEASURE.value
    rows = _values(team, matrix_id)
    values = defaultdict(list)
    for row_phase, name, value in rows:
        if row_phase == phase and value:
            values[name].append(value)

    return {
        **{name: sorted(values[name]) for name in (*COLUMNS, "source")},
        "label": get_labels(every.filter(phase=phase)),
        "phase": sorted({row_phase for row_phase, *_ in rows}),
        "matrices": get_matrix_choices(team),
    }


def _values(team: Team, matrix_id: uuid.UUID | None) -> list[tuple[str, str, str]]:
    """(phase, facet, value), each once.

    Sorted into groups in one pass over the sweeps: what is crossed with what would be thousands of lines.
    """
    columns = {**COLUMNS, "source": "source"}
    groups = ", ".join(f"(phase, {column})" for column in columns.values())
    names = " ".join(f"WHEN GROUPING({column}) = 0 THEN '{name}'" for name, column in columns.items())
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT phase, CASE {names} END, COALESCE({', '.join(columns.values())})"
            f" FROM (SELECT phase, {', '.join(COLUMNS.values())}, {SOURCE} FROM runs_sweep"
            f" WHERE team_id = %s {'AND matrix_id = %s' if matrix_id else ''}) AS sweep"
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
