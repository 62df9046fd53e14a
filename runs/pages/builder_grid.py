"""The grid of the matrix builder: one row per database and mode, one column per workload."""

from runs.planning import Plan, Preview


def grid_of(plan: Plan, preview: Preview) -> dict[str, object] | None:
    """None without a cell. The `value` of a row is "database:mode", as the form names it."""
    cells = {(cell.database_id, cell.mode, cell.workload_id): cell for cell in preview.cells}
    rows: list[dict[str, object]] = []
    above = None
    for entry in plan.entries:
        key = (entry.database.id, entry.mode)
        rows.append(
            {
                "database": entry.database.name,
                "mode": entry.mode,
                "value": ":".join(key),
                "first": entry.database.id != above,  # the first row of its database
                "cells": [cells[(*key, workload.id)] for workload in plan.workloads if (*key, workload.id) in cells],
            }
        )
        above = entry.database.id
    workloads = [workload.name for workload in plan.workloads]
    return {"workloads": workloads, "rows": rows} if workloads and rows else None
