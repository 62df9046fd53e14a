"""The scheduler's choice: no shared machine, fair between teams, then priority, then age."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.scheduling import Waiting, choose

T0 = datetime(2026, 1, 1, tzinfo=UTC)
A, B = uuid.UUID(int=1), uuid.UUID(int=2)
M1, M2, M3 = (uuid.UUID(int=n) for n in (11, 12, 13))


def waiting(number, *, team=A, priority=0, age=0, position=0, machines=(M1,)):
    return Waiting(
        uuid.UUID(int=100 + number), team, priority, T0 - timedelta(seconds=age), position, frozenset(machines)
    )


def numbers(chosen):
    return [run.run_id.int - 100 for run in chosen]


def test_it_starts_nothing_on_a_busy_machine():
    assert choose([waiting(1), waiting(2, machines=(M1, M2))], [M1], {}) == []


def test_it_starts_runs_that_share_nothing_together():
    assert numbers(choose([waiting(1), waiting(2, machines=(M2,))], [], {})) == [1, 2]


def test_it_never_starts_two_on_overlapping_machines():
    assert numbers(choose([waiting(1, machines=(M1, M2)), waiting(2, machines=(M2, M3))], [], {})) == [1]


def test_it_serves_the_team_that_waited_longest():
    served = {A: T0, B: T0 - timedelta(hours=1)}
    assert numbers(choose([waiting(1, team=A, priority=9), waiting(2, team=B)], [], served)) == [2]


def test_a_team_never_served_comes_first():
    assert numbers(choose([waiting(1, team=A), waiting(2, team=B)], [], {A: T0})) == [2]


def test_it_prefers_priority_then_age_then_place():
    runs = [waiting(1, position=5), waiting(2, position=1), waiting(3, age=60), waiting(4, priority=1)]
    order = []
    while runs:
        best = choose(runs, [], {})[0]
        order.append(best.run_id.int - 100)
        runs.remove(best)
    assert order == [4, 3, 2, 1]


machine_sets = st.sets(st.integers(0, 6), min_size=1, max_size=3)


@pytest.mark.slow
@given(st.lists(machine_sets, max_size=12), st.sets(st.integers(0, 6)))
def test_chosen_runs_are_disjoint_and_nothing_more_would_fit(sets, busy_numbers):
    runs = [waiting(n, position=n, machines=[uuid.UUID(int=m + 1) for m in s]) for n, s in enumerate(sets)]
    busy = {uuid.UUID(int=m + 1) for m in busy_numbers}
    chosen = choose(runs, busy, {})
    taken = set(busy)
    for run in chosen:
        assert not run.machines & taken
        taken |= run.machines
    assert all(run.machines & taken for run in runs if run not in chosen)
