"""Connections that PostgreSQL terminates, commits whose answer is lost, and a store that is away: all are repeated."""

import contextlib
import select
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from benchsite.tests.databases import database_url
from runs.models import Run, RunEvent
from runs.models.run import Stage, Status
from runs.queue import lifecycle
from runs.queue.database_retries import STORAGE_ERRORS, retry
from runs.results import artifacts
from runs.tests.factories import claim_run, make_run, make_sweep
from runs.tests.pages import artifact_folder

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def run() -> Run:
    return make_run(make_sweep(), status=Status.DISPATCHED)


@pytest.fixture(autouse=True)
def new_connection_afterwards() -> Iterator[None]:
    yield
    connection.close()


def terminate_this_connection() -> None:
    """As an operator or a restart does it, from another connection."""
    connection.ensure_connection()
    with psycopg.connect(database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])


class LossyProxy:
    """Between this process and PostgreSQL: cuts the connection when the next commit is done, before its answer."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.server, self.armed, self.cuts = server, False, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.threads.append(threading.Thread(target=self._forward, args=[client]))
                self.threads[-1].start()

    def _forward(self, client: socket.socket) -> None:
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(str(self.server))
        with client, upstream:
            while True:
                for ready in select.select([client, upstream], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (upstream if ready is client else client).sendall(data)
                    if ready is client and self.armed and b"COMMIT" in data:
                        upstream.recv(65536)  # It is committed; nobody hears of it.
                        self.armed = False
                        self.cuts += 1
                        return

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LossyProxy]:
    server = Path(connection.settings_dict["HOST"]) / ".s.PGSQL.5432"
    if not server.is_socket():
        pytest.skip("PostgreSQL is not reached by a socket here")
    folder = Path(f"/tmp/bs-proxy-{threading.get_ident()}")
    folder.mkdir()
    between = LossyProxy(folder, server)
    connection.close()
    connection.settings_dict["HOST"] = str(folder)
    yield between
    connection.close()
    connection.settings_dict["HOST"] = str(server.parent)
    between.close()
    shutil.rmtree(folder)


def test_repeats_on_a_terminated_connection(run):
    terminate_this_connection()
    with pytest.raises(OperationalError):
        Run.objects.get(pk=run.pk)
    assert retry(lambda: Run.objects.get(pk=run.pk)) == run


def test_repeats_a_transaction_that_is_terminated_half_way(run):
    attempts = []

    def work() -> None:
        with transaction.atomic():
            RunEvent.objects.create(run=run, kind="note", text="once")
            attempts.append(1)
            if len(attempts) == 1:
                terminate_this_connection()
            Run.objects.filter(pk=run.pk).update(notes="done")

    retry(work)
    assert len(attempts) == 2
    assert RunEvent.objects.filter(text="once").count() == 1


def test_a_commit_without_answer_doubles_nothing(run, proxy):
    def losing(operation):
        """Whatever it answers, after its commit was lost once."""
        before, proxy.armed = proxy.cuts, True
        answer = retry(operation)
        assert proxy.cuts == before + 1
        return answer

    claim = losing(lambda: claim_run(run.pk, "conductor"))
    assert claim is not None
    losing(lambda: lifecycle.note(run.pk, claim, stage=Stage.MEASURING))
    losing(lambda: lifecycle.note(run.pk, claim, text="The log could not be stored."))
    losing(lambda: lifecycle.finish(run.pk, claim, Status.SUCCEEDED))
    run.refresh_from_db()
    assert run.status == Status.SUCCEEDED
    events = list(run.events.order_by("pk").values_list("kind", "new"))
    assert events == [("status", "running"), ("stage", "measuring"), ("note", ""), ("status", "succeeded")]


def test_gives_up_after_its_time(run):
    def broken() -> None:
        with connection.cursor() as cursor:
            terminate_this_connection()
            cursor.execute("SELECT 1")

    with pytest.raises(OperationalError):
        retry(broken, timeout_s=0.3)


def test_check_ends_the_attempts():
    def check() -> None:
        raise lifecycle.ClaimLost("reaped")

    def full() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(lifecycle.ClaimLost):
        retry(full, errors=STORAGE_ERRORS, check=check)


def test_a_file_missing_from_the_store_is_not_waited_for(run, artifact_folder):
    artifacts.mark_storage()
    with pytest.raises(FileNotFoundError):
        retry(lambda: artifacts.chunks("0" * 64), errors=STORAGE_ERRORS)


def test_a_store_that_comes_back_is_waited_for(run, artifact_folder):
    """The folder is moved away, as an unmounted one is, and comes back."""
    artifacts.mark_storage()
    stored = artifacts.store(run, "stdout", "stdout.txt", b"hello")
    away = artifact_folder.with_name("away")
    artifact_folder.rename(away)
    waits = []

    def check() -> None:
        if not waits:
            away.rename(artifact_folder)
        waits.append(1)

    assert retry(lambda: artifacts.open_artifact(stored), errors=STORAGE_ERRORS, check=check) == b"hello"
    assert waits
