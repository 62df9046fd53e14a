"""What is remembered is never out of date, never another team's, and never missed."""

import datetime as dt
import uuid

import pytest
from django.core.cache import cache
from django.utils import timezone

from benchsite.notifications import notices
from conftest import signed_in
from reports.compare.queries import computed_cache, curves, outlines
from reports.compare.queries.computed_cache import build_key, get_or_compute, sweep_digests
from reports.compare.queries.curves import RECENT, store_recent
from reports.models import StoredCurve
from runs.models import Matrix, MeasurementSet, Run, Sweep, ThresholdOverride
from runs.models.run import Status
from runs.results import annotations
from runs.results.deletion import delete, restore, select_matrix
from runs.tests.factories import (
    make_measurement_set,
    make_run,
    make_sweep,
    make_team,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweep(team):
    """Two rungs that passed, one that a check rejects, and one run that goes."""
    sweep = make_sweep(team=team)
    for threads, throughput in ((2, 1000.0), (4, 1900.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    make_run(sweep, threads=8, throughput=3300.0, verdict="reject", findings=[{"severity": "reject"}])
    return sweep


def ends(sweep, user):
    going = Run.objects.get(sweep=sweep, status=Status.RUNNING)
    Run.objects.filter(pk=going.pk).update(
        status=Status.SUCCEEDED, finished_at=timezone.now(), throughput_ops_s=9000.0, verdict="pass"
    )
    make_measurement_set(going)


def is_cut_again(sweep, user):
    run = sweep.runs.get(threads=2)
    MeasurementSet.objects.filter(run=run).update(is_current=False)
    make_measurement_set(run, number=2)


def is_computed_again(sweep, user):
    run = sweep.runs.get(threads=2)
    MeasurementSet.objects.filter(run=run).update(algorithm_version=99, throughput_ops_s=980.0)


CHANGES = {
    "a new run": lambda sweep, user: make_run(sweep, threads=16, throughput=3500.0),
    "a run ends": ends,
    "a run is excluded": lambda sweep, user: annotations.exclude(sweep.runs.filter(threads=2), user, "another job"),
    "a run counts again": lambda sweep, user: annotations.include(sweep.runs.filter(threads=4), user),
    "a rejected run counts": lambda sweep, user: annotations.override(sweep.runs.get(threads=8), user, "known"),
    "a run is cut again": is_cut_again,
    "a run is computed again": is_computed_again,
    "tags and notes": lambda sweep, user: annotations.describe_sweep(sweep, ["numa"], "after the move"),
    "a renamed matrix": lambda sweep, user: Matrix.objects.filter(pk=sweep.matrix_id).update(name="another"),
    "a deleted run": lambda sweep, user: sweep.runs.filter(threads=2).delete(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_it_is_another_digest_after(what, sweep, user):
    make_run(sweep, threads=32, status="running")
    annotations.exclude(sweep.runs.filter(threads=4), user, "an update ran")
    before = sweep_digests([sweep.pk])
    assert sweep_digests([sweep.pk]) == before
    CHANGES[what](sweep, user)
    assert sweep_digests([sweep.pk]) != before


def test_a_deleted_sweep_has_no_digest(sweep):
    assert sweep_digests([uuid.uuid4()]) == {}
    assert set(sweep_digests([sweep.pk, uuid.uuid4()])) == {sweep.pk}


def test_a_second_time_takes_one_query(sweep, django_assert_num_queries):
    first = curves([sweep])
    with django_assert_num_queries(1):
        assert curves([sweep]) == first
    assert "ceiling" in curves([sweep])[0].__dict__  # worked out, and kept


def computed_anew(sweep):
    StoredCurve.objects.all().delete()
    return curves([sweep]), outlines([sweep])


def test_stored_curve_is_the_computed_one(sweep):
    first = computed_anew(sweep)
    cache.clear()
    second = curves([sweep]), outlines([sweep])
    assert second == first
    assert (second[1][0].ceiling, second[1][0].knee) == (first[0][0].ceiling, first[0][0].knee)
    assert second[1][0].points[0].operations == ()


@pytest.mark.parametrize("change", CHANGES)
def test_stored_curves_follow_every_change(change, sweep, user):
    make_run(sweep, threads=32, status="failed" if change != "a run ends" else "running")
    annotations.exclude(sweep.runs.filter(threads=4), user, "an update ran")
    curves([sweep])
    CHANGES[change](sweep, user)
    after = curves([sweep]), outlines([sweep])
    assert after == computed_anew(sweep)
    assert StoredCurve.objects.count() == 1


def test_matrix_with_a_stored_curve_is_restored(sweep, user, settings, tmp_path):
    own = {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": own}
    curves([sweep])
    deletion = delete(select_matrix(sweep.matrix), user, sweep.team)

    restore(deletion, user)

    assert Sweep.objects.filter(pk=sweep.pk).exists()
    assert curves([sweep]) == computed_anew(sweep)[0]


def test_stored_curve_goes_with_its_sweep(sweep):
    curves([sweep])
    sweep.runs.all().delete()
    sweep.delete()
    assert not StoredCurve.objects.exists()


def test_unreadable_stored_curve_is_computed_again(sweep, caplog):
    first = curves([sweep])
    StoredCurve.objects.update(curve=b"damaged")
    assert curves([sweep]) == first
    assert "cannot be read" in caplog.text
    assert bytes(StoredCurve.objects.get().curve) != b"damaged"


def test_curve_is_stored_once_its_runs_have_ended(sweep, user, team):
    going, old = make_run(sweep, threads=32, status="running"), make_sweep(team=team)
    long_ago = make_run(old)
    MeasurementSet.objects.filter(run=long_ago).update(created_at=timezone.now() - 2 * RECENT)
    store_recent()
    assert not StoredCurve.objects.exists()
    ends(sweep, user)
    assert notices.find() == 0
    assert StoredCurve.objects.get().sweep_id == going.sweep_id


def test_only_what_changed_is_read_again(team, sweep):
    other = make_sweep(team=team)
    make_run(other)
    curves([sweep, other])
    make_run(other, threads=64, throughput=7777.0)
    assert [len(curve.points) for curve in curves([sweep, other])] == [3, 2]


def test_nothing_is_kept_while_runs_are_going(sweep, client_in, monkeypatch):
    make_run(sweep, threads=32, status="running")
    monkeypatch.setattr(cache, "set_many", lambda *args: pytest.fail("kept"))
    assert curves([sweep])[0].progress.going
    assert client_in.get(f"/compare/?v=1&sweep={sweep.pk}").status_code == 200
    assert not StoredCurve.objects.exists()


def test_the_page_says_what_changed_last(client_in, sweep, user, team):
    make_run(make_sweep(team=team, matrix=sweep.matrix, mode="off"), throughput=800.0)
    said = client_in.get("/compare/", follow=True).content.decode()
    assert client_in.get("/compare/", follow=True).content.decode().count("<h2") == said.count("<h2")
    Matrix.objects.filter(pk=sweep.matrix_id).update(name="A matrix of another name")
    assert "A matrix of another name" in client_in.get("/compare/", follow=True).content.decode()
    annotations.exclude(sweep.runs.filter(threads=4), user, "the neighbours were loud")
    assert "the neighbours were loud" in client_in.get("/compare/", follow=True).content.decode()


def test_a_replaced_threshold_asks_for_another_page(client_in, sweep, user, team, monkeypatch):
    make_run(make_sweep(team=team, matrix=sweep.matrix, mode="off"))
    made = []
    make = computed_cache.cache_values
    monkeypatch.setattr(computed_cache, "cache_values", lambda entries: made.extend(entries) or make(entries))
    client_in.get("/compare/", follow=True)
    client_in.get("/compare/", follow=True)
    before = len(made)
    ThresholdOverride.objects.create(team=team, threshold="cpu_warn", value=0.5, reason="small", changed_by=user)
    client_in.get("/compare/", follow=True)
    assert len(made) == before + 1


def test_two_teams_never_share_an_entry(sweep):
    theirs = make_team()
    assert build_key(sweep.team_id, "compare", "?v=1") != build_key(theirs.pk, "compare", "?v=1")
    address = f"/compare/?v=1&sweep={sweep.pk}"
    assert sweep.database_name in signed_in(make_user(team=sweep.team)).get(address).content.decode()
    assert sweep.database_name not in signed_in(make_user(team=theirs)).get(address).content.decode()


def test_what_one_person_may_do_is_not_shown_to_another(client_in, sweep, team):
    assert b"runa" in client_in.get(f"/compare/?v=1&sweep={sweep.pk}").content
    other = signed_in(make_user(team=team, username="olga"))
    page = other.get(f"/compare/?v=1&sweep={sweep.pk}").content
    assert b"olga" in page and b"runa" not in page


@pytest.fixture
def no_redis(settings):
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
            "OPTIONS": {"socket_connect_timeout": 0.2},
        }
    }
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.db"


def test_without_redis_it_is_worked_out(no_redis, client_in, sweep, caplog):
    assert len(curves([sweep])[0].points) == 3
    assert client_in.get(f"/compare/?v=1&sweep={sweep.pk}").status_code == 200
    assert "without it" in caplog.text


def test_an_entry_that_cannot_be_read_is_made_again(sweep):
    key = build_key(sweep.team_id, "anything")
    cache.set(key, b"of another release", 60)
    assert get_or_compute(key, str, lambda: "made") == "made"
    assert get_or_compute(key, str, lambda: "not again") == "made"


def test_what_is_too_large_is_not_kept(sweep, monkeypatch):
    monkeypatch.setattr(computed_cache, "MAX_ENTRY_BYTES", 10)
    key = build_key(sweep.team_id, "large", str(dt.datetime.now()))
    assert get_or_compute(key, str, lambda: uuid.uuid4().hex * 100) != get_or_compute(
        key, str, lambda: uuid.uuid4().hex * 100
    )


def test_two_releases_never_share_an_entry(sweep, monkeypatch):
    mine = build_key(sweep.team_id, "compare")
    monkeypatch.setattr(computed_cache, "_code", lambda: "another release")
    assert build_key(sweep.team_id, "compare") != mine


def test_a_sweep_without_runs_is_a_curve_without_points(team):
    assert curves(Sweep.objects.none()) == []
    assert curves([make_sweep(team=team)])[0].points == ()
