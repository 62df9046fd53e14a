"""What else could be chosen: the menus of the compare page."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Func, Q, QuerySet, TextField

from benchsite.teams.models import Team
from reports.queries.choosing import sweeps_of
from runs.models import Matrix, Run, Sweep
from runs.models.plan import Purpose
from runs.models.run import Phase

MOST_MATRICES = 50
MOST_LABELS = 100
# Only a matrix submits sweeps; what has none was brought along.
UPLOADED = ExpressionWrapper(Q(matrix__isnull=True), output_field=BooleanField())
COLUMNS = (
    "phase",
    "system",
    "mode",
    "durability_class",
    "workload_name",
    "cluster_name",
    "version",
    "purpose",
    "uploaded",
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
    every = sweeps_of(team).order_by()
    if matrix_id:
        every = every.filter(matrix=matrix_id)
    phase = phase or Phase.MEASURE.value
    rows = every.annotate(uploaded=UPLOADED).values_list(*COLUMNS).distinct()
    found: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    held = [one for one in found if one["phase"] == phase]

    def texts(column: str) -> tuple[str, ...]:
        return tuple(sorted({one[column] for one in held if one[column]}))

    sources = {Run.Source.UPLOADED if one["uploaded"] else Run.Source.SCHEDULED for one in held}
    return Facets(
        matrices=matrices_of(team),
        systems=texts("system"),
        modes=texts("mode"),
        workloads=texts("workload_name"),
        purposes=_named(set(texts("purpose")), Purpose.choices),
        classes=texts("durability_class"),
        clusters=texts("cluster_name"),
        versions=texts("version"),
        labels=labels_of(every.filter(phase=phase)),
        sources=_named({source.value for source in sources}, Run.Source.choices),
        phases=_named({one["phase"] for one in found}, Phase.choices),
    )


def matrices_of(team: Team, most: int = MOST_MATRICES) -> tuple[tuple[str, str], ...]:
    """The newest submitted ones; one query."""
    rows = Matrix.objects.filter(team=team, submitted_at__isnull=False).order_by("-submitted_at")
    return tuple((str(pk), name) for pk, name in rows.values_list("pk", "name")[:most])


def labels_of(rows: QuerySet[Sweep], most: int = MOST_LABELS) -> tuple[str, ...]:
    """The tags of these sweeps; one query."""
    each = Func("tags", function="unnest", output_field=TextField())
    tags = rows.order_by().exclude(tags=[]).annotate(tag=each).values_list("tag", flat=True).distinct()
    return tuple(sorted(tags[:most]))


def _named(held: set[str], choices: Any) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((value, str(label)) for value, label in choices if value in held))
