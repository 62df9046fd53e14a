"""A client's output outlives whatever keeps it from being stored: its folder stays until the site has every file."""

import contextlib
import hashlib
import http.client
import http.server
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import boto3
import pytest
from django.db import connection

from benchsite.core.artifact_storage import artifact_storage
from runs.models import ClientRun
from runs.queue import client_lifecycle
from runs.queue.reasons import Reason
from runs.results import artifacts
from runs.tests.factories import make_client_run, make_load_generator, make_run, make_sweep
from runs.timeouts import STORE_TIMEOUT_S
from workers.generator import client_reporter, enrolment, generator_api, outbox, site_client as site_client_module
from workers.generator.client import run_client
from workers.generator.client_reporter import ClientReporter
from workers.generator.site_client import SiteClient, site_client
from workers.generator.work_folder import ClientResult, created_work_folder

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
LOG = os.urandom(100_000)  # does not compress


@pytest.fixture
def site(live_server):
    """The site as the load generator `lab-1` reaches it."""
    client = SiteClient(live_server.url, enrolment.make("lab-1"))
    yield client
    client.close()


@pytest.fixture
def claimed(settings, tmp_path, monkeypatch):
    """A claimed client run on `lab-1`; work folders are below tmp_path."""
    settings.WORK_DIR = tmp_path / "work"
    monkeypatch.setattr(client_reporter, "REPORT_INTERVAL_S", 0.1)
    run = make_run(make_sweep(), threads=2, status="running")
    client_run = make_client_run(run, generator=make_load_generator(name="lab-1"))
    claim = uuid.uuid4()
    assert client_lifecycle.claim(client_run.pk, claim)
    client_run.refresh_from_db()
    return client_run


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 64 KiB, and the file that fills it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    ballast = disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@contextlib.contextmanager
def s3_service(port):
    """An S3 service as a process of its own."""
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _answers(port), 60)
            keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
            boto3.resource("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys).create_bucket(Bucket="results")
            yield process
        finally:
            process.kill()


@pytest.fixture
def s3_port(settings, tmp_path, monkeypatch):
    """A free port, at which the settings look for the artifacts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {"BUCKET": "results", "ENDPOINT": f"http://127.0.0.1:{port}", "ACCESS_KEY": "x", "SECRET_KEY": "x"}
    for name, value in variables.items():
        monkeypatch.setenv(f"BENCHSITE_S3_{name}", value)
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage(tmp_path)}
    return port


def _answers(port):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def until(condition, timeout_s=20):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextlib.contextmanager
def storing(site, client_run):
    """What a client does after its process has ended, in a thread; joined at the end."""

    def store():
        try:
            with (
                written_folder(client_run) as folder,
                ClientReporter(site, client_run.pk, client_run.claim) as reporter,
            ):
                folder.record_result(ClientResult(exit_code=0, cpu_percent=42.0, facts={"host": "lab"}))
                outbox.store_output(site, folder, reporter.check)
        finally:
            connection.close()

    thread = threading.Thread(target=store)
    thread.start()
    try:
        yield
    finally:
        thread.join(60)


@contextlib.contextmanager
def written_folder(client_run):
    """A work folder with what YCSB writes."""
    from django.conf import settings

    with created_work_folder(settings.WORK_DIR, client_run.pk, client_run.claim, "lab-1") as folder:
        folder.properties.write_text("redis.host=127.0.0.1\nredis.password=geheim\n")
        (folder.path / "summary.txt").write_text("[OVERALL], RunTime(ms), 1000\n")
        (folder.path / "hdr" / "READ.hdr").write_bytes(LOG)
        yield folder


def get_state(client_run):
    client_run.refresh_from_db()
    return client_run.state


def assert_stored(client_run):
    from django.conf import settings

    assert get_state(client_run) == ClientRun.State.FINISHED
    assert (client_run.exit_code, client_run.cpu_percent) == (0, 42.0)
    contents = {artifact.name: artifacts.open_artifact(artifact) for artifact in client_run.artifacts.all()}
    assert set(contents) == {"summary.txt", "ycsb.properties", "READ.hdr"}
    assert contents["READ.hdr"] == LOG
    assert b"geheim" not in contents["ycsb.properties"]
    assert list(settings.WORK_DIR.iterdir()) == []


def assert_beats(client_run):
    """Its heartbeat goes on, so nobody takes it for dead."""
    client_run.refresh_from_db()
    before = client_run.heartbeat_at

    def beaten():
        client_run.refresh_from_db()
        return client_run.heartbeat_at > before

    until(beaten)
    assert client_run.state == ClientRun.State.STORING


def terminate_other_connections():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchall()


def test_output_waits_for_a_full_artifact_store(site, claimed, full_disk, settings):
    """Connections to PostgreSQL that break meanwhile change nothing."""
    folder = {**settings.STORAGES["artifacts"], "OPTIONS": {"location": full_disk / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": folder}
    with storing(site, claimed):
        until(lambda: get_state(claimed) == ClientRun.State.STORING)
        assert_beats(claimed)
        until(terminate_other_connections)
        assert_beats(claimed)
        assert not claimed.artifacts.filter(kind="hdr").exists()
        (full_disk / "ballast").unlink()
    assert_stored(claimed)


def test_output_waits_for_a_slow_artifact_store(site, claimed, s3_port):
    with s3_service(s3_port) as service:
        os.kill(service.pid, signal.SIGSTOP)
        try:
            with storing(site, claimed):
                until(lambda: get_state(claimed) == ClientRun.State.STORING)
                assert_beats(claimed)
                assert_beats(claimed)
                os.kill(service.pid, signal.SIGCONT)
        finally:
            os.kill(service.pid, signal.SIGCONT)
        assert_stored(claimed)


def test_output_not_stored_in_time_is_delivered_later(site, claimed, s3_port, settings, monkeypatch):
    monkeypatch.setattr(outbox, "STORE_TIMEOUT_S", 1.0)
    with storing(site, claimed):
        pass
    assert get_state(claimed) == ClientRun.State.FAILED
    assert claimed.reason == Reason.OUTPUT_NOT_STORED
    assert "artifact storage does not answer" in claimed.reason_detail
    assert str(settings.WORK_DIR) in claimed.reason_detail
    assert "geheim" not in (settings.WORK_DIR / str(claimed.pk) / "ycsb.properties").read_text()

    outbox.deliver_leftovers(site, "lab-1")
    assert get_state(claimed) == ClientRun.State.FAILED
    with s3_service(s3_port):
        outbox.deliver_leftovers(site, "lab-2")
        assert get_state(claimed) == ClientRun.State.FAILED
        outbox.deliver_leftovers(site, "lab-1")
        assert_stored(claimed)


def test_output_of_a_killed_process_is_delivered(site, claimed, settings):
    pid = os.fork()
    if pid == 0:
        with written_folder(claimed) as folder:
            (folder.path / "written").touch()
            time.sleep(60)
        os._exit(0)
    folder = settings.WORK_DIR / str(claimed.pk)
    until((folder / "written").exists)
    outbox.deliver_leftovers(site, "lab-1")
    assert get_state(claimed) == ClientRun.State.STARTING  # Its process works on it.

    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    outbox.deliver_leftovers(site, "lab-1")
    assert get_state(claimed) == ClientRun.State.FAILED
    assert claimed.reason == Reason.WORKER_LOST
    assert {artifact.kind for artifact in claimed.artifacts.all()} == {"hdr", "properties", "summary"}
    assert "lab-1" in claimed.reason_detail
    assert not folder.exists()


def test_full_work_folder_is_named(live_server, claimed, full_disk, settings):
    settings.WORK_DIR = full_disk
    settings.GENERATOR_SITE_URL, settings.GENERATOR_TOKEN = live_server.url, enrolment.make("lab-1")
    site_client.cache_clear()
    ClientRun.objects.filter(pk=claimed.pk).update(state=ClientRun.State.WAITING, claim=None)
    run_client(claimed.pk)
    site_client().close()
    assert get_state(claimed) == ClientRun.State.FAILED
    assert f"The work folder {full_disk} on" in claimed.reason_detail
    assert "is full" in claimed.reason_detail


class StrayHandler(http.server.BaseHTTPRequestHandler):
    """A proxy whose site is away."""

    answer = (404, b"<h1>Not Found</h1>")

    def do_POST(self):
        status, body = self.answer
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(params=[(404, b"<h1>Not Found</h1>"), (410, b"gone"), (404, b'{"detail": "?"}'), (200, b"<h1>Hi</h1>")])
def stray_site(request):
    """A server that answers in place of the site."""
    handler = type("Handler", (StrayHandler,), {"answer": request.param})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        client = SiteClient(f"http://127.0.0.1:{server.server_port}", "bsg_lab-1_x")
        yield client
        client.close()
        server.shutdown()
        thread.join()


def test_stray_answers_remove_and_end_nothing(site, stray_site, claimed):
    with written_folder(claimed) as folder:
        with ClientReporter(stray_site, claimed.pk, claimed.claim) as reporter:
            time.sleep(0.3)  # three heartbeats
            reporter.check()
        folder.record_result(ClientResult(exit_code=0, cpu_percent=42.0, facts={"host": "lab"}))
    outbox.deliver_leftovers(stray_site, "lab-1")
    outbox.deliver_leftovers(site, "lab-1")
    assert_stored(claimed)


def test_output_of_a_deleted_run_is_removed(site, claimed, settings):
    with written_folder(claimed) as folder:
        folder.record_result(ClientResult(exit_code=0))
    ClientRun.objects.filter(pk=claimed.pk).delete()
    with ClientReporter(site, claimed.pk, claimed.claim) as reporter:
        until(lambda: reporter.run_ended)
    outbox.deliver_leftovers(site, "lab-1")
    assert list(settings.WORK_DIR.iterdir()) == []


def test_ended_run_does_not_block_its_pool_process(site, claimed, settings, monkeypatch):
    """What is not stored by then, the load generator stores later."""
    monkeypatch.setattr(outbox, "ENDED_RUN_TIMEOUT_S", -1.0)
    claimed.run.cancel_requested_at = claimed.created_at
    claimed.run.save(update_fields=["cancel_requested_at"])
    with written_folder(claimed) as folder, ClientReporter(site, claimed.pk, claimed.claim) as reporter:
        until(lambda: reporter.run_ended)
        folder.record_result(ClientResult(exit_code=0, cpu_percent=42.0, facts={"host": "lab"}))
        outbox.store_output(site, folder, reporter.check)
    claimed.refresh_from_db()
    assert claimed.stopped_at is not None
    assert not claimed.artifacts.exists()
    outbox.deliver_leftovers(site, "lab-1")
    assert_stored(claimed)


def test_uploads_leave_threads_for_heartbeats(live_server, site, claimed):
    """The site answers the upload that is one too many before its body has come."""
    host, digest = live_server.url.removeprefix("http://"), hashlib.sha256(LOG).hexdigest()
    address = f"/generator-api/v1/clients/{claimed.pk}/files/hdr/"
    query = f"?claim={claimed.claim}&size={len(LOG)}&sha256={digest}"
    headers = {"Authorization": f"Bearer {enrolment.make('lab-1')}", "Content-Length": str(len(LOG))}
    uploads = [http.client.HTTPConnection(host, timeout=20) for _ in range(generator_api.MAX_UPLOADS + 1)]
    for number, upload in enumerate(uploads):
        upload.request("PUT", f"{address}{number}.hdr{query}", headers=headers)
    answered, _, _ = select.select([upload.sock for upload in uploads], [], [], 20)
    refused = [upload for upload in uploads if upload.sock in answered]
    assert [upload.getresponse().status for upload in refused] == [503]
    accepted = [upload for upload in uploads if upload not in refused]
    for upload in accepted:
        upload.send(LOG)
        assert upload.getresponse().status == 200
    for upload in uploads:
        upload.close()


@pytest.mark.parametrize("checked_by", ["generator", "site"])
def test_file_above_the_limit_is_kept_and_named(site, claimed, settings, monkeypatch, checked_by):
    """Everything else is stored at once, and nothing is sent again. The site's own limit may be lower."""
    monkeypatch.setattr(site_client_module if checked_by == "generator" else generator_api, "MAX_TEXT_BYTES", 99_999)
    with written_folder(claimed) as folder, ClientReporter(site, claimed.pk, claimed.claim) as reporter:
        (folder.path / "stderr.txt").write_bytes(b"x" * 100_000)
        folder.record_result(ClientResult(exit_code=0, cpu_percent=42.0))
        began = time.monotonic()
        outbox.store_output(site, folder, reporter.check)
    assert time.monotonic() - began < STORE_TIMEOUT_S / 5
    assert get_state(claimed) == ClientRun.State.FINISHED
    assert set(claimed.artifacts.values_list("name", flat=True)) == {"summary.txt", "ycsb.properties", "READ.hdr"}
    kept = settings.WORK_DIR / ".too-large" / str(claimed.pk)
    assert [path.name for path in kept.iterdir()] == ["stderr.txt"]
    text = claimed.run.events.get(kind="note").text
    assert text.startswith("Client 0 on lab-1: missing: stderr.txt, 97.7")
    assert "above the limit" in text and str(kept) in text
    assert list(settings.WORK_DIR.glob("[!.]*")) == []
