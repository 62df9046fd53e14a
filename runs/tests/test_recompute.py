"""manage.py recompute: nothing on unchanged code; what differs is told, applied beside the old numbers, and undone."""

import io

import pytest
import zstandard
from django.core.management import CommandError, call_command

from runs.models import Finding, Measurement, MeasurementSet, Run, RunEvent, Series
from runs.results.recording import recompute
from runs.results.recording.differences import describe
from runs.results.recording.recompute import RecomputeSkipped, apply, rebuild
from runs.results.recording.recut import choose_set, recut
from runs.tests.factories import make_run, make_sweep, make_user
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run(team, artifact_folder):
    return recorded_run(team)


def call(*arguments):
    """(exit code, what was written, what was written as an error)"""
    out, errors = io.StringIO(), io.StringIO()
    try:
        call_command("recompute", *arguments, stdout=out, stderr=errors)
        code = 0
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), errors.getvalue()


def everything_stored():
    """Every row that recomputing may touch, with its key and its time, so that a rewrite shows."""
    return {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in (MeasurementSet, Measurement, Finding, Series, RunEvent)
    } | {"run": list(Run.objects.values("verdict", "throughput_ops_s", "verdict_override"))}


def changed(run):
    """As an older reader might have left it: a wrong percentile, another finding."""
    current = run.measurement_sets.get(is_current=True)
    current.measurements.filter(operation="READ").update(p99_us=1.0)
    current.findings.filter(check_id="V07").update(severity="reject", message="Too many errors.")
    Run.objects.filter(pk=run.pk).update(verdict="reject")
    return current


def test_stored_and_new_numbers_are_written_alike():
    assert describe("p99_us", 18899.0, 18799) == "p99_us: 18,899 → 18,799"
    assert describe("V02 remedy", "", "More threads.") == "V02 remedy: nothing → More threads."


def test_unchanged_code_changes_nothing_and_writes_nothing(run):
    before = everything_stored()
    code, output, _ = call(str(run.pk))
    assert code == 0
    assert "1 run: 1 as stored, 0 changed, 0 skipped" in output
    assert everything_stored() == before


@pytest.mark.parametrize(("warmup_s", "tail_s"), [(1.5, 0.5), (0, 0), (1.23456789, 0.3456789), (0.1, 1e-9)])
def test_nor_does_it_for_a_run_that_was_cut_again(run, team, warmup_s, tail_s):
    recut(run, warmup_s=warmup_s, tail_s=tail_s, user=make_user(team=team))
    before = everything_stored()
    assert call("--all")[0] == 0
    assert everything_stored() == before


def test_nor_for_a_load(team, artifact_folder):
    run = recorded_run(team, "load/0", "load/1", phase="load")
    assert rebuild(run).differences == []


def test_a_dry_run_lists_what_differs_and_stores_nothing(run):
    changed(run)
    before = everything_stored()
    code, output, _ = call("--all", "--dry-run")
    assert code == 1
    assert f"{run.pk} {run.name}" in output
    assert "READ service p99_us: 1 → " in output
    assert "V07 severity: reject → pass" in output
    assert "1 run: 0 as stored, 1 differ, 0 skipped" in output
    assert everything_stored() == before


def test_applying_keeps_the_old_numbers_beside_the_new(run):
    old = changed(run)
    code, output, _ = call(str(run.pk))
    assert (code, "1 changed" in output) == (0, True)
    first, second = run.measurement_sets.order_by("number")
    assert (first.pk, first.is_current, second.is_current) == (old.pk, False, True)
    assert first.measurements.get(operation="READ").p99_us == 1.0
    assert second.measurements.get(operation="READ").p99_us > 1.0
    assert second.note.startswith("recomputed with reader")
    run.refresh_from_db()
    assert run.verdict != "reject"
    assert run.events.filter(kind="cut", actor="recompute").exists()
    assert rebuild(run).differences == []


def test_the_window_stays_that_of_the_current_cut(run, team):
    kept = recut(run, warmup_s=2, tail_s=0, user=make_user(team=team))
    changed(run)
    call(str(run.pk))
    current = run.measurement_sets.get(is_current=True)
    assert (current.number, current.warmup_s, current.window_from) == (3, 2, kept.window_from)


def test_series_and_intervals_that_differ_are_replaced(run):
    Series.objects.filter(run=run, operation="READ").delete()
    run.artifacts.filter(kind="intervals", name="UPDATE.intervals").delete()
    _, output, _ = call(str(run.pk))
    assert "series READ service every 1 s: nothing → " in output
    assert "UPDATE.intervals: nothing → stored" in output
    assert run.measurement_sets.count() == 1  # no number of it differs
    assert rebuild(run).differences == []


def test_intervals_whose_file_was_lost_are_made_anew(run, artifact_folder):
    digest = run.artifacts.get(name="READ.intervals").sha256
    (artifact_folder / digest[:2] / f"{digest[2:]}.zst").unlink()
    call(str(run.pk))
    assert rebuild(run).differences == []


@pytest.mark.parametrize("lost", [0, 1])
def test_a_run_whose_artifacts_are_missing_is_named_and_skipped(run, team, lost):
    run.artifacts.filter(kind="hdr", client_run__number__gte=lost).delete()
    before = everything_stored()
    code, output, errors = call("--all")
    assert code == 2
    assert f"{run.pk} {run.name}: skipped" in errors
    assert "artifacts" in errors
    assert "1 run: 0 as stored, 0 changed, 1 skipped" in output
    assert everything_stored() == before


def test_files_that_were_lost_skip_it_too(run, artifact_folder):
    for file in artifact_folder.rglob("*.zst"):
        file.unlink()
    assert call(str(run.pk))[0] == 2


def test_a_log_that_changed_on_its_disk_skips_it(run, artifact_folder):
    digest = run.artifacts.get(kind="hdr", name="UPDATE.hdr", client_run__number=1).sha256
    stored = artifact_folder / digest[:2] / f"{digest[2:]}.zst"
    content = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(stored.read_bytes())).read()
    lines = content.splitlines(keepends=True)
    stored.write_bytes(zstandard.ZstdCompressor().compress(b"".join(lines[:-3])))
    before = everything_stored()
    code, out, errors = call(str(run.pk))
    assert (code, everything_stored()) == (2, before)
    assert "content has changed" in out + errors


def test_runs_that_were_never_measured_are_not_looked_at(team):
    make_run(make_sweep(team=team), status="failed")
    code, output, _ = call("--all")
    assert (code, output) == (0, "0 runs: 0 as stored, 0 changed, 0 skipped\n")


def test_one_that_is_cut_again_meanwhile_is_left_alone(run, team):
    changed(run)
    rebuilt = rebuild(run)
    recut(run, warmup_s=2, tail_s=0, user=make_user(team=team))
    with pytest.raises(RecomputeSkipped, match="meanwhile"):
        apply(rebuilt)


def test_nothing_is_stored_half(run, monkeypatch):
    changed(run)
    Series.objects.filter(run=run, operation="READ").delete()
    rebuilt = rebuild(run)
    before = everything_stored()

    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(recompute, "write_series", fail)
    with pytest.raises(OSError, match="no space"):
        apply(rebuilt)
    assert everything_stored() == before


def test_the_old_numbers_can_be_made_current_again(run, team):
    old = changed(run)
    call(str(run.pk))
    choose_set(run, old.number, make_user(team=team))
    assert Run.objects.get(pk=run.pk).verdict == "reject"


@pytest.mark.parametrize("arguments", [(), ("--all", "11111111-1111-1111-1111-111111111111")])
def test_it_is_told_which_runs(arguments):
    with pytest.raises(CommandError, match="or give --all"):
        call_command("recompute", *arguments)


@pytest.mark.parametrize("key", ["nonsense", "11111111-1111-1111-1111-111111111111"])
def test_a_run_that_is_not_there_is_named(key):
    with pytest.raises(CommandError, match=f"no run {key}"):
        call_command("recompute", key)
