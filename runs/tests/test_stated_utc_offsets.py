"""Offsets from UTC that are stated for clients whose status lines are in local time, by a program and on the page."""

import json

import pytest

from runs.models import Run
from runs.results.recording.uploaded_runs import collect
from runs.tests.importing import bring, import_folder, save, sent
from runs.tests.pages import get_text
from runs.uploads import upload_lifecycle
from runs.uploads.processing import work_on
from runs.ycsb.readers.tests.test_writers import client as client_lines, move_dates

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]
FIRST = "".join(f"{line}\n" for line in client_lines(1)).encode()
IN_TOKYO = "".join(f"{line}\n" for line in move_dates(client_lines(2), 9)).encode()
FILES = (("a.txt", FIRST), ("tokyo.txt", IN_TOKYO))


def work_on_uploads() -> None:
    """What a worker does: reading, then saving."""
    while waiting := upload_lifecycle.waiting():
        claim = upload_lifecycle.begin(waiting.pk)
        assert claim is not None
        work_on(waiting.pk, claim)


@pytest.mark.parametrize("at_once_bytes", [1 << 20, 0])
def test_manifest_states_offsets(program, settings, at_once_bytes):
    """Read in the request and by a worker; computed again they still count."""
    settings.UPLOAD_AT_ONCE_BYTES = at_once_bytes

    response = program.post(*FILES, utc_offsets={"tokyo.txt": "+09:00"})
    if not at_once_bytes:
        work_on_uploads()
    run = Run.objects.get()

    assert response.status_code == (201 if at_once_bytes else 202), response.content.decode()
    assert run.measurement_sets.get().clients_merged == 2
    assert run.upload.utc_offsets == {"tokyo.txt": "+09:00"}
    assert f"{run.started_at:%Y-%m-%d %H}" == "2026-03-01 00"
    assert [round(client.started_s) % 86_400 for client in collect(run).merged.clients] == [0, 0]


@pytest.mark.parametrize(
    ("offsets", "pointer", "words"),
    [
        ({"tokio.txt": "+09:00"}, "utc_offsets/tokio.txt", "Did you mean “tokyo.txt”?"),
        ({"tokyo.txt": "+9"}, "utc_offsets/tokyo.txt", "no offset from UTC"),
        ({"tokyo.txt": "+09:10"}, "utc_offsets/tokyo.txt", "no offset from UTC"),
        ({"tokyo.txt": "Asia/Tokyo"}, "utc_offsets/tokyo.txt", "no offset from UTC"),
        ({"x/y.txt": "+09:00"}, "utc_offsets/x~1y.txt", "no file, folder or writer"),
    ],
)
def test_manifest_with_wrong_offsets_is_refused(program, offsets, pointer, words):
    response = program.post(*FILES, utc_offsets=offsets)
    problem = json.loads(response.content)

    assert response.status_code == 400
    assert [error["pointer"] for error in problem["errors"]] == [f"#/manifest/{pointer}"]
    assert words in problem["errors"][0]["detail"]
    assert not Run.objects.exists()


def test_page_states_offsets(client_in):
    upload = bring(client_in, *(sent(name, content) for name, content in FILES))
    before = len(upload.recognised["runs"])

    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "told", "utc_offsets": " tokyo.txt = +09:00 \n"})
    upload.refresh_from_db()
    page = client_in.get(f"/import/{upload.pk}/").content.decode()
    run = save(client_in, upload).runs.get()

    assert (before, len(upload.recognised["runs"])) == (2, 1)
    assert "tokyo.txt=+09:00</textarea>" in page
    assert run.measurement_sets.get().clients_merged == 2


@pytest.mark.parametrize("line", ["tokyo.txt", "tokyo.txt=9", "=+09:00"])
def test_page_refuses_wrong_offsets(client_in, line):
    upload = bring(client_in, *(sent(name, content) for name, content in FILES))

    response = client_in.post(f"/import/{upload.pk}/group/", {"grouping": "told", "utc_offsets": line})
    upload.refresh_from_db()

    page = response.content.decode()
    assert response.status_code == 422 and "+02:00" in page and f"{line}</textarea>" in page
    assert (upload.utc_offsets, len(upload.recognised["runs"])) == ({}, 2)


def test_page_names_offset_of_no_client(client_in):
    upload = bring(client_in, *(sent(name, content) for name, content in FILES))

    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "together", "utc_offsets": "tokio.txt=+09:00"})
    upload.refresh_from_db()

    (run,) = upload.recognised["runs"]
    assert any("tokio.txt" in note for note in run["notes"])
    assert "tokio.txt" in get_text(client_in.get(f"/import/{upload.pk}/"))
