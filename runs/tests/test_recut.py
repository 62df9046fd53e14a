"""Cutting a recorded run again: the next number, judged anew, current; the first stays."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from runs.models import MeasurementSet, Run, RunEvent
from runs.results.recording.recut import RecutRefused, choose_set, recut
from runs.tests.factories import make_run, make_sweep, make_user
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NUMBERS = ("count", "ok", "failed", "mean_us", "min_us", "max_us", "p50_us", "p99_us", "p9999_us", "returns")


@pytest.fixture
def run(team, artifact_folder):
    return recorded_run(team)


@pytest.fixture
def user(team):
    return make_user(team=team, username="rita")


def collect_operations(kept):
    return {row.operation: tuple(getattr(row, name) for name in NUMBERS) for row in kept.measurements.all()}


def collect_findings(kept):
    return list(kept.findings.values_list("check_id", "severity", "measured", "message"))


def get_current_set(run):
    return run.measurement_sets.get(is_current=True)


def test_it_makes_the_next_number_and_keeps_the_first(run, user):
    first = get_current_set(run)
    before = collect_operations(first)
    kept = recut(run, warmup_s=2, tail_s=0, user=user, reason="the first second was cold")
    first.refresh_from_db()
    assert (kept.number, kept.is_current, kept.created_by, kept.note) == (2, True, user, "the first second was cold")
    assert (first.number, first.is_current, collect_operations(first)) == (1, False, before)
    assert kept.warmup_s == 2
    assert (kept.window_from - first.window_from).total_seconds() == pytest.approx(1)
    assert collect_operations(kept) != before


def test_the_run_follows_its_current_cut(run, user):
    kept = recut(run, warmup_s=2, tail_s=0, user=user)
    stored = Run.objects.get(pk=run.pk)
    assert stored.throughput_ops_s == kept.throughput_ops_s == run.throughput_ops_s
    choose_set(run, 1, user)
    stored.refresh_from_db()
    first = get_current_set(stored)
    assert (first.number, stored.throughput_ops_s) == (1, first.throughput_ops_s)


def test_the_verdict_is_that_of_the_current_cut(run, user):
    get_current_set(run).findings.filter(check_id="V05").update(severity="reject")
    Run.objects.filter(pk=run.pk).update(verdict="reject")
    recut(run, warmup_s=2, tail_s=0, user=user)
    assert Run.objects.get(pk=run.pk).verdict != "reject"
    choose_set(run, 1, user)
    assert Run.objects.get(pk=run.pk).verdict == "reject"


def test_the_same_window_gives_the_same_numbers_and_findings(run, user):
    """The intervals and what is stored of the clients are enough: no log is read, and nothing is lost."""
    first = get_current_set(run)
    Run.objects.filter(pk=run.pk).update(verdict="")
    MeasurementSet.objects.filter(pk=first.pk).update(algorithm_version=0)
    run.artifacts.exclude(kind="intervals").delete()
    again = recut(run, warmup_s=first.warmup_s, tail_s=first.tail_s, user=user)
    assert collect_operations(again) == collect_operations(first)
    assert again.clients == first.clients
    assert again.window_s == pytest.approx(first.window_s)
    # The window was planned as long as the plan says, less what is left out at its end on purpose.
    assert [finding[:2] for finding in collect_findings(again)] == [finding[:2] for finding in collect_findings(first)]


def test_a_tail_is_left_out_at_the_end(run, user):
    first = get_current_set(run)
    kept = recut(run, warmup_s=1, tail_s=first.tail_s + 1, user=user)
    assert kept.tail_s == pytest.approx(first.tail_s + 1)
    assert (first.window_to - kept.window_to).total_seconds() == pytest.approx(1, abs=0.01)


def test_it_tells_the_timeline(run, user):
    recut(run, warmup_s=2, tail_s=0, user=user, reason="cold cache")
    event = RunEvent.objects.filter(run=run, kind="cut").get()
    assert (event.actor, event.new) == ("rita", "2")
    assert "2 s of warm-up" in event.text
    assert "cold cache" in event.text


def test_choosing_the_current_one_changes_and_tells_nothing(run, user):
    choose_set(run, 1, user)
    assert not RunEvent.objects.filter(run=run, kind="cut").exists()


@pytest.mark.parametrize(
    ("warmup_s", "tail_s", "says"),
    [
        (1000, 0, "leave nothing of it"),
        (2, 1000, "leave nothing of it"),
        (-1, 0, "from 0 on"),
        (float("nan"), 0, "from 0 on"),
        (0, float("inf"), "from 0 on"),
    ],
)
def test_refuses_impossible_window_and_stores_nothing(run, user, warmup_s, tail_s, says):
    with pytest.raises(RecutRefused, match=says):
        recut(run, warmup_s=warmup_s, tail_s=tail_s, user=user)
    assert run.measurement_sets.count() == 1


def test_a_window_shorter_than_an_interval_is_refused(run, user):
    with pytest.raises(RecutRefused, match="has no interval"):
        recut(run, warmup_s=2, tail_s=get_current_set(run).tail_s + 1.98, user=user)


def test_the_same_cut_twice_is_refused_with_its_number(run, user):
    recut(run, warmup_s=2, tail_s=0, user=user)
    with pytest.raises(RecutRefused, match=r"That is cut 2\.$"):
        recut(run, warmup_s=2, tail_s=0, user=user)
    choose_set(run, 1, user)
    with pytest.raises(RecutRefused, match="Make it current instead"):
        recut(run, warmup_s=2, tail_s=0, user=user)


def test_a_run_without_intervals_is_refused(team, user):
    with pytest.raises(RecutRefused, match="only summaries exist"):
        recut(make_run(make_sweep(team=team)), warmup_s=1, tail_s=0, user=user)


def test_lost_intervals_are_said(run, user, artifact_folder):
    for file in artifact_folder.rglob("*.zst"):
        file.unlink()
    with pytest.raises(RecutRefused, match="Recompute the run"):
        recut(run, warmup_s=2, tail_s=0, user=user)


def test_a_running_run_is_refused(team, user):
    with pytest.raises(RecutRefused, match="has not been measured yet"):
        recut(make_run(make_sweep(team=team), status="running"), warmup_s=1, tail_s=0, user=user)


def test_a_load_is_refused(team, user, artifact_folder):
    with pytest.raises(RecutRefused, match="measured as a whole"):
        recut(recorded_run(team, "load/0", "load/1", phase="load"), warmup_s=1, tail_s=0, user=user)


def test_there_is_no_cut_of_that_number(run, user):
    with pytest.raises(RecutRefused, match="no cut 7"):
        choose_set(run, 7, user)


def test_a_client_that_left_no_log_stays_missing(team, user, artifact_folder):
    run = recorded_run(team, "two_clients/0", "refused/0")
    kept = recut(run, warmup_s=2, tail_s=0, user=user)
    assert (kept.clients_merged, kept.clients_expected) == (1, 2)


def test_override_stays_while_the_same_checks_reject(run, user):
    first = get_current_set(run)
    first.findings.filter(check_id="V01").update(severity="reject")
    Run.objects.filter(pk=run.pk).update(verdict="reject", verdict_override="the client machine was known to be small")
    kept = recut(run, warmup_s=2, tail_s=0, user=user)
    assert Run.objects.get(pk=run.pk).verdict_override  # nothing new rejects it
    kept.findings.filter(check_id="V07").update(severity="reject")
    choose_set(run, 1, user)
    assert Run.objects.get(pk=run.pk).verdict_override == ""  # V07 was looked at meanwhile, V01 was not vouched for
    assert RunEvent.objects.filter(run=run, kind="override_withdrawn").exists()


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_two_sets_and_one_is_current(run, user):
    def cut(warmup_s):
        try:
            return recut(Run.objects.get(pk=run.pk), warmup_s=warmup_s, tail_s=0, user=user).number
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        numbers = sorted(pool.map(cut, (0, 0.5, 1.5, 2)))
    assert numbers == [2, 3, 4, 5]
    stored = Run.objects.get(pk=run.pk)
    assert stored.measurement_sets.filter(is_current=True).count() == 1
    assert stored.throughput_ops_s == get_current_set(stored).throughput_ops_s


def test_it_takes_less_than_a_second(run, user):
    begin = time.process_time()
    recut(run, warmup_s=2, tail_s=0, user=user)
    assert time.process_time() - begin < 1
