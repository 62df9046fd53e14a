"""What the page of the queue shows: rows to plain values, and who may read which of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from benchsite.teams.models import Team
from runs.forecast import predict_starts
from runs.generators import waited_for_in_vain
from runs.models import Machine, Run
from runs.models.run import Status
from runs.pages.queue import QueueRow, queue

__all__ = ["QueueLine", "predict_starts", "queue_lines"]


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One place in the queue as one team may see it: another team's run has no name and no link."""

    row: QueueRow
    mine: bool
    waits_for: str  # in words; empty for what holds its machines
    in_vain: bool  # a load generator that it needs is silent, so no start can be predicted

    @property
    def run(self) -> Run:
        return self.row.run

    @property
    def machines(self) -> tuple[Machine, ...]:
        return self.row.machines


def queue_lines(team: Team, rows: list[QueueRow] | None = None, now: datetime | None = None) -> list[QueueLine]:
    """The whole queue, in order. The predicted starts count every team's runs."""
    now = now or timezone.now()
    rows = queue(now) if rows is None else rows
    holders = {machine.pk: row.run for row in rows if row.holds for machine in row.machines}
    silent = waited_for_in_vain([row.run.pk for row in rows if not row.holds])
    loads = dict(
        Run.objects.filter(pk__in=[row.run.needs_id for row in rows if row.run.needs_id])
        .exclude(status=Status.SUCCEEDED)
        .values_list("pk", "name")
    )
    return [
        QueueLine(
            row,
            mine=row.run.team_id == team.pk,
            waits_for=_why(row, team, holders, silent, loads),
            in_vain=row.run.pk in silent,
        )
        for row in rows
    ]


def _why(
    row: QueueRow, team: Team, holders: dict[UUID, Run], silent: dict[UUID, list[str]], loads: dict[UUID, str]
) -> str:
    if row.holds:
        return ""
    if row.run.pk in silent:
        names = silent[row.run.pk]
        return f"load generator{'s' if len(names) > 1 else ''} {', '.join(names)}: no sign of life"
    if row.run.needs_id in loads:
        return f"its load, {loads[row.run.needs_id]}" if row.run.team_id == team.pk else "its load"
    busy = next((machine for machine in row.machines if machine.pk in holders), None)
    if busy is None:
        return "the scheduler"
    holder = holders[busy.pk]
    return f"machine {busy.name}, held by {holder.name if holder.team_id == team.pk else 'another team'}"
