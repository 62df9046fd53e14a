"""What the page of the queue shows: rows to plain values, and who may read which of them."""

import uuid
from typing import Any

from benchsite.accounts.models import Team
from benchsite.accounts.tenancy import all_teams
from runs.models import Run, Status
from runs.queue.pages.queue import Queue, QueueRow, silent_parts


@all_teams()
def queue_lines(team: Team, queue: Queue) -> list[dict[str, Any]]:
    """The rows of this queue as `team` may see them, in order: another team's run has no name and no link.

    `in_vain`: no conductor or not every load generator of it is alive, so no start can be predicted.
    """
    rows = queue.rows
    holders: dict[uuid.UUID, Run] = {}
    for row in rows:
        if row.holds:
            holders |= {machine.pk: row.run for machine in row.machines}

    silent = silent_parts([row.run for row in rows if not row.holds])
    needed = Run.objects.filter(pk__in=[row.run.needs_id for row in rows if row.run.needs_id])
    loads = dict(needed.exclude(status=Status.SUCCEEDED).values_list("pk", "name"))

    def explain_wait(row: QueueRow) -> str:
        """What a run waits for; a run of another team has no name."""
        if row.holds:
            return ""
        if row.run.pk in silent:
            return f"{', '.join(silent[row.run.pk])}: no sign of life"
        if row.run.needs_id in loads:
            if row.run.team_id != team.pk:
                return "its load"
            return f"its load, {loads[row.run.needs_id]}"

        for machines, verb in ((holders, "held by"), (queue.reserved, "reserved for")):
            for machine in row.machines:
                other = machines.get(machine.pk, row.run)
                if other.pk == row.run.pk:
                    continue
                name = "another team"
                if other.team_id == team.pk:
                    name = other.name
                return f"machine {machine.name}, {verb} {name}"

        return "the scheduler"

    return [
        {
            "row": row,
            "run": row.run,
            "machines": row.machines,
            "mine": row.run.team_id == team.pk,
            "waits_for": explain_wait(row),
            "in_vain": row.run.pk in silent,
        }
        for row in rows
    ]
