"""Large uploads: a child of the conductor's reads them, out of the way of what is measured, and may be killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import psutil
import pytest
from django.db import connections
from django.db.models.functions import Now
from django.test import Client

from benchsite.tests.databases import database_url
from runs.models import Upload
from runs.tests.factories import make_machine, make_run, make_sweep, make_team, make_user
from runs.tests.importing import answers, bring, import_folder, sent, summary
from runs.uploads import upload_lifecycle
from workers.conductor import conductor_identity, upload_reader
from workers.conductor.conductor_service import ConductorService
from workers.generator.host_identity import host_key
from workers.models import Lease

__all__ = ["import_folder"]
pytestmark = [pytest.mark.usefixtures("import_folder"), pytest.mark.slow]


@pytest.fixture
def waiting(db, monkeypatch):
    """A browser with an upload that waits for a worker."""
    monkeypatch.setattr(upload_lifecycle, "MAX_IN_REQUEST", 0)
    client = Client()
    client.force_login(make_user(team=make_team()))
    return client, bring(client, sent("a.txt", summary()))


def measure_here():
    """A run that holds this machine."""
    return Lease.objects.create(machine=make_machine(host_key=host_key()), run=make_run(make_sweep(), status="running"))


@pytest.mark.django_db
def test_it_reads_nothing_while_a_run_measures_on_this_machine(waiting):
    _, upload = waiting
    measure_here()
    upload_reader.read_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempts) == ("received", 0)


@pytest.mark.django_db
def test_a_second_delivery_does_nothing(waiting):
    _, upload = waiting
    claim = upload_lifecycle.begin(upload.pk)
    upload_reader.read_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.claim) == ("reading", claim)


@pytest.fixture
def children(settings, import_folder, tmp_path, monkeypatch):
    """Children of this test see its database and its folders."""
    settings.VAR_DIR = tmp_path  # without a folder for logs
    settings.GUARDED_DIR = tmp_path / "guarded"
    for name, value in (
        ("DATABASE_URL", database_url()), ("BENCHSITE_INCOMING", str(import_folder / "incoming")),
        ("BENCHSITE_ARTIFACTS", str(import_folder / "artifacts")),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_child_reads_and_saves(waiting, children):
    client, upload = waiting
    upload_reader.read_upload(upload.pk)
    upload.refresh_from_db()
    assert upload.state == "recognised", (upload.error, (children / "log" / "reader.log").read_text())
    client.post(f"/import/{upload.pk}/", answers(upload))
    upload_reader.read_upload(upload.pk)
    upload.refresh_from_db()
    assert upload.state == "saved", upload.error
    assert upload.runs.get().throughput_ops_s == 10_000


@pytest.mark.django_db(transaction=True)
def test_conductor_reads_an_upload_only_while_no_run_measures(waiting, children):
    _, upload = waiting
    service = ConductorService(conductor_identity.register(conductor_identity.take_identity(), 1))
    lease = measure_here()
    service._do_chores()
    assert service._count("upload") == 0
    lease.delete()
    service._do_chores()
    service._do_chores()  # It is being read already.
    assert service._count("upload") == 1
    for thread in service._jobs.values():
        thread.join()
    upload.refresh_from_db()
    assert upload.state == "recognised"


@pytest.mark.django_db
def test_what_a_lost_worker_left_is_read_again(waiting):
    _, upload = waiting
    upload_lifecycle.begin(upload.pk)
    upload_lifecycle.reap()
    assert upload_lifecycle.waiting() is None
    Upload.objects.update(heartbeat_at=Now() - timedelta(minutes=2))
    upload_lifecycle.reap()
    assert upload_lifecycle.waiting() == upload


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_killed_child_leaves_the_upload_to_be_read_once_more(waiting, children, monkeypatch):
    _, upload = waiting
    start = upload_reader.start_child

    def killed(upload_id, claim):
        child = start(upload_id, claim)
        os.kill(child.pid, signal.SIGKILL)
        return child

    monkeypatch.setattr(upload_reader, "start_child", killed)
    for state in ("received", "failed"):
        upload_reader.read_upload(upload.pk)
        upload.refresh_from_db()
        assert upload.state == state
    assert "lost twice" in upload.error


@pytest.fixture
def reading(waiting, children, monkeypatch):
    """An upload with the process that has begun to read it, and the thread that watches that process.

    Django alone takes it a second to start: time enough for what these tests do.
    """
    _, upload = waiting
    monkeypatch.setattr(upload_reader, "CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(upload_reader, "HEARTBEAT_INTERVAL_S", 0.05)
    seen = threading.Event()
    start = upload_reader.start_child

    def started(upload_id, claim):
        child = start(upload_id, claim)
        process.append(psutil.Process(child.pid))
        seen.set()
        return child

    process: list[psutil.Process] = []
    monkeypatch.setattr(upload_reader, "start_child", started)
    watch = threading.Thread(target=closing(upload_reader.read_upload), args=(upload.pk,))
    watch.start()
    assert seen.wait(30)
    yield upload, process[0], watch
    watch.join(30)


def closing(function):
    def run(*args):
        try:
            function(*args)
        finally:
            connections.close_all()

    return run


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_child_stands_still_while_a_run_measures(reading):
    upload, process, watch = reading
    lease = measure_here()
    until(lambda: process.status() == psutil.STATUS_STOPPED)
    until(lambda: Upload.objects.filter(pk=upload.pk, step="held while a run measures").exists())
    lease.delete()
    watch.join(30)
    upload.refresh_from_db()
    assert upload.state == "recognised", upload.error


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_child_ends_when_its_upload_is_discarded(reading):
    upload, process, watch = reading
    measure_here()
    until(lambda: process.status() == psutil.STATUS_STOPPED)  # so that it cannot be done before it is discarded
    assert upload_lifecycle.discard(upload)
    watch.join(30)
    assert not psutil.pid_exists(process.pid)
    assert not Upload.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_child_may_use_only_so_much_memory(children):
    code = (
        "import uuid, django; django.setup(); from workers.management.commands import read_upload as command; "
        "command.work_on = lambda *_: bytearray(3 * 1024**3); "
        "command.Command().handle(upload=uuid.uuid4(), claim=uuid.uuid4())"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchsite.settings"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr
