"""Real runs beside a process that burns a core: the host's samples tell it from servers, clients and Benchsite."""

import re
import subprocess
import sys

import psutil
import pytest
from django.conf import settings

from benchsite.tests.live_site import site
from runs.measures.host import KIND
from runs.models import Deployment, Finding, Run
from runs.models.run import Phase, Status
from runs.recording.surroundings import hosts_of

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

# Ends by itself, whatever becomes of the test.
BURN = "import time; end = time.process_time() + 60\nwhile time.process_time() < end: pass"


@pytest.fixture
def burner():
    with subprocess.Popen([sys.executable, "-c", BURN]) as process:
        yield process
        process.kill()


def test_servers_and_clients_use_different_cpus(site):
    matrix = site.submit(("redis", "everysec"), rungs=[2], measure_s=3)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    run.refresh_from_db()
    cpus = run.evidence["cpus"]
    assert cpus["servers"] and cpus["clients"] and not set(cpus["servers"]) & set(cpus["clients"])
    server = psutil.Process(Deployment.objects.get(matrix=matrix).process["pid"])
    clients = [
        process for process in psutil.process_iter(["cwd"]) if str(settings.WORK_DIR) in (process.info["cwd"] or "")
    ]
    assert clients
    assert server.cpu_affinity() == cpus["servers"]
    assert {tuple(process.cpu_affinity()) for process in clients} == {tuple(cpus["clients"])}
    site.until_ended(matrix)
    finding = Finding.objects.get(measurement_set__run=run, check_id="V24")
    assert "the database on 1 core" in finding.message or len(cpus["servers"]) > 1


def test_tells_a_foreign_process_from_its_own(site, burner):
    matrix = site.submit(("redis", "everysec"), rungs=[2], measure_s=3)
    runs = site.until_ended(matrix)
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 2, [run.reason_detail for run in runs]
    measured = next(run for run in runs if run.phase == Phase.MEASURE)

    # Both generators and the server share one machine: it is sampled once, by the conductor, which knows the server.
    samples = hosts_of(measured.spec, measured.artifacts.filter(kind=KIND))
    assert [host.machine for host in samples] == [measured.spec["cluster"]["machines"][0]["name"]]
    host = samples[0]
    assert len(host) >= 3  # of 1 s warm-up, 3 s measured and 2 s tail
    for owner in ("servers_cores", "clients_cores", "benchsite_cores"):
        assert 0 < host.mean(owner) < host.cores
    assert host.mean("other_cores") > 0.1 * host.cores
    finding = Finding.objects.get(measurement_set__run=measured, check_id="V25")
    assert finding.severity == Finding.Severity.WARN  # Purpose demo never rejects for it.
    assert re.fullmatch(r"[\d.]+ of \d+ cores during \d+\s% of the window", finding.measured)
