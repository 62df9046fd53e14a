"""What the menus of the compare page offer, and what choosing it leaves."""

import datetime as dt
import uuid

import pytest

from reports.compare.queries import chosen, facets, outlines
from reports.compare.selection import ALL, Selection
from runs.models import Sweep
from runs.tests.factories import make_database, make_run, make_sweep, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def sweeps(team):
    redis = make_sweep(team=team, system="redis", mode="always", purpose="measured", tags=["numa", "new disks"])
    database = make_database(team=team, system="postgresql", version="15", name="PostgreSQL <b>")
    postgresql = make_sweep(database=database, mode="off", purpose="soak")
    load = make_sweep(team=team, system="mongodb", mode="journaled", phase="load", purpose="measured", tags=["load"])
    uploaded = make_sweep(team=team, system="redis", mode="off", purpose="measured")
    Sweep.objects.filter(pk=uploaded.pk).update(matrix=None)
    make_sweep(team=make_team(), system="memcached", mode="only", tags=["theirs"])
    for sweep in (redis, postgresql, load, uploaded):
        sweep.refresh_from_db()
        if sweep.matrix_id:
            make_run(sweep)
    return redis, postgresql, load, uploaded


def names(team, **facets):
    return {curve.sweep_id for curve in chosen(team, Selection(matrix=ALL, **facets)).curves}


def test_they_hold_what_the_teams_sweeps_hold(team, sweeps, django_assert_num_queries):
    redis, postgresql, _, _ = sweeps
    with django_assert_num_queries(3):
        found = facets(team, None)
    assert found["system"] == ["postgresql", "redis"] and found["mode"] == ["always", "off"]
    assert found["version"] == ["15", "7.0"] and {redis.cluster_name, postgresql.cluster_name} <= {*found["cluster"]}
    assert found["class"] == sorted({sweeps[n].durability_class for n in (0, 1, 3)})
    assert found["label"] == ["new disks", "numa"]
    assert found["source"] == ["scheduled", "uploaded"]
    assert found["purpose"] == ["measured", "soak"]
    assert found["phase"] == ["load", "measure"]
    assert len(found["matrices"]) == 4


def test_they_are_of_one_matrix_or_one_phase(team, sweeps):
    redis, _, _, _ = sweeps
    assert facets(team, redis.matrix_id)["system"] == ["redis"]
    assert facets(team, redis.matrix_id)["source"] == ["scheduled"]
    assert facets(team, None, "load")["system"] == ["mongodb"] and facets(team, None, "load")["label"] == ["load"]
    assert facets(team, uuid.uuid4())["system"] == [] and facets(make_team(), None)["label"] == []


@pytest.mark.slow
def test_each_facet_narrows_the_comparison(team, sweeps):
    redis, postgresql, load, uploaded = (sweep.pk for sweep in sweeps)
    first, second = sweeps[0], sweeps[1]
    assert names(team) == {redis, postgresql, uploaded}
    assert names(team, classes=(second.durability_class,)) >= {postgresql}
    assert names(team, classes=(first.durability_class,)) == {redis}
    assert names(team, clusters=(second.cluster_name,)) == {postgresql}
    assert names(team, versions=("15", "9")) == {postgresql}
    assert names(team, labels=("numa", "theirs")) == {redis}
    assert names(team, sources=("uploaded",)) == {uploaded}
    assert names(team, sources=("scheduled",)) == {redis, postgresql}
    assert names(team, sources=("scheduled", "uploaded")) == {redis, postgresql, uploaded}
    assert names(team, phase="load") == {load}


@pytest.mark.slow
def test_days_are_whole_days_of_utc(team, sweeps):
    redis = sweeps[0]
    midnight = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    Sweep.objects.filter(pk=redis.pk).update(created_at=midnight - dt.timedelta(microseconds=1))
    assert redis.pk in names(team, until=dt.date(2026, 2, 28))
    assert names(team, until=dt.date(2026, 2, 27)) == set()
    assert redis.pk not in names(team, since=dt.date(2026, 3, 1))
    assert redis.pk in names(team, since=dt.date(2026, 2, 28))
    assert names(team, until=dt.date.max) == names(team)


def test_an_outline_knows_what_its_curve_knows(team, sweeps):
    make_run(sweeps[0], threads=8, throughput=4000.0)
    for _ in ("made", "remembered"):
        (outline,) = outlines([sweeps[0]])
        assert [point.operations for point in outline.points] == [(), ()] and outline.ceiling is not None
        assert outline.ceiling.throughput_ops_s == 4000.0 and outline.progress.succeeded == 2
