"""Which runs start now: a pure choice between candidates of all teams, with reservations for those that must wait.

Without reservations a run that needs several machines starves: each machine that becomes free is taken by a run that
needs only that one. A team's first candidate that cannot start therefore reserves its machines. Others may use a
reserved machine only if they are predicted to end before the reserved run starts (backfilling).
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A queued run that waits for nothing but its machines."""

    run_id: UUID
    team_id: UUID
    priority: int
    created_at: datetime
    position: int  # within its matrix
    machines: frozenset[UUID]  # of its cluster and of its load generators
    conductors: frozenset[UUID]  # that may carry it out
    expected_s: float
    reserved_at: datetime | None = None  # since when its machines are reserved


@dataclass(frozen=True, slots=True)
class Choice:
    """What one look at the queue decides."""

    started: list[Candidate] = field(default_factory=list)
    reserved: list[Candidate] = field(default_factory=list)  # those that had no reservation before


def choose(
    candidates: Iterable[Candidate],
    busy: Mapping[UUID, datetime],
    slots: Mapping[UUID, Sequence[datetime]],
    last_served: Mapping[UUID, datetime],
    now: datetime,
) -> Choice:
    """The runs to start now, and those whose machines are reserved from now on.

    `busy` maps a machine to the predicted end of its run, `slots` a conductor to the times from which it can carry out
    a further run, `last_served` a team to the last start of one of its runs. No two started runs share a machine or a
    slot, and none of these is busy. Older reservations come first, then the team that was served longest ago; within a
    team priority, then age, then the place in the matrix. Only the first candidate of a team has a reservation.
    """
    machines = _Machines(busy, slots, now)
    choice = Choice()
    teams: dict[UUID, deque[Candidate]] = defaultdict(deque)
    for candidate in sorted(candidates, key=_age):
        teams[candidate.team_id].append(candidate)

    firsts = {queue[0].run_id: queue[0] for queue in teams.values()}
    with_reservation = [first for first in firsts.values() if first.reserved_at is not None]
    served = dict(last_served)
    for first in sorted(with_reservation, key=lambda first: (first.reserved_at or now, _age(first))):
        teams[first.team_id].popleft()
        if machines.start(first):
            choice.started.append(first)
            served[first.team_id] = now
        else:
            machines.reserve(first)

    turns = [(served.get(team, NEVER), number, queue) for number, (team, queue) in enumerate(teams.items()) if queue]
    heapq.heapify(turns)
    number = len(teams)
    while turns:
        served_at, turn, queue = heapq.heappop(turns)
        candidate = queue.popleft()
        if machines.start(candidate):
            choice.started.append(candidate)
            served_at, turn, number = now, number, number + 1
        elif candidate.run_id in firsts:
            machines.reserve(candidate)
            choice.reserved.append(candidate)
        if queue:
            heapq.heappush(turns, (served_at, turn, queue))

    return choice


def _age(candidate: Candidate) -> tuple[int, datetime, int, UUID]:
    return -candidate.priority, candidate.created_at, candidate.position, candidate.run_id


def take_slot(
    slots: Mapping[UUID, MutableSequence[datetime]], conductors: Iterable[UUID], now: datetime, ends_at: datetime
) -> bool:
    """Take the slot of a run that ends at `ends_at`, of the conductor that has most free ones. False: none has any."""
    free: dict[UUID, int] = {}
    for conductor in conductors:
        if conductor in slots:
            free[conductor] = sum(free_at <= now for free_at in slots[conductor])
    freest = max(sorted(free), key=free.__getitem__, default=None)
    if freest is None or not free[freest]:
        return False
    slots[freest].remove(min(slots[freest]))
    slots[freest].append(ends_at)
    return True


class _Machines:
    """When each machine and each slot of a conductor is predicted to be free, and from when machines are reserved."""

    def __init__(self, busy: Mapping[UUID, datetime], slots: Mapping[UUID, Sequence[datetime]], now: datetime) -> None:
        self.now = now
        self.slots = {conductor: list(times) for conductor, times in slots.items()}
        self.taken = set(busy)
        self.free_at = {machine: max(now, ends_at) for machine, ends_at in busy.items()}
        self.reserved_from: dict[UUID, datetime] = {}

    def start(self, run: Candidate) -> bool:
        """Take the run's machines unless one is taken, or is reserved from a time before the run's predicted end."""
        ends_at = self.now + timedelta(seconds=run.expected_s)
        delays = any(ends_at > self.reserved_from.get(machine, ends_at) for machine in run.machines)
        if delays or run.machines & self.taken or not take_slot(self.slots, run.conductors, self.now, ends_at):
            return False
        self.taken |= run.machines
        self.free_at.update(dict.fromkeys(run.machines, ends_at))
        return True

    def reserve(self, run: Candidate) -> None:
        """Reserve the run's machines from when all of them and a slot are predicted to be free."""
        slots_free_at = [min(self.slots[pk], default=self.now) for pk in run.conductors if pk in self.slots]
        slot_free_at = min(slots_free_at, default=self.now)
        machines_free_at = [self.free_at.get(machine, self.now) for machine in run.machines]
        starts_at = max([slot_free_at, *machines_free_at])
        for machine in run.machines:
            self.reserved_from[machine] = min(starts_at, self.reserved_from.get(machine, starts_at))
            self.free_at[machine] = starts_at + timedelta(seconds=run.expected_s)
