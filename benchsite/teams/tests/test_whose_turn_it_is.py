"""Each team is told in its turn, however much waits for another."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from benchsite.teams.turns import MOST_OF_A_TEAM, Waiting, fairly

ONE, TWO, THREE = (UUID(int=number) for number in (1, 2, 3))


def waits(team, second):
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    return Waiting(at, UUID(int=team.int * 1000 + second), team)


def test_the_team_with_the_fewest_under_way_is_next_and_then_who_waits_longest():
    many = [waits(ONE, second) for second in range(10)]
    later, latest = waits(TWO, 20), waits(THREE, 30)
    assert fairly([*many, latest, later], [], 12) == [many[0], later, latest, many[1]]
    assert fairly([*many, latest, later], [ONE], 2) == [later, latest]
    assert fairly([latest, later, *many], [ONE], 12) == [later, latest, many[0]]


def test_a_team_has_only_so_many_under_way():
    many = [waits(ONE, second) for second in range(10)]
    assert fairly(many, [], 12) == many[:MOST_OF_A_TEAM]
    assert fairly(many, [ONE] * MOST_OF_A_TEAM, 12) == []
    assert fairly([*many, waits(TWO, 20)], [ONE] * MOST_OF_A_TEAM, 12) == [waits(TWO, 20)]


def test_there_are_no_more_than_there_is_room_for():
    all_teams = [waits(team, second) for team in (ONE, TWO, THREE) for second in range(3)]
    assert len(fairly(all_teams, [], 5)) == 5
    assert fairly(all_teams, [], 0) == fairly([], [], 5) == []
