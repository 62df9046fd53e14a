"""Guards end runs of a live site at their real limits: the run fails with its reason, and its output is kept."""

import re
import signal
import subprocess

import psutil
import pytest
import redis
from django.conf import settings

from benchsite.core.formatting import percent
from benchsite.tests.live_site import get_clients, get_servers, shared_site
from runs.models import Database, Deployment, Run, Workload
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason
from runs.timeouts import CLIENT_ERRORS_TIMEOUT_S, CLIENT_STALL_TIMEOUT_S

__all__ = ["shared_site"]
pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.needs("root"),
]
DISK_BYTES = 256 << 20


@pytest.fixture(scope="module")
def small_disk():
    """The data folders of all servers lie on a small file system."""
    settings.TARGETS_DIR.mkdir(parents=True, exist_ok=True)
    folder = str(settings.TARGETS_DIR)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0755", "tmpfs", folder], check=True)
    yield settings.TARGETS_DIR
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def site(small_disk, shared_site):
    return shared_site


def measuring_run(site, *, measure_s=CLIENT_STALL_TIMEOUT_S + 30, before=lambda matrix: None):
    """A run on Redis of which a client has written its first second."""
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=round(measure_s), before=before)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_measured(run, "UPDATE")
    return run


def ended(site, run):
    """The run once nothing of its matrix is left to run."""
    site.until_ended(run.matrix)
    run.refresh_from_db()
    assert get_clients(run.matrix) == []
    return run


def kept(run):
    return [set(client.artifacts.values_list("kind", flat=True)) for client in run.client_runs.order_by("number")]


def test_server_that_never_answers_again(site):
    """Its clients wait for their answers; those that give up after 10 s end as failed operations."""

    def patient(matrix):
        Database.objects.filter(entries__matrix=matrix).update(binding_properties={"redis.timeout_ms": "600000"})

    run = measuring_run(site, before=patient)
    for process in get_servers(run.matrix):
        if process.name() == "redis-server":
            process.suspend()
    run = ended(site, run)
    assert (run.status, run.reason) == (Status.FAILED, Reason.NO_PROGRESS)
    assert re.search(r"No operation succeeded for 6\d s\.", run.reason_detail)
    assert all({"hdr", "stderr"} <= kinds for kinds in kept(run))
    assert not run.reruns.exists()


def test_most_operations_fail(site):
    """Redis refuses every write once its memory is full."""

    def updates_only(matrix):
        workload = Workload.objects.get(matrices=matrix)
        workload.properties |= {"readproportion": "0", "updateproportion": "1"}
        workload.save()

    run = measuring_run(site, measure_s=CLIENT_ERRORS_TIMEOUT_S + 30, before=updates_only)
    deployment = Deployment.objects.get(matrix=run.matrix)
    password = (settings.TARGETS_DIR / str(deployment.pk) / "password").read_text().strip()
    with redis.Redis(deployment.host, deployment.port, password=password) as admin:
        admin.config_set("maxmemory", 1)
    run = ended(site, run)
    assert (run.status, run.reason) == (Status.FAILED, Reason.TOO_MANY_ERRORS)
    assert re.search(r"operations failed within 3\d s; the limit is 50.% for 30 s", run.reason_detail)
    assert all({"hdr", "stderr"} <= kinds for kinds in kept(run))
    assert not run.reruns.exists()


def test_one_of_two_clients_is_killed(site):
    run = measuring_run(site, measure_s=6)
    lost = run.client_runs.get(number=0)
    folder = str(settings.WORK_DIR / str(lost.pk))
    [client] = [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "java" and any(folder in part for part in process.info["cmdline"] or ())
    ]
    client.send_signal(signal.SIGKILL)
    run = ended(site, run)
    assert (run.status, run.reason) == (Status.FAILED, Reason.WORKER_LOST)
    assert "Signal 9 from outside Benchsite" in run.reason_detail
    assert all({"hdr", "stderr"} <= kinds for kinds in kept(run))
    # Infrastructure broke it, so it is repeated once, visibly.
    assert run.reruns.get(is_retry=True).status == Status.SUCCEEDED


def test_disk_fills_up(site, small_disk):
    run = measuring_run(site)
    usage = psutil.disk_usage(str(small_disk))
    filler = small_disk / "filler"
    try:
        filler.write_bytes(bytes(round(0.96 * usage.total) - usage.used))
        run = ended(site, run)
    finally:
        filler.unlink()
    assert (run.status, run.reason) == (Status.FAILED, Reason.DISK_FULL)
    assert f"The file system of the data folder {small_disk}" in run.reason_detail
    assert f"{percent(0.96)} full" in run.reason_detail and "Free space there" in run.reason_detail
    assert all({"hdr", "stderr"} <= kinds for kinds in kept(run))


def test_server_that_loses_records_of_a_load(site):
    def forgetful(matrix):
        limits = {"maxmemory": "6mb", "maxmemory-policy": "allkeys-random"}
        Database.objects.filter(entries__matrix=matrix).update(settings=limits)

    matrix = site.submit(("redis", "off"), rungs=[2], before=forgetful)
    load, measured = site.until_ended(matrix)
    assert (load.status, load.reason) == (Status.FAILED, Reason.WRONG_ROW_COUNT)
    assert "of 10,000 records are there" in load.reason_detail
    assert (measured.status, measured.reason) == (Status.CANCELLED, Reason.LOAD_FAILED)
    assert all({"hdr", "stderr"} <= kinds for kinds in kept(load))
