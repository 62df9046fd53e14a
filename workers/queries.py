"""What the pages about load generators and the queue show: rows to plain values, and who may read which of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import DurationField, ExpressionWrapper, F, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.teams.models import Team
from runs.forecast import predict_starts
from runs.generators import SILENT_AFTER, waited_for_in_vain
from runs.models import ClientRun, LoadGenerator, Machine, Run
from runs.models.run import Status
from runs.pages.queue import QueueRow, queue
from workers.models import Lease

__all__ = ["Generator", "QueueLine", "generators", "health", "predict_starts", "queue_lines"]


@dataclass(frozen=True, slots=True)
class Generator:
    """One load generator as its page shows it to one team."""

    row: LoadGenerator
    silent_s: float | None  # since its last sign of life; None: it never gave one
    busy_with: ClientRun | None  # only where the run is the reader's own
    busy: bool
    held_by: Run | None  # the lease on its machine, likewise

    @property
    def state(self) -> str:
        """up | busy | silent | off | never seen."""
        if not self.row.enabled:
            return "off"
        if self.silent_s is None:
            return "never seen"
        if self.silent_s > SILENT_AFTER.total_seconds():
            return "silent"
        return "busy" if self.busy else "up"

    @property
    def tone(self) -> str:
        """The badge."""
        return {"up": "pass", "busy": "running", "silent": "reject", "never seen": "warn"}.get(self.state, "none")


def generators(team: Team) -> list[Generator]:
    """The load generators that the team may use, with what they do. Three queries.

    Silence is measured by PostgreSQL's clock, which is also the one that a sign of life is written with.
    """
    silence = ExpressionWrapper(Now() - F("last_seen_at"), output_field=DurationField())
    rows = list(
        LoadGenerator.objects.filter(Q(teams=None) | Q(teams=team))
        .annotate(silence=silence)
        .select_related("machine")
        .distinct()
        .order_by("name")
    )
    active = [ClientRun.State.STARTING, ClientRun.State.READY, ClientRun.State.RUNNING]
    busy: dict[UUID | None, ClientRun] = {
        client.load_generator_id: client
        for client in ClientRun.objects.filter(load_generator__in=rows, state__in=active)
        .select_related("run")
        .defer("run__spec", "run__evidence", "order", "command")
    }
    machines = {row.machine_id for row in rows}
    held = {
        lease.machine_id: lease.run
        for lease in Lease.objects.filter(machine__in=machines)
        .select_related("run")
        .defer("run__spec", "run__evidence")
    }
    found = []
    for row in rows:
        client, holder = busy.get(row.pk), held.get(row.machine_id)
        found.append(
            Generator(
                row=row,
                silent_s=max(row.silence.total_seconds(), 0.0) if row.silence is not None else None,
                busy_with=client if client and client.run.team_id == team.pk else None,
                busy=client is not None,
                held_by=holder if holder and holder.team_id == team.pk else None,
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Health:
    """All load generators in one line."""

    up: int
    total: int

    @property
    def good(self) -> bool:
        return self.total > 0 and self.up == self.total


def health(found: list[Generator]) -> Health:
    return Health(sum(generator.state in ("up", "busy") for generator in found), len(found))


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
