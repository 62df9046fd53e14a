"""Deleting runs: what goes with one, what stays, what keeps it, and what the audit log says."""

import threading

import pytest
from django.db import transaction

from benchsite.accounts.models import AuditEntry
from runs.models import Artifact, Matrix, Run, Sweep, Upload, UploadedFile
from runs.models.run import Status
from runs.results import artifacts
from runs.results.deletion import DeletionRefused, delete_run, forget
from runs.tests.factories import make_client_run, make_run, make_sweep

pytestmark = pytest.mark.django_db
CONTENT = b"[OVERALL], RunTime(ms), 10\n"


@pytest.fixture(autouse=True)
def own_artifacts(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path / "artifacts"}},
    }


def uploaded(team, threads=2, sweep=None):
    """A run of an upload, on a curve of its own."""
    upload = Upload.objects.create(team=team, state="saved", saved_at="2026-01-01T00:00Z")
    run = make_run(sweep or make_sweep(team=team), threads=threads, source="uploaded", upload=upload)
    Run.objects.filter(pk=run.pk).update(matrix=None)
    Sweep.objects.filter(pk=run.sweep_id).update(matrix=None)
    return Run.objects.get(pk=run.pk)


def kept_content(digest):
    return artifacts.storage().exists(f"{digest[:2]}/{digest[2:]}.zst")


def test_deletes_all_measurements_and_writes_audit_entry(team, user, django_capture_on_commit_callbacks):
    run = make_run(make_sweep(team=team), threads=4)
    make_client_run(run)
    with django_capture_on_commit_callbacks(execute=True):
        kept = artifacts.store(run, "summary", "client-0.txt", CONTENT)
        deletion = delete_run(run, user)
        assert not Run.objects.filter(pk=run.pk).exists()
        assert kept_content(kept.sha256), "it can be restored"
        forget(deletion)
    assert not kept_content(kept.sha256)
    assert not kept_content(deletion.sha256)
    entry = AuditEntry.objects.get(kind="run_deleted")
    assert (entry.team, entry.actor, entry.subject) == (team, user, run.name)
    assert str(run.pk) in entry.text


def test_it_leaves_the_plan_and_its_curve(team, user):
    run = make_run(make_sweep(team=team))
    delete_run(run, user)
    assert Sweep.objects.filter(pk=run.sweep_id).exists()
    assert Matrix.objects.filter(pk=run.matrix_id).exists()


def test_content_that_another_run_has_stays(team, user, django_capture_on_commit_callbacks):
    one, other = (make_run(make_sweep(team=team)) for _ in range(2))
    digests = {artifacts.store(run, "summary", "client-0.txt", CONTENT).sha256 for run in (one, other)}
    with django_capture_on_commit_callbacks(execute=True):
        forget(delete_run(one, user))
    assert all(map(kept_content, digests))
    assert artifacts.open_artifact(Artifact.objects.get(run=other)) == CONTENT


def test_an_upload_goes_with_its_last_run(team, user, django_capture_on_commit_callbacks):
    run = uploaded(team)
    stray = artifacts.Compressing()
    stray.write(b"nobody could read this")
    stray.close()
    artifacts.keep_compressed(stray.digest, stray.compressed())
    UploadedFile.objects.create(upload=run.upload, position=0, name="odd.bin", size=22, sha256=stray.digest)
    with django_capture_on_commit_callbacks(execute=True):
        forget(delete_run(run, user))
    assert not Upload.objects.exists()
    assert not Sweep.objects.exists()
    assert not kept_content(stray.digest)


def test_an_upload_stays_while_it_has_another_run(team, user):
    run = uploaded(team)
    other = make_run(make_sweep(team=team), threads=8, source="uploaded", upload=run.upload)
    delete_run(run, user)
    assert Upload.objects.filter(runs=other).exists()


@pytest.mark.parametrize("status", [Status.QUEUED, Status.DISPATCHED, Status.RUNNING])
def test_a_run_that_has_not_ended_stays(team, user, status):
    run = make_run(make_sweep(team=team), status=status)
    with pytest.raises(DeletionRefused, match="has not ended yet"):
        delete_run(run, user)
    assert Run.objects.filter(pk=run.pk).exists()


def test_a_load_stays_while_a_run_needs_it(team, user):
    load = make_run(make_sweep(team=team, phase="load"))
    needy = make_run(make_sweep(team=team), needs=load)
    with pytest.raises(DeletionRefused, match=needy.name):
        delete_run(load, user)
    delete_run(needy, user)
    delete_run(load, user)


@pytest.mark.django_db(transaction=True)
def test_two_who_delete_one_run_leave_one_entry(team, user, race):
    run = make_run(make_sweep(team=team))
    race(lambda: delete_run(run, user))
    assert not Run.objects.exists()
    assert AuditEntry.objects.filter(kind="run_deleted").count() == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_content_is_not_removed_under_somebody_who_attaches_it(team, user):
    one, other = (make_run(make_sweep(team=team)) for _ in range(2))
    kept = artifacts.store(one, "summary", "client-0.txt", CONTENT)

    def delete():
        from django.db import connections

        forget(delete_run(one, user))
        connections.close_all()

    deleting_it = threading.Thread(target=delete)
    with transaction.atomic():
        artifacts.attach(other, "summary", "client-0.txt", kept.sha256, kept.size)
        deleting_it.start()
        deleting_it.join(0.5)
        assert deleting_it.is_alive()  # It waits for what is being attached.
    deleting_it.join(10)
    assert artifacts.open_artifact(Artifact.objects.get(run=other)) == CONTENT


def test_what_was_removed_is_not_attached(team):
    run = make_run(make_sweep(team=team))
    with pytest.raises(artifacts.ContentGone):
        artifacts.attach(run, "summary", "client-0.txt", "ab" * 32, 5)
