"""The disk of one load generator is full for a while: its runs wait and are repeated, those of others go on."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchsite.tests.live_site import LiveSite
from runs.models import LoadGenerator, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason
from workers.systems.build import build

pytestmark = [
    pytest.mark.long,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.needs("root"),
]
DISK_BYTES, LEFT_BYTES = 64 << 20, 256 << 10
FULL, OTHER = "generator-1", "generator-2"


@pytest.fixture
def small_disk(tmp_path):
    """The work folders of one load generator lie on a small file system."""
    folder = tmp_path / "work"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0755", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def site(small_disk, tmp_path, settings):
    build(settings.YCSB_DIR)
    live = LiveSite(tmp_path)
    live.variables[FULL] = {"BENCHSITE_WORK": str(small_disk)}
    with live:
        yield live


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Also what the failed run leaves free is taken at once."""
    ended, filler = threading.Event(), folder / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            while not ended.wait(0.1):
                file.write(bytes(max(0, psutil.disk_usage(str(folder)).free - LEFT_BYTES)))

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        filler.unlink()


def on_other(matrix):
    matrix.load_generators.set(LoadGenerator.objects.filter(name=OTHER))


def is_quarantined():
    return LoadGenerator.objects.filter(name=FULL, quarantined_at__isnull=False).exists()


def test_full_disk_of_one_generator(site, small_disk):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=20)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_measured(run, "UPDATE")

    with filled(small_disk):
        site.until(is_quarantined, 60, "the load generator to be in quarantine")
        site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 60, "the run to fail")

        run.refresh_from_db()
        again = run.reruns.get(is_retry=True)
        assert run.reason == Reason.GENERATOR_UNFIT, run.reason_detail
        assert f"{small_disk}" in run.reason_detail and "Free space there" in run.reason_detail
        assert "could not be finished" in LoadGenerator.objects.get(name=FULL).quarantine_reason
        others = site.until_ended(site.submit(("redis", "off"), rungs=[2], before=on_other))
        assert {other.status for other in others} == {Status.SUCCEEDED}
        again.refresh_from_db()
        assert again.status == Status.QUEUED and is_quarantined(), again.reason_detail

    site.until_ended(matrix)
    again.refresh_from_db()
    assert again.status == Status.SUCCEEDED, again.reason_detail
    assert not is_quarantined()
