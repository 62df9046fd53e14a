"""What may arrive: rights, limits, secrets, files that are none, and what is left of them."""

import gzip
import re
import stat

import pytest
import zstandard
from django.conf import settings
from django.core.files.storage import storages
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import Role
from runs.models import Run, RunEvent, Upload
from runs.tests.factories import make_team, make_user
from runs.tests.importing import (
    DATA,
    answers,
    bring,
    corpus,
    import_folder,
    list_paths,
    save,
    sent,
    summary,
    zipped,
)
from runs.tests.pages import count_queries, get_text
from runs.tests.world import UGLY, browser
from runs.uploads import file_pipeline, recognition, upload_lifecycle
from runs.uploads.recognition import MAX_RUNS

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]
PAGES = ("import", "import-progress", "import-group", "import-rest", "import-discard")


# --- who ---


def test_it_is_for_runners(team):
    viewer = browser(team, Role.VIEWER)
    assert viewer.get("/import/").status_code == 403
    response = viewer.post("/import/", {"files": [sent("a.txt", summary())]})
    assert response.status_code == 403
    assert "needs the role runner" in response.content.decode()
    assert not Upload.objects.exists()


def test_it_shows_no_other_team_an_import(client_in, stranger):
    upload = bring(client_in, sent("a.txt", summary()))
    for name in PAGES:
        for method in (stranger.get, stranger.post):
            assert method(reverse(name, args=[upload.pk])).status_code in (404, 405), name
    assert "a.txt" not in get_text(stranger.get("/import/"))
    assert Upload.objects.filter(pk=upload.pk).exists()


def test_it_asks_for_the_token_of_its_own_form(user):
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post("/import/", {"files": [sent("a.txt", summary())]}).status_code == 403
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', get_text(client.get("/import/")))[1]
    sent_along = {"csrfmiddlewaretoken": token, "files": [sent("a.txt", summary())]}
    assert client.post("/import/", sent_along).status_code == 302


def test_it_joins_no_curve_and_takes_no_workload_of_another_team(client_in):
    from runs.tests.factories import make_workload

    other = make_team()
    runner = browser(other)
    foreign = save(runner, bring(runner, sent("a.txt", summary()))).runs.get().sweep
    upload = bring(client_in, sent("b.txt", summary()))
    for changes in ({"sweep": str(foreign.pk)}, {"workload": str(make_workload(team=other).pk)}):
        assert client_in.post(f"/import/{upload.pk}/", answers(upload, **changes)).status_code == 422


def test_no_other_page_takes_files(client_in):
    response = client_in.post("/databases/new/", {"name": "x", "files": [sent("a.txt", b"x" * 5_000_000)]})
    assert response.status_code == 422
    assert response.wsgi_request.FILES == {}


# --- how much ---


def test_it_refuses_more_bytes_than_it_takes_and_leaves_nothing(client_in, settings, import_folder):
    settings.MAX_UPLOAD_BYTES = 200_000
    response = client_in.post("/import/", {"files": [sent("a.txt", summary()), sent("b.txt", b"x" * 300_000)]})
    assert response.status_code == 413
    assert "One upload takes at most" in response.content.decode()
    assert not Upload.objects.exists()
    response.wsgi_request.close()
    assert list_paths(import_folder) == []


def test_it_refuses_more_files_than_it_takes(client_in, settings):
    too_many = settings.MAX_UPLOAD_FILES + 1
    response = client_in.post("/import/", {"files": [sent(f"{n}.txt", summary()) for n in range(too_many)]})
    assert response.status_code == 413
    assert "at most 100 files" in response.content.decode()


def test_it_asks_for_a_file(client_in):
    response = client_in.post("/import/", {})
    assert response.status_code == 422
    assert "Choose at least one file" in response.content.decode()


def test_it_leaves_large_files_to_a_worker(client_in, monkeypatch):
    monkeypatch.setattr(upload_lifecycle, "MAX_IN_REQUEST", 100)
    upload = bring(client_in, sent("a.txt", summary()))
    assert (upload.state, upload.claim) == ("received", None)
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "as soon as no run measures" in page
    assert 'hx-trigger="every 2s"' in page
    progress = client_in.get(f"/import/{upload.pk}/progress/", headers={"HX-Request": "true"})
    assert "waiting to be read" in get_text(progress)
    upload_lifecycle.fail(upload.pk, upload_lifecycle.begin(upload.pk), "It went wrong.")
    ended = client_in.get(f"/import/{upload.pk}/progress/", headers={"HX-Request": "true"})
    assert ended["HX-Refresh"] == "true"
    assert "It went wrong." in get_text(client_in.get(f"/import/{upload.pk}/"))


# --- secrets ---

SECRETS = ("hunter2-SECRET", "tiger-SECRET", "eagle-SECRET")


def secretive() -> bytes:
    words = "-p redis.password={} -p db.url=jdbc:postgresql://ada:{}@10.0.0.1/x -p token={} -threads 8"
    return summary().replace(b"-threads 8", words.format(*SECRETS).encode())


def everything_stored(folder) -> bytes:
    """Every byte that is kept: rows and files, packed and unpacked."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            found.append(content)
            if path.suffix == ".zst":
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(content))
    rows = [*Upload.objects.values(), *Run.objects.values(), *RunEvent.objects.values()]
    rows += [row for run in Run.objects.all() for row in run.client_runs.values()]
    return b"\n".join([*found, repr(rows).encode()])


@pytest.mark.parametrize("packed", [False, True])
def test_it_never_stores_a_secret(client_in, import_folder, packed):
    content = gzip.compress(secretive()) if packed else secretive()
    upload = bring(client_in, sent("a.txt.gz" if packed else "a.txt", content))
    assert upload.recognised["files"][0]["redacted_lines"] == 1
    assert "1 line with a secret hidden" in get_text(client_in.get(f"/import/{upload.pk}/"))
    for secret in SECRETS:
        assert secret.encode() not in everything_stored(import_folder)
    run = save(client_in, upload).runs.get()
    stored = everything_stored(import_folder)
    assert b"Return=OK" in stored  # What is looked through does hold the file.
    page = get_text(client_in.get(reverse("run", args=[run.pk])))
    for secret in SECRETS:
        assert secret.encode() not in stored
        assert secret not in page


def test_what_waits_can_be_read_by_the_site_alone(client_in, monkeypatch, import_folder):
    monkeypatch.setattr(upload_lifecycle, "MAX_IN_REQUEST", 100)
    bring(client_in, sent("a.txt", secretive()))
    waiting = [path for path in (import_folder / "incoming").rglob("*") if path.name != "arriving"]
    assert len(waiting) == 2  # its folder and the file
    for path in [import_folder / "incoming", *waiting]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


# --- what is left ---


def test_it_keeps_nothing_in_the_waiting_room_once_it_is_saved(
    client_in,
    import_folder,
    django_capture_on_commit_callbacks,
):
    upload = bring(client_in, zipped(DATA / "two_clients"))
    with django_capture_on_commit_callbacks(execute=True):
        save(client_in, upload)
    assert upload.files.exclude(path="").count() == 0
    assert list_paths(import_folder / "incoming") == []


def test_it_keeps_nothing_of_what_is_discarded(client_in, import_folder):
    upload = bring(client_in, sent("a.txt", summary()))
    assert list_paths(import_folder) != []
    response = client_in.post(f"/import/{upload.pk}/discard/", follow=True)
    assert "nothing of it is kept" in get_text(response)
    assert list_paths(import_folder) == []
    assert client_in.get(f"/import/{upload.pk}/").status_code == 404


def test_what_is_saved_stays(client_in):
    upload = save(client_in, bring(client_in, sent("a.txt", summary())))
    client_in.post(f"/import/{upload.pk}/discard/")
    assert Run.objects.count() == 1
    assert "Saved" in get_text(client_in.get(f"/import/{upload.pk}/")).replace("saved", "Saved")


# --- files that are none ---


def test_it_says_why_a_file_is_refused(client_in):
    upload = bring(client_in, corpus("009"), sent("notes.txt", "Dear diary,\ntoday nothing ran.\n"))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert page.count(">refused<") == 2
    assert "none of them holds a result" in page
    assert "Save as uploaded runs" not in page


def test_many_files_are_one_table_below_those_refused(client_in):
    files = [sent(f"client-{number}.txt", summary()) for number in range(5)]
    upload = bring(client_in, *files, sent("notes.txt", "Dear diary,\ntoday nothing ran.\n"))
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "6 files: 5 read, 1 refused" in page
    assert page.index("Refused files") < page.index("All files of this import") < page.index("Operations in each file")
    assert page.count(">refused<") == 2


def test_files_of_a_folder_keep_their_paths(client_in):
    parts = [
        f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + summary()
        for name in ("night/client-1/out.txt", "night/client-2/out.txt", "../../etc/out.txt")
    ]
    body = b"\r\n".join([*parts, b"--edge--\r\n"])
    response = client_in.post(reverse("imports"), body, content_type="multipart/form-data; boundary=edge")
    assert response.status_code == 302
    names = list(Upload.objects.get().files.values_list("name", flat=True))
    assert names == ["night/client-1/out.txt", "night/client-2/out.txt", "etc/out.txt"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.txt", b" "),
        ("noise.bin", bytes(range(256)) * 50),
        ("broken.zip", b"PK\x03\x04" + b"\x00" * 200),
        ("cut.gz", gzip.compress(summary())[:-40]),
        ("nul.txt", b"\x00" * 3000),
        ("[READ].txt", b"[READ], Operations, nonsense\n[READ], , ,\n"),
    ],
)
def test_it_survives_any_file(client_in, name, content):
    upload = bring(client_in, sent(name, content), sent("good.txt", summary()))
    assert upload.state == "recognised", upload.error
    assert any("good.txt" in names for run in upload.recognised["runs"] for names in run["clients"])
    get_text(client_in.get(f"/import/{upload.pk}/"))


def test_it_says_that_impossible_numbers_cannot_be_saved(client_in):
    upload = bring(client_in, sent("a.txt", summary().replace(b"Operations, 50000", b"Operations, -3")))
    assert client_in.post(f"/import/{upload.pk}/", answers(upload)).status_code == 302
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "Nothing was saved" in page
    assert "something impossible" in page
    assert not Run.objects.exists()


def test_it_saves_no_more_runs_together_than_a_form_can_hold(client_in, monkeypatch):
    assert MAX_RUNS * (5 + 7) + 40 < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    monkeypatch.setattr(file_pipeline, "MAX_RUNS", 3)
    upload = bring(client_in, sent("many.txt", b"".join(summary(reads=1000 + n) for n in range(10))))
    assert (len(upload.recognised["runs"]), upload.recognised["more_runs"]) == (3, 7)
    assert "7 more runs in these files" in get_text(client_in.get(f"/import/{upload.pk}/"))
    save(client_in, upload)
    assert Run.objects.count() == 3


def test_it_shows_no_more_lines_than_anybody_reads(client_in, monkeypatch):
    monkeypatch.setattr(recognition, "MAX_LINES", 3)
    upload = bring(client_in, sent("a.txt", summary()), sent("b.txt", summary(reads=1)))
    shown = [[len(run["operations"]) for run in file["runs"]] for file in upload.recognised["files"]]
    assert shown == [[2], [0]]
    assert "and 2 more operations" in get_text(client_in.get(f"/import/{upload.pk}/"))


def test_an_uploaded_run_cannot_be_run_again(client_in):
    run = save(client_in, bring(client_in, sent("a.txt", summary()))).runs.get()
    page = get_text(client_in.post(reverse("run-again", args=[run.pk]), follow=True))
    assert "import another repeat" in page
    assert Run.objects.count() == 1


def test_it_refuses_a_bomb_in_time(client_in):
    bomb = gzip.compress(b"0" * 120_000_000, 1)
    upload = bring(client_in, sent("bomb.gz", bomb))
    assert upload.state == "recognised"
    assert upload.recognised["files"][0]["error"]


def test_it_shows_ugly_names_as_they_are(client_in):
    upload = bring(client_in, *[sent(f"{UGLY}{n}.txt", summary(reads=50_000 + n)) for n in range(40)])
    page = get_text(client_in.get(f"/import/{upload.pk}/"))
    assert "<script>alert" not in page
    assert len({file["name"] for file in upload.recognised["files"]}) == 40
    save(client_in, upload, database=UGLY[:80], hardware=UGLY, notes=UGLY, version=UGLY[:40], workload_name=UGLY[:80])
    for run in Run.objects.all()[:2]:
        assert "<script>alert" not in get_text(client_in.get(reverse("run", args=[run.pk])))


def test_it_keeps_files_of_one_name_apart(client_in):
    upload = bring(client_in, sent("summary.txt", summary()), sent("summary.txt", summary(reads=40_000)))
    assert [file["name"] for file in upload.recognised["files"]] == ["summary.txt", "summary.txt (2)"]


# --- how it is shown ---


def test_it_asks_the_database_as_often_for_many_files_as_for_one(client_in):
    upload = bring(client_in, sent("a.txt", summary()))
    few = count_queries(client_in, f"/import/{upload.pk}/")
    many = bring(client_in, *[sent(f"{n}-many.txt", summary(reads=n + 1)) for n in range(20)])
    assert count_queries(client_in, f"/import/{many.pk}/") == few <= 9
    listed = count_queries(client_in, "/import/")
    for _ in range(5):
        bring(client_in, sent("b.txt", summary()))
    assert count_queries(client_in, "/import/") == listed <= 9


def test_it_says_what_to_do_where_nothing_was_imported(client_in):
    page = get_text(client_in.get("/import/"))
    assert "Drop files here" in page
    assert 'type="file"' in page
    assert "multiple" in page


def test_it_has_a_place_in_the_navigation(client_in):
    assert '<a href="/import/">Import</a>' in get_text(client_in.get("/runs/"))


def test_its_storages_are_what_the_tests_think(import_folder):
    assert storages["incoming"].location == str(import_folder / "incoming")


def test_it_knows_who_uploaded_when_that_person_is_gone(team):
    person = make_user(team=team, username="passing")
    client = Client()
    client.force_login(person)
    upload = save(client, bring(client, sent("a.txt", summary())))
    run = upload.runs.get()
    person.delete()
    page = get_text(browser(team).get(reverse("run", args=[run.pk])))
    assert "passing" in page
