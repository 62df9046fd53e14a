"""The noise floor of a cluster: from repeats and brackets of its own team, unknown while too little was repeated."""

import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reports.analysis.noise import Cell, noise_floor
from reports.queries import noise_floors
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep, make_team


def test_it_is_the_repeatability_limit_of_the_pooled_logarithms():
    found = noise_floor([Cell([100.0, 102.0, 98.0]), Cell([50.0, 51.0], brackets=1), Cell([7.0])])
    logs = [[math.log(x) for x in cell] for cell in ([100.0, 102.0, 98.0], [50.0, 51.0])]
    squares = sum(sum((x - sum(cell) / len(cell)) ** 2 for x in cell) for cell in logs)
    assert found.relative == pytest.approx(math.expm1(1.96 * math.sqrt(2) * math.sqrt(squares / 3)))
    assert (found.pairs, found.repeats, found.brackets) == (2, 5, 1)


@pytest.mark.parametrize(
    "cells", [[], [Cell([1.0, 2.0])], [Cell([1.0]), Cell([2.0])], [Cell([1.0, 2.0]), Cell([0.0, math.nan])]]
)
def test_too_little_is_unknown(cells):
    assert noise_floor(cells) is None


def cluster_with(team, repeats=2, values=(1000.0, 1010.0), **changes):
    """A cluster with a sweep of two rungs, each measured so often."""
    database = make_database(team=team, cluster=make_cluster(team=team))
    sweep = make_sweep(team=team, database=database, matrix=make_matrix(team=team, repeats=repeats))
    for threads in (2, 4):
        for repeat, value in enumerate(values, start=1):
            make_run(sweep, threads=threads, throughput=value * threads, repeat=repeat, **changes)
    return database.cluster.name, sweep


@pytest.mark.django_db
def test_each_cluster_has_the_floor_of_its_own_repeats():
    team = make_team()
    (calm, _), (wild, _), (single, _) = (
        cluster_with(team),
        cluster_with(team, values=(1000.0, 1300.0, 900.0)),
        cluster_with(team, values=(1000.0,)),
    )
    with CaptureQueriesContext(connection) as asked:
        found = noise_floors(team, [calm, wild, single, "", "no such cluster"])
    assert len(asked) == 2 and set(found) == {calm, wild}
    assert found[calm].relative < 0.05 < 0.3 < found[wild].relative
    assert found[wild].pairs == 2 and found[wild].repeats == 6
    assert noise_floors(make_team(), [calm]) == {} and noise_floors(team, []) == {}


@pytest.mark.slow
@pytest.mark.django_db
def test_what_does_not_count_tells_nothing_and_brackets_do():
    team = make_team()
    for changes in ({"excluded_reason": "noisy"}, {"verdict": "reject"}, {"status": "failed"}):
        name, sweep = cluster_with(team, values=(1000.0,))
        for threads in (2, 4):
            make_run(sweep, threads=threads, throughput=9.0, repeat=2, **changes)
        assert noise_floors(team, [name]) == {}, changes
    name, sweep = cluster_with(team, values=(1000.0,))
    for threads in (2, 4):
        make_run(sweep, threads=threads, throughput=1010.0 * threads, repeat=2, is_bracket=True)
    assert noise_floors(team, [name])[name].brackets == 2
