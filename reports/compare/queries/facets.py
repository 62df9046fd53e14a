"""What else could be chosen: the menus of the compare page."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Func, QuerySet, TextField

from benchsite.accounts.models import Team
from reports.compare.queries.sweep_selection import get_sweeps
from runs.models import Matrix, Phase, Purpose, Run, Sweep

MAX_MATRICES = 50
MAX_LABELS = 100
# Columns of the query below that are facets.
FACETS = (
    "system", "mode", "durability_class", "workload_name", "cluster_name", "version", "purpose", "source",
)  # fmt: skip
# Only a matrix submits sweeps; what has none was uploaded.
SWEEPS = (
    "SELECT sweep.phase, sweep.system, sweep.mode, sweep.durability_class, sweep.workload_name, sweep.cluster_name,"
    " sweep.version, sweep.purpose, CASE WHEN matrix_id IS NULL THEN 'uploaded'"
    " ELSE 'scheduled' END AS source FROM runs_sweep AS sweep"
)


@dataclass(frozen=True, slots=True)
class Facets:
    """What the menus offer: only what the team's sweeps hold."""

    matrices: tuple[tuple[str, str], ...]  # id, name
    systems: tuple[str, ...]
    modes: tuple[str, ...]
    workloads: tuple[str, ...]
    purposes: tuple[tuple[str, str], ...]
    classes: tuple[str, ...] = ()  # of durability, in words
    clusters: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # the sweeps' tags
    sources: tuple[tuple[str, str], ...] = ()
    phases: tuple[tuple[str, str], ...] = ()  # of all sweeps in question, not only of those in the chosen phase


def facets(team: Team, matrix_id: uuid.UUID | None, phase: str = "") -> Facets:
    """The choices within one matrix, or within everything, and within one phase; three queries."""
    every = get_sweeps(team).order_by()
    if matrix_id:
        every = every.filter(matrix=matrix_id)
    phase = phase or Phase.MEASURE.value
    values = _values(team, matrix_id)

    def texts(column: str) -> set[str]:
        return {value for row_phase, facet, value in values if facet == column and row_phase == phase and value}

    return Facets(
        matrices=get_matrix_choices(team),
        systems=tuple(sorted(texts("system"))),
        modes=tuple(sorted(texts("mode"))),
        workloads=tuple(sorted(texts("workload_name"))),
        purposes=_named(texts("purpose"), Purpose.choices),
        classes=tuple(sorted(texts("durability_class"))),
        clusters=tuple(sorted(texts("cluster_name"))),
        versions=tuple(sorted(texts("version"))),
        labels=get_labels(every.filter(phase=phase)),
        sources=_named(texts("source"), Run.Source.choices),
        phases=_named({row_phase for row_phase, _, _ in values}, Phase.choices),
    )


def _values(team: Team, matrix_id: uuid.UUID | None) -> list[tuple[str, str, str]]:
    """(phase, facet, value), each once. Sorted into groups in one pass over the sweeps: what is crossed with what would
    be thousands of lines."""
    groups = ", ".join(f"(phase, {facet})" for facet in FACETS)
    names = " ".join(f"WHEN GROUPING({facet}) = 0 THEN '{facet}'" for facet in FACETS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT phase, CASE {names} END, COALESCE({', '.join(FACETS)}) FROM ({SWEEPS}"
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


def get_labels(rows: QuerySet[Sweep]) -> tuple[str, ...]:
    """The tags of these sweeps; one query."""
    each = Func("tags", function="unnest", output_field=TextField())
    tags = rows.order_by().exclude(tags=[]).annotate(tag=each).values_list("tag", flat=True).distinct()
    return tuple(sorted(tags[:MAX_LABELS]))


def _named(held: set[str], choices: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((value, str(label)) for value, label in choices if value in held))
