"""The whole way round: the script of a plan is run without Benchsite, and its outputs can be imported."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from runs.models import Upload
from runs.plans.files.plan_export import export_plan
from runs.plans.files.script import repeat_script
from runs.tests.factories import make_database, make_load_generator, make_matrix, make_team, make_workload
from runs.ycsb.properties import check_workload
from workers.generator.executables import choose_redis
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
def script(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "repeat.sh"
    path.write_text(repeat_script(a_plan()))
    subprocess.run(["bash", path, "servers"], cwd=tmp_path, check=True)
    yield path


@pytest.fixture
def server(script: Path, work_folder: Path) -> Iterator[int]:
    """A server with the settings of the script, on a port of its own."""
    (conf,) = (script.parent / "servers").glob("*/redis.conf")
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


@pytest.fixture
def environment(server):
    """What the script takes."""
    build(settings.YCSB_DIR)
    return {
        "PATH": os.environ["PATH"],
        "HOST": "127.0.0.1",
        "PORT": str(server),
        "BENCHSITE_JARS": str(settings.YCSB_DIR / "redis" / "lib"),
        "EMPTY_DATABASE": "true",
    }


def test_script_repeats_a_plan_without_benchsite(script, server, environment, client_in):
    argv = ["bash", "repeat.sh", "all"]

    done = subprocess.run(argv, cwd=script.parent, env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "inserted 500 records" in done.stderr
    with redis.Redis(port=server) as client:
        assert client.dbsize() == 1000
    again = subprocess.run(argv, cwd=script.parent, env=environment, capture_output=True, text=True)
    assert again.returncode == 2 and "move this cell's outputs away" in again.stderr

    outputs = [path for path in sorted((script.parent / "outputs").iterdir()) if "-load-" not in path.name]
    files = [SimpleUploadedFile(path.name, path.read_bytes()) for path in outputs if path.suffix in (".txt", ".hdr")]
    client_in.post(reverse("imports"), {"files": files})
    upload = Upload.objects.get()
    assert (upload.state, upload.error) == (Upload.State.RECOGNISED, "")
    runs = upload.recognised["runs"]
    assert len(runs) == len(RUNGS)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_stopped_script_stops_its_clients(script, server, environment):
    argv = ["bash", "repeat.sh", "0002-redis-everysec-a-2t-r1"]
    process = subprocess.Popen(argv, cwd=script.parent, env=environment, stderr=subprocess.DEVNULL)
    with redis.Redis(port=server) as client:
        wait_until(lambda: len(client.client_list()) > 2)

        process.terminate()
        process.wait(timeout=20)

        wait_until(lambda: len(client.client_list()) == 1)
