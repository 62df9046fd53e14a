"""The disk of one load generator is full for a while: its runs wait and are repeated, those of others go on."""

import subprocess

import psutil
import pytest

from benchsite.tests.live_site import LiveSite
from runs.models import LoadGenerator, Run
from runs.models.run import Phase, Status
from runs.reasons import Reason
from workers.systems.build import build

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.needs("root"),
]
DISK_BYTES = 64 << 20
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


def fill(folder):
    usage = psutil.disk_usage(str(folder))
    filler = folder / "filler"
    filler.write_bytes(bytes(round(0.97 * usage.total) - usage.used))
    return filler


def on_other(matrix):
    matrix.load_generators.set(LoadGenerator.objects.filter(name=OTHER))


def is_quarantined():
    return LoadGenerator.objects.filter(name=FULL, quarantined_at__isnull=False).exists()


def test_full_disk_of_one_generator(site, small_disk):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=20)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_measured(run, "UPDATE")

    filler = fill(small_disk)
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
    assert again.status == Status.QUEUED and is_quarantined()

    filler.unlink()
    site.until_ended(matrix)
    again.refresh_from_db()
    assert again.status == Status.SUCCEEDED, again.reason_detail
    assert not is_quarantined()
