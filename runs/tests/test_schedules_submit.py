"""A schedule clones and submits its matrix when its time has come; what it skips, misses or cannot do stands there."""

from datetime import UTC, datetime, time, timedelta

import pytest

from benchsite.accounts.models import AuditEntry, Notice
from benchsite.core.database_clock import database_now
from runs.models import LoadGenerator, Matrix, Occasion, Run, Schedule
from runs.plans import preview, schedules, stored_plan
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NIGHT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def store(matrix, user, **fields):
    schedule = Schedule(team=matrix.team, matrix=matrix, **{"name": "Nightly", "at": time(3), **fields})
    schedules.make(schedule, user)
    return schedule


@pytest.fixture
def matrix(team):
    machine = make_machine()
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), system="redis")
    generators = [make_load_generator(machine=machine, bindings={"redis": "d" * 64})]
    return make_matrix(
        team=team, name="Checkout", entries=[(redis, "always")], workloads=[make_workload(team=team)],
        load_generators=generators, rungs=[2, 4], tags=["nightly"], notes="of one time only",
    )  # fmt: skip


@pytest.fixture
def schedule(matrix, user):
    made = store(matrix, user)
    Schedule.objects.update(next_at=NIGHT)
    return made


def fresh(schedule):
    return Schedule.objects.get(pk=schedule.pk)


def end_all():
    Run.objects.exclude(status="succeeded").update(status="succeeded", finished_at=NIGHT, stage="done")


def break_plan(matrix):
    LoadGenerator.objects.update(bindings={})


def test_it_waits_for_its_time(schedule):
    assert schedules.tick(NIGHT - timedelta(seconds=1)) == []
    assert Matrix.objects.count() == 1


def test_it_clones_and_submits(schedule, matrix, user):
    [done] = schedules.tick(NIGHT)
    made = done.matrix
    assert (done.outcome, done.reason, done.due_at) == ("submitted", "", NIGHT)
    assert (made.name, made.created_by, made.notes) == ("Nightly 2026-11-22 03:00", user, "")
    assert made.submitted_at is not None
    assert (made.tags, made.rungs, made.purpose) == (matrix.tags, matrix.rungs, matrix.purpose)
    assert preview(stored_plan(made)).runs == preview(stored_plan(matrix)).runs
    assert Run.objects.filter(matrix=made).count() == 3  # a load and two rungs
    assert fresh(schedule).next_at == NIGHT + DAY


def test_its_points_go_on_in_the_same_histories(schedule):
    schedules.tick(NIGHT)
    end_all()
    schedules.tick(NIGHT + DAY)
    keys = [
        set(Run.objects.filter(matrix=occasion.matrix, phase="measure").values_list("config_key", flat=True))
        for occasion in Occasion.objects.all()
    ]
    assert len(keys) == 2
    assert len(keys[0]) == 2
    assert keys[0] == keys[1]


def test_it_skips_while_the_one_before_still_runs(schedule):
    schedules.tick(NIGHT)
    [skipped] = schedules.tick(NIGHT + DAY)
    assert skipped.outcome == "skipped"
    assert skipped.reason == "“Nightly 2026-11-22 03:00”, which it submitted before, has not finished."
    assert not Notice.objects.exists()
    end_all()
    [done] = schedules.tick(NIGHT + 2 * DAY)
    assert done.outcome == "submitted"


def test_missed_times_are_made_up_for_once(schedule):
    [done] = schedules.tick(NIGHT + 3 * DAY + timedelta(hours=5))
    assert (done.outcome, done.due_at) == ("submitted", NIGHT)
    assert "are not made up" in done.reason
    assert fresh(schedule).next_at == NIGHT + 4 * DAY
    assert schedules.tick(NIGHT + 3 * DAY + timedelta(hours=5)) == []


def test_a_plan_that_fails_is_shown_and_told(schedule, matrix):
    break_plan(matrix)
    [failed] = schedules.tick(NIGHT)
    assert failed.outcome == "failed"
    assert failed.matrix is None
    assert "redis" in failed.reason
    assert Matrix.objects.count() == 1
    notice = Notice.objects.get()
    assert (notice.kind, notice.subject, notice.text) == (
        "schedule_failed",
        "Nightly could not be submitted",
        failed.reason,
    )
    assert notice.path == f"/schedules/{schedule.pk}/"
    assert notice.data["failures"] == 1


def test_five_failures_in_a_row_switch_it_off(schedule, matrix):
    break_plan(matrix)
    for number in range(7):
        schedules.tick(NIGHT + number * DAY)
    ended = fresh(schedule)
    assert (ended.is_active, ended.next_at, ended.failures) == (False, None, 5)
    assert ended.off_because.startswith("It failed 5 times in a row: ")
    assert Occasion.objects.count() == Notice.objects.count() == 5
    assert Notice.objects.first().subject == "Nightly could not be submitted and is switched off"
    entry = AuditEntry.objects.get(kind="schedule_off")
    assert (entry.actor, entry.subject) == (None, "Nightly")


def test_one_success_forgets_the_failures(schedule, matrix):
    break_plan(matrix)
    schedules.tick(NIGHT)
    LoadGenerator.objects.update(bindings={"redis": "d" * 64})
    schedules.tick(NIGHT + DAY)
    assert fresh(schedule).failures == 0


def test_a_generator_that_was_taken_from_the_team_fails_it(schedule):
    LoadGenerator.objects.get().teams.add(make_team())
    [failed] = schedules.tick(NIGHT)
    assert failed.outcome == "failed"
    assert "Your team may not use" in failed.reason


def test_an_error_of_ours_stops_nobody_else(schedule, matrix, user, monkeypatch):
    other = store(matrix, user, name="Second")
    Schedule.objects.filter(pk=other.pk).update(next_at=NIGHT + timedelta(minutes=1))
    real = schedules._submit

    def broken(schedule, due_at, by):
        if schedule.name == "Nightly":
            raise ZeroDivisionError
        return real(schedule, due_at, by)

    monkeypatch.setattr(schedules, "_submit", broken)
    first, second = schedules.tick(NIGHT + timedelta(minutes=1))
    assert (first.outcome, second.outcome) == ("failed", "submitted")
    assert first.reason.startswith("Benchsite itself failed")


def test_a_paused_one_submits_nothing_and_goes_on_later(schedule, user):
    schedules.pause(schedule, user)
    assert schedules.tick(NIGHT + DAY) == []
    schedules.resume(schedule, user)
    assert fresh(schedule).next_at > database_now()
    assert set(AuditEntry.objects.values_list("kind", flat=True)) >= {"schedule_made", "schedule_off", "schedule_on"}


def test_deleting_it_keeps_what_it_submitted(schedule, user):
    schedules.tick(NIGHT)
    schedules.delete(schedule, user)
    assert Matrix.objects.count() == 2
    assert not Occasion.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_submit_it_once(schedule, race):
    results = race(lambda: schedules.tick(NIGHT), times=4)
    assert sum(len(result) for result in results) == 1
    assert Matrix.objects.count() == 2
