"""The scheduler's choice: no shared machine, fair between teams, then priority, then age; nobody starves."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from workers.conductor.run_selection import Candidate, choose

T0 = datetime(2026, 1, 1, tzinfo=UTC)
A, B = uuid.UUID(int=1), uuid.UUID(int=2)
C1, C2 = uuid.UUID(int=21), uuid.UUID(int=22)
ROOM = {C1: [T0] * 20}
M1, M2, M3, M4 = (uuid.UUID(int=n) for n in (11, 12, 13, 14))


def candidate(
    number,
    *,
    team=A,
    priority=0,
    age=0,
    position=0,
    machines=(M1,),
    conductors=(C1,),
    expected_s=60.0,
    reserved_at=None,
):
    created_at = T0 - timedelta(seconds=age)
    return Candidate(
        uuid.UUID(int=100 + number), team, priority, created_at, position, frozenset(machines), frozenset(conductors),
        expected_s, reserved_at,
    )  # fmt: skip


def seconds(offset):
    return T0 + timedelta(seconds=offset)


def started(candidates, busy=(), served=None, slots=None):
    """Numbers of the started runs; busy machines are free in a minute."""
    choice = choose(candidates, dict.fromkeys(busy, seconds(60)), slots or ROOM, served or {}, T0)
    return [run.run_id.int - 100 for run in choice.started]


def test_starts_nothing_on_busy_machine():
    assert started([candidate(1), candidate(2, machines=(M1, M2))], [M1]) == []


def test_starts_runs_that_share_nothing_together():
    assert started([candidate(1), candidate(2, machines=(M2,))]) == [1, 2]


def test_never_starts_two_on_overlapping_machines():
    assert started([candidate(1, machines=(M1, M2)), candidate(2, machines=(M2, M3))]) == [1]


def test_serves_team_that_waited_longest():
    served = {A: T0, B: T0 - timedelta(hours=1)}
    assert started([candidate(1, team=A, priority=9), candidate(2, team=B)], served=served) == [2]


def test_team_never_served_comes_first():
    assert started([candidate(1, team=A), candidate(2, team=B)], served={A: T0}) == [2]


def test_serves_teams_in_turns_within_one_look():
    """Team A is first, but its second run comes after the first one of team B."""
    runs = [candidate(1), candidate(2, machines=(M2,)), candidate(3, team=B, machines=(M2,))]
    assert started(runs, served={A: T0 - timedelta(hours=2), B: T0 - timedelta(hours=1)}) == [1, 3]


def test_prefers_priority_then_age_then_position():
    runs = [candidate(1, position=5), candidate(2, position=1), candidate(3, age=60), candidate(4, priority=1)]
    order = []
    while runs:
        best = choose(runs, {}, ROOM, {}, T0).started[0]
        order.append(best.run_id.int - 100)
        runs.remove(best)
    assert order == [4, 3, 2, 1]


def test_reserves_machines_of_first_run_that_must_wait():
    wide = candidate(1, age=9, machines=(M1, M2))
    choice = choose([wide, candidate(2, machines=(M2,), expected_s=61)], {M1: seconds(60)}, ROOM, {}, T0)
    assert (choice.started, choice.reserved) == ([], [wide])


def test_short_run_uses_reserved_machine_meanwhile():
    wide = candidate(1, age=9, machines=(M1, M2))
    assert started([wide, candidate(2, machines=(M2,), expected_s=60)], [M1]) == [2]


def test_overdue_run_leaves_no_time_for_others():
    """The run on the busy machine is predicted to have ended already, so it ends any moment."""
    wide = candidate(1, age=9, machines=(M1, M2))
    assert choose([wide, candidate(2, machines=(M2,), expected_s=1)], {M1: seconds(-5)}, ROOM, {}, T0).started == []


def test_older_reservation_comes_before_served_teams():
    runs = [candidate(1, team=A, reserved_at=seconds(-10)), candidate(2, team=B, reserved_at=seconds(-20))]
    assert started(runs, served={A: seconds(-900)}) == [2]


def test_reservation_counts_only_for_first_of_team():
    assert started([candidate(1, reserved_at=seconds(-10)), candidate(2, priority=1)]) == [2]


def test_starts_no_more_runs_than_conductors_have_slots():
    runs = [candidate(n, machines=(uuid.UUID(int=n),), conductors=(C1, C2), position=n) for n in range(5)]
    assert started(runs, slots={C1: [T0], C2: [T0, seconds(9)]}) == [0, 1]


def test_full_conductor_delays_only_its_own_runs():
    runs = [candidate(1, position=1), candidate(2, position=2, machines=(M2,), conductors=(C2,))]
    assert started(runs, slots={C1: [seconds(60)], C2: [T0]}) == [2]


def test_waiting_run_keeps_its_machines_from_longer_runs():
    """Its conductor is full for a minute; meanwhile another one may use its machine, but no longer than that."""
    slots = {C1: [seconds(60)], C2: [T0]}
    waiting = candidate(1, age=9)
    assert started([waiting, candidate(2, conductors=(C2,), expected_s=60)], slots=slots) == [2]
    assert started([waiting, candidate(2, conductors=(C2,), expected_s=61)], slots=slots) == []


class Simulation:
    """Endless lanes, each with one run at a time, on machines whose runs take as long as predicted."""

    def __init__(self, lanes, capacity=20):
        self.lanes = lanes  # (team, machines, seconds) of each
        self.capacity = capacity  # runs at a time
        self.now, self.served, self.number = T0, {}, 0
        self.waiting = {lane: self.next_run(lane) for lane in range(len(lanes))}
        self.running = {}  # lane -> run and its end
        self.starts = {}  # run -> when

    def next_run(self, lane):
        team, machines, length_s = self.lanes[lane]
        self.number += 1
        age = -(self.now - T0).total_seconds()
        return candidate(self.number, team=team, machines=machines, expected_s=length_s, age=age)

    def step(self):
        """Start what is chosen now, then go to the next end of a run."""
        self.running = {lane: entry for lane, entry in self.running.items() if entry[1] > self.now}
        busy = {machine: end for run, end in self.running.values() for machine in run.machines}
        slots = [*(end for _, end in self.running.values()), *[self.now] * (self.capacity - len(self.running))]
        idle = {lane: run for lane, run in self.waiting.items() if lane not in self.running}
        choice = choose(idle.values(), busy, {C1: slots}, self.served, self.now)
        taken = [machine for run in choice.started for machine in run.machines]
        assert len(set(taken) | set(busy)) == len(taken) + len(busy), "a machine is given twice"
        assert len(self.running) + len(choice.started) <= self.capacity
        for lane, run in idle.items():
            if run in choice.started:
                self.running[lane] = run, self.now + timedelta(seconds=run.expected_s)
                self.served[run.team_id], self.starts[run] = self.now, self.now
                self.waiting[lane] = self.next_run(lane)
            elif run in choice.reserved:
                self.waiting[lane] = Candidate(**{**get_fields(run), "reserved_at": self.now})
        self.now = min(end for _, end in self.running.values())


def get_fields(run):
    return {name: getattr(run, name) for name in Candidate.__slots__}


def test_run_over_four_machines_starts_within_one_run():
    """Four teams keep one machine each busy, with ends that never coincide; the wide run comes when all are busy."""
    machines = (M1, M2, M3, M4)
    lanes = [(uuid.UUID(int=n), (machine,), 600 + 7 * n) for n, machine in enumerate(machines)]
    simulation = Simulation(lanes)
    simulation.step()
    simulation.lanes.append((A, machines, 600))
    simulation.waiting[4] = wide = simulation.next_run(4)
    while simulation.now < T0 + timedelta(hours=24) and len(simulation.starts) < 500:
        simulation.step()
        if any(run.run_id == wide.run_id for run in simulation.starts):
            break
    (start,) = [at for run, at in simulation.starts.items() if run.run_id == wide.run_id]
    assert start - T0 <= timedelta(seconds=2 * 621)


machine_sets = st.sets(st.integers(0, 6), min_size=1, max_size=4)
lanes = st.lists(st.tuples(st.integers(1, 4), machine_sets, st.integers(1, 50)), min_size=1, max_size=10)


@pytest.mark.slow
@given(lanes, st.integers(1, 5))
@settings(max_examples=60)
def test_nobody_starves(drawn, capacity):
    """Whatever the lanes are: each starts a run, then another, and another, while the others are endless too."""
    simulation = Simulation(
        [(uuid.UUID(int=team), {uuid.UUID(int=m + 11) for m in machines}, length) for team, machines, length in drawn],
        capacity,
    )
    firsts = {lane: run.run_id for lane, run in simulation.waiting.items()}
    # Each lane waits at most for three turns of all others.
    deadline = T0 + timedelta(seconds=3 * sum(length for _, _, length in drawn))
    while simulation.now <= deadline and not set(firsts.values()) <= {run.run_id for run in simulation.starts}:
        simulation.step()
    assert set(firsts.values()) <= {run.run_id for run in simulation.starts}


@pytest.mark.slow
@given(st.lists(machine_sets, max_size=12), st.sets(st.integers(0, 6)))
def test_idles_only_for_reservations(sets, busy_numbers):
    runs = [candidate(n, position=n, machines=[uuid.UUID(int=m + 1) for m in s]) for n, s in enumerate(sets)]
    busy = {uuid.UUID(int=m + 1) for m in busy_numbers}
    choice = choose(runs, dict.fromkeys(busy, seconds(30)), ROOM, {}, T0)
    taken = set(busy)
    for run in choice.started:
        assert not run.machines & taken
        taken |= run.machines
    assert len(choice.reserved) <= 1
    reserved = {machine for run in choice.reserved for machine in run.machines}
    assert all(run.machines & (taken | reserved) for run in runs if run not in choice.started)
