"""The whole way round: a kit made from a plan is run without Benchsite, and its outputs come back as a sweep."""

import io
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.files.base import ContentFile

from reports.figures.captions import caption
from reports.queries.curves import curves
from runs.kits import zipped
from runs.kits.by_hand import Place, plan_by_hand
from runs.kits.plan_export import export_plan
from runs.kits.plan_file import read_plan
from runs.models import Matrix, Run, Sweep, Upload
from runs.models.run import Phase, Status, Verdict
from runs.recording.recompute import apply, rebuild
from runs.tests.factories import make_database, make_load_generator, make_matrix, make_team, make_user, make_workload
from runs.uploading import upload_lifecycle
from runs.uploading.processing import work_on
from runs.ycsb.properties import check_workload
from workers.executables import choose_redis
from workers.provision.ports import free_port
from workers.systems.build import build

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240), pytest.mark.long]

RUNGS = [2, 4, 8]


def a_plan() -> str:
    """As a report holds it: of a site and a team that are no more."""
    team = make_team()
    properties = check_workload({"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5"})
    matrix = make_matrix(
        team=team, entries=[(make_database(team=team, name="Cache"), "everysec")],
        workloads=[make_workload(team=team, name="Half and half", properties=properties)],
        load_generators=[make_load_generator()], processes_per_generator=2, rungs=RUNGS, submitted_at=None,
        warmup_s=2, min_measure_s=2, max_measure_s=2, load_threads=2, purpose="smoke",
    )  # fmt: skip
    text = export_plan(matrix)
    matrix.entries.all().delete()
    matrix.delete()
    return text


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    plan = a_plan()
    with zipfile.ZipFile(io.BytesIO(zipped(plan))) as archive:
        archive.extractall(tmp_path)
        for entry in archive.infolist():
            (tmp_path / entry.filename).chmod(entry.external_attr >> 16)
    (folder,) = tmp_path.iterdir()
    yield plan, folder


@pytest.fixture
def server(kit: tuple[str, Path], work_folder: Path) -> Iterator[int]:
    """A server with the settings of the kit, on a port of its own, as the README says."""
    (conf,) = (kit[1] / "servers").glob("*/redis.conf")
    port, program = free_port(), choose_redis(None, shelf=work_folder / "shelf").path
    (conf.parent / "data").mkdir()
    argv = [str(program), "./redis.conf", "--port", str(port)]
    process = subprocess.Popen(argv, cwd=conf.parent, stdout=subprocess.DEVNULL)
    try:
        client = redis.Redis(port=port, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.1), 50))
        assert client.ping() and client.config_get("appendfsync") == {"appendfsync": "everysec"}
        client.close()
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def zip_of(folder: Path, *patterns: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for pattern in patterns or ("*",):
            for path in sorted(folder.glob(pattern)):
                archive.write(path, f"outputs/{path.name}")
    return out.getvalue()


def bring(matrix: Matrix, user, content: bytes) -> Upload:
    """As a worker does it, from the files to the rows."""
    upload, claim = upload_lifecycle.receive(matrix.team, user, [("outputs.zip", ContentFile(content))])
    Upload.objects.filter(pk=upload.pk).update(matrix=matrix)
    upload_lifecycle.let_go(upload.pk, claim)
    step(upload)
    upload.refresh_from_db()
    return upload


def step(upload: Upload) -> None:
    claim = upload_lifecycle.begin(upload.pk)
    assert claim is not None
    work_on(upload.pk, claim)


def test_kit_run_without_benchsite_imports_as_complete_sweep(kit, server):
    plan, folder = kit
    build(settings.YCSB_DIR)
    environment = {
        "PATH": os.environ["PATH"],
        "HOST": "127.0.0.1",
        "PORT": str(server),
        "BENCHSITE_JARS": str(settings.YCSB_DIR / "redis" / "lib"),
        "EMPTY_DATABASE": "true",
    }
    refused = subprocess.run(
        ["./run-here.sh", "all"], cwd=folder, env={"PATH": os.environ["PATH"]}, capture_output=True
    )
    assert refused.returncode == 2 and b"Set EMPTY_DATABASE" in refused.stderr
    done = subprocess.run(["./run-here.sh", "all"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "500 of 500 records were inserted" in done.stderr
    assert redis.Redis(port=server).dbsize() == 1000  # expected-rows.csv says so too.
    assert ",1000,2,2," in (folder / "expected-rows.csv").read_text()
    again = subprocess.run(["./run-here.sh", "all"], cwd=folder, env=environment, capture_output=True, text=True)
    assert again.returncode == 2 and "move this cell's outputs away" in again.stderr

    team = make_team()
    user = make_user(team=team)
    matrix = plan_by_hand(team, read_plan(plan), Place(hardware="my laptop", client_on_database_host=True), user)
    outputs = folder / "outputs"
    assert bring(matrix, user, zip_of(outputs, "*.client-1.*", "kit.json")).recognised["outputs"]["problems"]
    upload = bring(matrix, user, zip_of(outputs))
    found = upload.recognised["outputs"]
    assert (found["problems"], found["left_out"], found["remarks"]) == ([], [], [])
    assert upload_lifecycle.complete(upload, {})
    step(upload)
    upload.refresh_from_db()
    assert (upload.state, upload.error) == (Upload.State.SAVED, "")

    runs = list(Run.objects.filter(matrix=matrix).order_by("position"))
    assert [(run.status, run.source) for run in runs] == [(Status.SUCCEEDED, "by_hand")] * (1 + len(RUNGS))
    measured = [run for run in runs if run.phase == Phase.MEASURE]
    assert [run.threads for run in measured] == RUNGS
    for run in measured:
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (2, 2)
        rejecting = kept.findings.filter(severity="reject").values_list("check_id", "measured", "message")
        assert list(rejecting) == []
        assert run.verdict in (Verdict.PASS, Verdict.WARN) and run.throughput_ops_s > 0
        assert kept.findings.exists()
        assert set(kept.measurements.values_list("operation", flat=True)) == {"READ", "UPDATE"}
        assert run.started_at <= run.finished_at
    assert runs[0].measurement_sets.get().operations == 1000
    (curve,) = curves(Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE))
    assert curve.ceiling is not None and curve.ceiling.throughput_ops_s > 0
    assert curve.by_hand and "run by hand" in caption([curve])
    before = measured[0].measurement_sets.get().operations
    apply(rebuild(measured[0]))  # What is kept is enough to compute it again.
    assert measured[0].measurement_sets.get(is_current=True).operations == before

    twice = bring(matrix, user, zip_of(outputs))
    assert "filled already" in twice.recognised["outputs"]["problems"][0]
