"""What reading an interval log gave is kept with its upload: grouping and saving do not decode the log for it again."""

import pytest

from runs.models import Run
from runs.tests.importing import bring, import_folder, save, sent, summary
from runs.ycsb.tests.hdrlogs import build_file, get_lines
from runs.ycsb.tests.samples import made_log

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def upload(client_in, import_folder):
    logs = [made_log(name, [(float(at), 1.0, [100 + at, 900] * 50) for at in range(20)]) for name in ("READ", "UPDATE")]
    files = [sent(f"{log.operation}.hdr", build_file(get_lines(log))) for log in logs]
    return bring(client_in, *files, sent("c.txt", summary(reads=2_000, updates=2_000)))


def kept_in(folder):
    return sorted(folder.glob("incoming/*/*.sums-*"))


def test_grouping_again_finds_the_same(client_in, upload, import_folder):
    assert len(kept_in(import_folder)) == 2
    for path in import_folder.glob("incoming/*/redacted-0.zst"):
        path.write_bytes(b"")  # would be read as an empty file
    client_in.post(f"/import/{upload.pk}/group/", {"grouping": "together"})
    before = upload.recognised
    upload.refresh_from_db()
    assert upload.recognised["runs"] == before["runs"]


def test_saves_where_a_part_was_kept(client_in, upload, import_folder, django_capture_on_commit_callbacks):
    for path in kept_in(import_folder):
        path.write_bytes(path.read_bytes()[:-40])
    with django_capture_on_commit_callbacks(execute=True):
        save(client_in, upload)
    counted = {row.operation: row.ok for row in Run.objects.get().measurement_sets.get().measurements.all()}
    assert (counted["READ"], counted["UPDATE"]) == (2_000, 2_000)
    assert not kept_in(import_folder)
