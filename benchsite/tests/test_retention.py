"""What is thrown away after a time, and what never is."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.utils import timezone

from reports.models import Baseline, BaselineRun, Report
from runs.models import Artifact, Measurement, Run, RunEvent, Series
from runs.results import artifacts
from runs.tests.factories import make_run, make_sweep

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def own_storage(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path}},
    }
    return tmp_path


def old_run(sweep, threads: int, *, days: int = 100, content: bytes = b"raw output\n") -> Run:
    run = make_run(sweep, threads=threads)
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now() - timedelta(days=days))
    artifacts.store(run, "stdout", "stdout.txt", content)
    Series.objects.create(run=run, operation="READ", interval_s=1, points=1, data=b"x")
    return run


def prune(*argv: str) -> str:
    output = StringIO()
    call_command("prune", *argv, stdout=output)
    return output.getvalue()


def test_it_keeps_numbers_and_removes_files(team, own_storage):
    sweep = make_sweep(team=team)
    old, young = old_run(sweep, 2), old_run(sweep, 4, days=10, content=b"younger\n")
    numbers = list(Measurement.objects.order_by("pk").values())
    assert "Removed 1 file and 1 series of 1 run." in prune("--older-than", "90", "--really")
    assert list(Measurement.objects.order_by("pk").values()) == numbers
    assert set(Artifact.objects.values_list("run_id", flat=True)) == {young.pk}
    assert set(Series.objects.values_list("run_id", flat=True)) == {young.pk}
    assert len(list(own_storage.rglob("*.zst"))) == 1
    assert RunEvent.objects.get(run=old, kind="files_removed").text.startswith("1 files and 1 series")
    assert "of 0 runs" in prune("--older-than", "90", "--really")


def test_it_only_says_so_unless_told_really(team, own_storage):
    old_run(make_sweep(team=team), 2)
    assert "Would remove 1 file (" in prune("--older-than", "90")
    assert Artifact.objects.count() == Series.objects.count() == 1
    assert len(list(own_storage.rglob("*.zst"))) == 1


def test_it_keeps_what_is_needed(team, user):
    pinned, drafted, free = (make_sweep(team=team) for _ in range(3))
    run = old_run(pinned, 2)
    baseline = Baseline.objects.create(team=team, name="nightly", chosen="by hand", set_by=user, set_at=timezone.now())
    BaselineRun.objects.create(baseline=baseline, run=run)
    kept = old_run(drafted, 2)
    Report.objects.create(team=team, title="Not out yet", draft={"query": f"sweep={drafted.pk}"})
    gone = old_run(free, 2)
    prune("--older-than", "90", "--really")
    assert set(Artifact.objects.values_list("run_id", flat=True)) == {run.pk, kept.pk}
    assert not Series.objects.filter(run=gone).exists()


def test_it_keeps_content_that_another_run_has(team, own_storage):
    sweep = make_sweep(team=team)
    old_run(sweep, 2, content=b"the same\n")
    young = old_run(sweep, 4, days=1, content=b"the same\n")
    prune("--older-than", "90", "--really")
    assert artifacts.open_artifact(young.artifacts.get()) == b"the same\n"


def test_it_forgets_sessions_that_have_run_out(db):
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(days=1))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + timedelta(days=1))
    assert "Removed sessions: 1." in prune("--older-than", "90", "--really")
    assert [session.session_key for session in Session.objects.all()] == ["new"]


def test_it_refuses_to_remove_what_has_just_ended(db):
    with pytest.raises(CommandError, match="at least 1 day"):
        prune("--older-than", "0", "--really")
