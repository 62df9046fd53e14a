"""Output of an earlier run in a client's work folder is never taken for the client's, and clients are never mixed."""

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from benchsite.tests.live_site import GENERATORS, LiveSite, shared_site
from runs.models import Artifact, ClientRun, Run
from runs.models.run import Status
from runs.queue.reasons import Reason
from runs.results import artifacts
from workers.generator.work_folder import RECORD

__all__ = ["shared_site"]
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
RECORDS = 10_000


@contextmanager
def suspended(site: LiveSite, name: str) -> Iterator[None]:
    """The load generator with its pool stands still."""
    generator = psutil.Process(site.pid(name))
    processes = [generator, *generator.children(recursive=True)]
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in reversed(processes):
            process.resume()


def write_output(client: ClientRun, folder: Path) -> None:
    """What the client left, as it lay in its work folder."""
    (folder / "hdr").mkdir(parents=True)
    for artifact in client.artifacts.all():
        parent = folder / "hdr" if artifact.kind == "hdr" else folder
        (parent / artifact.name).write_bytes(artifacts.open_artifact(artifact))
    record = {"claim": str(uuid.uuid4()), "generator": GENERATORS[0], "result": {"reason": ""}}
    (folder / RECORD).write_text(json.dumps(record))


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_earlier_output_is_not_the_clients(shared_site: LiveSite, tmp_path: Path):
    site = shared_site
    earlier = site.until_ended(site.submit(("redis", "off"), rungs=[2]))
    assert [run.status for run in earlier] == [Status.SUCCEEDED] * 2
    write_output(earlier[0].client_runs.get(number=0), tmp_path / "earlier")

    with suspended(site, GENERATORS[0]):
        matrix = site.submit(("redis", "off"), rungs=[2])
        clients = ClientRun.objects.filter(run__matrix=matrix, load_generator__name=GENERATORS[0])
        site.until(clients.exists, 60, "a message for the suspended generator")
        occupied = settings.WORK_DIR / str(clients.get().pk)
        shutil.copytree(tmp_path / "earlier", occupied)
    runs = site.until_ended(matrix)

    failed = Run.objects.get(matrix=matrix, status=Status.FAILED)
    assert (failed.reason, failed.throughput_ops_s) == (Reason.CLIENT_NOT_STARTED, None)
    assert f"holds output of an earlier client: move {occupied} away" in failed.reason_detail
    assert not Artifact.objects.filter(client_run__run=failed, client_run__number=0).exists()
    assert read_files(occupied) == read_files(tmp_path / "earlier")
    retry, measured = sorted(set(runs) - {failed}, key=lambda run: run.phase)
    assert (retry.rerun_of, retry.status, measured.status) == (failed, Status.SUCCEEDED, Status.SUCCEEDED)
    assert retry.measurement_sets.get().clients_merged == 2
    assert retry.measurement_sets.get().measurements.get(operation="INSERT").ok == RECORDS
    assert [client.facts["inserted"] for client in retry.client_runs.all()] == [RECORDS // 2] * 2
