"""A matrix before it is stored, with the rows that it crosses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from benchsite.accounts.models import Team, User
from runs.models import Database, LoadGenerator, Matrix, MatrixEntry, Workload
from runs.plans import sizes
from runs.plans.plan import Plan, build_plan, compute_overheads
from runs.plans.plan_spec import PlanRequest


@dataclass(slots=True)
class Draft:
    """`entries` are (database, mode); databases bring their cluster and nodes."""

    matrix: Matrix
    entries: Sequence[tuple[Database, str]]
    workloads: Sequence[Workload]
    generators: Sequence[LoadGenerator]

    def build_plan(self) -> Plan:
        return build_plan(self.matrix, entries=self.entries, workloads=self.workloads, generators=self.generators)

    @transaction.atomic
    def store(self, user: User | None) -> Matrix:
        """Saves the matrix alone, to be submitted later."""
        self.matrix.created_by = user
        self.matrix.save()
        self.matrix.workloads.set(self.workloads)
        self.matrix.load_generators.set(self.generators)
        MatrixEntry.objects.bulk_create(
            MatrixEntry(matrix=self.matrix, database=database, mode=mode, position=position)
            for position, (database, mode) in enumerate(self.entries)
        )
        return self.matrix


def read_stored(matrix: Matrix) -> Draft:
    """A stored matrix with what it crosses, in a constant number of queries."""
    entries = matrix.entries.select_related("database__cluster").prefetch_related("database__cluster__nodes__machine")
    return Draft(
        matrix,
        [(entry.database, entry.mode) for entry in entries],
        list(matrix.workloads.order_by("name")),
        list(matrix.load_generators.select_related("machine").order_by("name")),
    )


def stored_plan(matrix: Matrix) -> Plan:
    """The plan of a stored matrix, in a constant number of queries."""
    return read_stored(matrix).build_plan().model_copy(update={"overheads": compute_overheads(matrix)})


def draft_matrix(
    team: Team,
    request: PlanRequest,
    *,
    entries: Sequence[tuple[Database, str]],
    workloads: Sequence[Workload],
    generators: Sequence[LoadGenerator],
    exclusions: Sequence[dict[str, Any]],
    overrides: Sequence[dict[str, Any]] = (),
) -> Draft:
    """A matrix of a request, not saved. Its rule for records makes overrides beside the stated ones."""
    nodes = {str(database.pk): database.count_servers() for database, _ in entries}
    records = {str(workload.pk): int(workload.properties.get("recordcount", 0)) for workload in workloads}
    columns = request.columns
    columns["name"] = columns["name"] or _make_name(entries, workloads)
    matrix = Matrix(
        team=team,
        exclusions=list(exclusions),
        overrides=[*sizes.overrides(request.records_rule, nodes, records), *overrides],
        **columns,
    )
    return Draft(matrix, entries, workloads, generators)


def _make_name(entries: Sequence[tuple[Database, str]], workloads: Sequence[Workload]) -> str:
    databases = list(dict.fromkeys(database.name for database, _ in entries))
    more = ""
    if len(databases) > 3:
        more = f" and {len(databases) - 3} more"
    short_names = ", ".join(workload.short_name for workload in workloads)
    return f"{', '.join(databases[:3]) or 'Matrix'}{more}: {short_names or 'no workload'}"[:120]
