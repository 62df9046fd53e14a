"""The grid of the matrix builder: one row per database and mode, one column per workload."""

from dataclasses import dataclass

from runs.planning import Cell, Plan, Preview


@dataclass(frozen=True, slots=True)
class GridRow:
    database: str
    mode: str
    value: str  # "database:mode", as the form names the row
    first: bool  # the first row of its database
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    workloads: tuple[str, ...]
    rows: tuple[GridRow, ...]

    @property
    def shown(self) -> bool:
        return bool(self.workloads and self.rows)


def grid_of(plan: Plan, preview: Preview) -> Grid:
    cells = {(cell.database_id, cell.mode, cell.workload_id): cell for cell in preview.cells}
    rows: list[GridRow] = []
    for entry in plan.entries:
        key = (entry.database.id, entry.mode)
        found = [cells[(*key, workload.id)] for workload in plan.workloads if (*key, workload.id) in cells]
        first = not rows or rows[-1].value.partition(":")[0] != entry.database.id
        rows.append(GridRow(entry.database.name, entry.mode, ":".join(key), first, tuple(found)))
    return Grid(tuple(workload.name for workload in plan.workloads), tuple(rows))
