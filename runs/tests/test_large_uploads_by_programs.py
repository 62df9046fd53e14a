"""What is too large for a request is kept with its key for a worker; what is too large altogether is refused."""

import gzip
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from runs.models import Run, Upload, UploadKey
from runs.tests.factories import make_team, make_user
from runs.tests.importing import import_folder, list_paths, summary
from runs.tests.programs import Program, read_answer
from runs.uploads import upload_lifecycle
from runs.uploads.processing import work_on

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]


@pytest.fixture
def large(settings):
    """Everything is too large for a request."""
    settings.UPLOAD_AT_ONCE_BYTES = 100


def work(upload):
    work_on(upload.pk, upload_lifecycle.begin(upload.pk))


def test_a_worker_reads_and_saves_it(program, large):
    response = program.post(key="k", commit="abcdef1")
    answer = read_answer(response, 202)
    assert (answer["state"], answer["runs"]) == ("received", [])
    assert response["Location"] == answer["url"]
    upload = Upload.objects.get()
    assert upload == upload_lifecycle.waiting()
    work(upload)
    assert read_answer(program.get(answer["url"]), 200)["state"] == "completed"
    assert not Run.objects.exists()
    work(upload)
    done = read_answer(program.get(answer["url"]), 200)
    run = Run.objects.get()
    assert (done["state"], done["runs"][0]["id"], run.commit) == ("saved", str(run.pk), "abcdef1")
    again = program.post(key="k", commit="abcdef1")
    assert read_answer(again, 201) == done
    assert again["Idempotency-Replayed"] == "true"
    assert Run.objects.count() == 1


def test_it_gives_the_answer_of_a_small_one(program, settings):
    small = read_answer(program.post(), 201)
    settings.UPLOAD_AT_ONCE_BYTES = 100
    later = read_answer(program.post(), 202)
    for _ in range(2):
        work(Upload.objects.get(pk=later["id"]))
    done = read_answer(program.get(later["url"]), 200)
    differ = ("id", "url", "permalink", "sweep")
    for one in (small, done):
        for name in differ:
            one.pop(name)
        for name in ("id", "url", "permalink", "verdict_url"):
            one["runs"][0].pop(name)
    assert done == small


def test_repeating_it_answers_how_far_it_is(program, large):
    first = read_answer(program.post(key="k"), 202)
    again = program.post(key="k")
    assert read_answer(again, 202)["id"] == first["id"]
    assert again["Idempotency-Replayed"] == "true"
    assert read_answer(program.post(("a.txt", summary(reads=1)), key="k"), 422)["type"] == "/problems/key-reused"
    assert Upload.objects.count() == 1


def test_it_says_what_was_wrong_with_it(program, large):
    url = read_answer(program.post(("a.txt", b"no result " * 50), key="k"), 202)["url"]
    work(Upload.objects.get())
    answer = read_answer(program.get(url), 200)
    assert answer["state"] == "failed"
    assert "not an output of YCSB" in answer["detail"]
    assert "not an output of YCSB" in read_answer(program.post(("a.txt", b"no result " * 50), key="k"), 422)["detail"]
    assert not Run.objects.exists()


def failed_upload(program):
    url = read_answer(program.post(("a.txt", b"no result " * 50), key="k"), 202)["url"]
    work(Upload.objects.get())
    return url


def test_the_key_of_a_failed_one_is_free_once_it_is_forgotten(program, large):
    url = failed_upload(program)
    for answer in (program.post(("a.txt", b"no result " * 50), key="k"), program.post(key="k")):
        assert f"DELETE {url}" in read_answer(answer, 422)["detail"]
    assert program.client.delete(url, headers=program.headers()).status_code == 204
    read_answer(program.get(url), 404)
    assert read_answer(program.post(key="k"), 202)["url"] != url


def test_the_key_of_a_failed_one_is_free_once_its_day_is_over(program, large):
    failed_upload(program)
    Upload.objects.update(created_at=Now() - upload_lifecycle.KEPT_FOR - timedelta(minutes=1))
    upload_lifecycle.expire()
    read_answer(program.post(key="k"), 202)


def test_only_a_failed_one_of_the_own_team_can_be_forgotten(program, large):
    url = read_answer(program.post(key="k"), 202)["url"]
    assert "is being worked on" in read_answer(program.client.delete(url, headers=program.headers()), 409)["detail"]
    for _ in range(2):
        work(Upload.objects.get())
    assert "delete those" in read_answer(program.client.delete(url, headers=program.headers()), 409)["detail"]
    stranger_team = make_team()
    stranger = Program(stranger_team, make_user(team=stranger_team))
    read_answer(stranger.client.delete(url, headers=stranger.headers()), 404)


def test_a_manifest_that_does_not_fit_fails(program, large):
    url = read_answer(program.post(runs=[{"threads": 1}, {"threads": 2}]), 202)["url"]
    work(Upload.objects.get())
    answer = read_answer(program.get(url), 200)
    assert (answer["state"], "hold 1 runs" in answer["detail"]) == ("failed", True)


def test_files_that_unpack_to_much_wait_for_a_worker(program, settings):
    settings.UPLOAD_EXPANDED_BYTES = 10_000
    packed = gzip.compress(b"".join(b"# chatter %d\n" % n for n in range(2_000)) + summary())
    url = read_answer(program.post(("a.txt.gz", packed)), 202)["url"]
    for _ in range(2):
        work(Upload.objects.get())
    assert read_answer(program.get(url), 200)["state"] == "saved"


def test_it_refuses_more_than_it_takes_and_keeps_nothing(program, settings, import_folder):
    settings.MAX_UPLOAD_BYTES = 200_000
    assert read_answer(program.post(("a.txt", summary()), ("b.txt", b"x" * 300_000)), 413)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1
    assert read_answer(program.post(("a.txt", b"x" * 600_000)), 413)
    assert not Upload.objects.exists()
    assert not UploadKey.objects.exists()
    assert list_paths(import_folder) == []


def test_a_dry_run_of_something_large_is_refused(program, large):
    assert "upload it" in read_answer(program.post(key=None, query="?dry_run=1"), 413)["detail"]


def test_what_fails_while_it_is_saved_has_failed(program, large, monkeypatch):
    url = read_answer(program.post(), 202)["url"]
    upload = Upload.objects.get()
    work(upload)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runs.results.recording.uploaded_runs.series_rows", full)
    work(upload)
    assert read_answer(program.get(url), 200)["state"] == "failed"
    assert not Run.objects.exists()
