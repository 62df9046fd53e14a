"""Conductors of one host: each has an id of its own, keeps it over restarts, and takes care of those that died."""

import os
import signal
import subprocess
import sys

import pytest

from runs.models import Conductor, Deployment, Run
from runs.models.run import Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import make_client_run, make_machine, make_run, make_sweep
from workers.conductor import conductor_identity
from workers.models import Lease

pytestmark = pytest.mark.django_db
HOLDER = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def host(settings, tmp_path, monkeypatch):
    settings.VAR_DIR, settings.GUARDED_DIR = tmp_path, tmp_path / "guarded"
    monkeypatch.setenv("BENCHSITE_MACHINE", "lab")


def running_run(conductor):
    """With a client, a lease on its machine and a server of this conductor."""
    run = make_run(make_sweep(), status=Status.DISPATCHED)
    lifecycle.claim_first(Run.objects.filter(pk=run.pk), "test", conductor)
    make_client_run(run, state="running", order={"properties": {}})
    Lease.objects.create(machine=run.cluster.nodes.get().machine, run=run)
    Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode=run.mode, state="up",
        fingerprint="f", conductor=conductor,
    )  # fmt: skip
    return run


def test_ids_are_kept_and_never_shared():
    first, second = conductor_identity.take_identity(), conductor_identity.take_identity()
    assert (first.number, second.number) == (1, 2)
    assert first.id != second.id
    first.release()
    again = conductor_identity.take_identity()
    assert (again.number, again.id) == (1, first.id)


def test_copied_disk_gets_a_new_id(monkeypatch):
    first = conductor_identity.take_identity()
    first.release()
    monkeypatch.setenv("BENCHSITE_MACHINE", "copy")
    assert conductor_identity.take_identity().id != first.id


def test_restart_ends_its_own_runs_and_no_others():
    identity, other = conductor_identity.take_identity(), conductor_identity.take_identity()
    conductor, neighbour = conductor_identity.register(identity, 2), conductor_identity.register(other, 2)
    mine, theirs = running_run(conductor), running_run(neighbour)
    conductor_identity.register(identity, 2)
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.status, mine.reason) == (Status.FAILED, Reason.WORKER_LOST)
    assert mine.client_runs.get().state == "failed"
    assert mine.reruns.get().is_retry
    assert theirs.status == Status.RUNNING
    assert [lease.run for lease in Lease.objects.all()] == [theirs]
    assert sorted(Deployment.objects.values_list("state", "fingerprint")) == [("down", ""), ("up", "f")]


def test_neighbour_ends_the_runs_of_one_that_was_killed(tmp_path):
    dead = conductor_identity.take_identity()
    conductor = conductor_identity.register(dead, 2)
    run = running_run(conductor)
    dead.release()
    path = tmp_path / "conductors" / "1"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        mine = conductor_identity.take_identity()
        assert mine.number == 2
        conductor_identity.end_lives_of_others()
        run.refresh_from_db()
        assert run.status == Status.RUNNING  # Its process lives.
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    conductor_identity.end_lives_of_others()
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.WORKER_LOST)
    assert not Conductor.objects.filter(pk=conductor.pk).exists()  # So its life is ended once.


def test_notes_the_free_disk_of_its_machine(settings, tmp_path):
    settings.TARGETS_DIR = tmp_path / "targets"  # made with the first server
    machine = make_machine(host_key=conductor_identity.host_key())
    conductor_identity.note_host_facts()
    machine.refresh_from_db()
    sizes = {name: machine.facts[name]["value"] for name in ("data_disk_free_bytes", "data_disk_total_bytes")}
    assert 0 < sizes["data_disk_free_bytes"] <= sizes["data_disk_total_bytes"]
    assert machine.facts["cores"]["value"] == 2
