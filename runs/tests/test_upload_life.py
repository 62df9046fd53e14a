"""The states of an upload: claimed once, fenced, taken from a silent worker, given up, dropped in time."""

import os
import uuid
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from runs.models import Run, Upload
from runs.tests.importing import answers, bring, import_folder, save, sent, summary
from runs.uploads import staging, upload_handlers, upload_lifecycle
from runs.uploads.processing import work_on

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]


@pytest.fixture
def waiting(client_in, monkeypatch):
    """An upload that waits for a worker."""
    monkeypatch.setattr(upload_lifecycle, "MAX_IN_REQUEST", 0)
    return bring(client_in, sent("a.txt", summary()))


def get_state(upload):
    upload.refresh_from_db()
    return upload.state


def fall_silent(upload):
    Upload.objects.filter(pk=upload.pk).update(heartbeat_at=Now() - timedelta(minutes=2))


def test_it_is_begun_once(waiting):
    assert upload_lifecycle.begin(waiting.pk)
    assert upload_lifecycle.begin(waiting.pk) is None


def test_it_is_named_to_workers_one_at_a_time(waiting, client_in):
    second = bring(client_in, sent("b.txt", summary()))
    assert upload_lifecycle.waiting() == waiting
    claim = upload_lifecycle.begin(waiting.pk)
    assert upload_lifecycle.waiting() is None
    work_on(waiting.pk, claim)
    assert get_state(waiting) == "recognised"
    assert upload_lifecycle.waiting() == second


def test_it_goes_its_whole_way_through_a_worker(waiting, client_in):
    work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    waiting.refresh_from_db()
    assert client_in.post(f"/import/{waiting.pk}/", answers(waiting)).status_code == 302
    assert get_state(waiting) == "completed"
    work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    assert get_state(waiting) == "saved"
    assert Run.objects.count() == 1


def test_it_is_read_again_once_after_its_worker_was_lost(waiting):
    for _ in range(upload_lifecycle.MAX_ATTEMPTS - 1):
        upload_lifecycle.begin(waiting.pk)
        fall_silent(waiting)
        upload_lifecycle.reap()
        assert get_state(waiting) == "received"
    upload_lifecycle.begin(waiting.pk)
    fall_silent(waiting)
    upload_lifecycle.reap()
    assert get_state(waiting) == "failed"
    assert "lost twice" in waiting.error
    assert staging.folders() == set()


def test_a_lost_worker_can_write_no_more(waiting):
    lost = upload_lifecycle.begin(waiting.pk)
    fall_silent(waiting)
    upload_lifecycle.reap()
    work_on(waiting.pk, lost)  # It wakes up, and finds itself fenced.
    assert get_state(waiting) == "received"
    with pytest.raises(upload_lifecycle.UploadGone):
        upload_lifecycle.beat(waiting.pk, lost)
    work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    assert get_state(waiting) == "recognised"


def test_files_that_broke_off_are_not_read(waiting):
    Upload.objects.filter(pk=waiting.pk).update(claim=uuid.uuid4())  # as while they arrive
    assert upload_lifecycle.waiting() is None
    fall_silent(waiting)
    upload_lifecycle.reap()
    assert get_state(waiting) == "failed"
    assert "did not arrive" in waiting.error


def test_saving_that_fails_leaves_it_to_be_completed_again(waiting, client_in, monkeypatch):
    work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    waiting.refresh_from_db()
    filled = answers(waiting)
    client_in.post(f"/import/{waiting.pk}/", filled)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("runs.results.recording.uploaded_runs.series_rows", full)
        work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    assert get_state(waiting) == "recognised"
    assert "No space left" in waiting.error
    assert not Run.objects.exists()
    assert "Nothing was saved" in client_in.get(f"/import/{waiting.pk}/").content.decode()
    client_in.post(f"/import/{waiting.pk}/", filled)
    work_on(waiting.pk, upload_lifecycle.begin(waiting.pk))
    assert Run.objects.count() == 1


def test_it_is_discarded_under_its_worker(waiting, client_in):
    claim = upload_lifecycle.begin(waiting.pk)
    assert upload_lifecycle.discard(waiting)
    work_on(waiting.pk, claim)
    assert not Upload.objects.exists()


def test_it_is_dropped_after_a_day_unless_it_is_saved(waiting, client_in, monkeypatch):
    monkeypatch.undo()
    kept = save(client_in, bring(client_in, sent("b.txt", summary())))
    Upload.objects.update(created_at=Now() - upload_lifecycle.KEPT_FOR - timedelta(minutes=1))
    upload_lifecycle.expire()
    assert list(Upload.objects.all()) == [kept]
    assert staging.folders() == set()


def test_strays_are_dropped(import_folder):
    stray = import_folder / "incoming" / str(uuid.uuid4())
    stray.mkdir(parents=True)
    (stray / "original-0").write_bytes(b"secret")
    old = upload_handlers.folder() / "old.upload"
    old.write_bytes(b"secret")
    os.utime(old, (1, 1))
    (upload_handlers.folder() / "new.upload").write_bytes(b"still arriving")
    upload_lifecycle.expire()
    assert not stray.exists()
    assert [path.name for path in upload_handlers.folder().iterdir()] == ["new.upload"]


def test_grouping_again_passes_over_unreadable_files(client_in, caplog):
    upload = bring(client_in, sent("a.txt", summary()), sent("broken.zip", b"PK\x03\x04 and no more"))
    assert upload.files.exclude(error="").exists()
    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "apart"})
    assert get_state(upload) == "recognised" and not caplog.records
