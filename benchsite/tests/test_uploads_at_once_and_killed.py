"""Uploads against a real web server: two requests with one key at the same time, and a server killed in the middle."""

import os
import random
import signal
import threading
import time

import pytest
from django.conf import settings
from django.db import connection

from benchmarks.speed.uploads import build_body, send_all, typical
from benchsite.accounts import tokens
from benchsite.local import components
from benchsite.tests.databases import database_url
from runs.models import Artifact, Finding, MeasurementSet, Run, Series, Upload, UploadKey
from runs.results.artifacts import opened
from workers.provision.ports import free_port

# A web server of its own starts slowly where much else runs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.django_db(transaction=True)]


class Web:
    """The web server of a site, on the test's database and with storages of its own."""

    def __init__(self, folder) -> None:
        self.port = free_port()
        self.registry = folder / "supervised"
        self.part = components.web(self.port)
        self.part.log = folder / "web.log"
        self.part.env = {
            **self.part.env,
            "DATABASE_URL": database_url(),
            "REDIS_URL": settings.REDIS_URL,
            "BENCHSITE_ARTIFACTS": str(folder / "artifacts"),
            "BENCHSITE_INCOMING": str(folder / "incoming"),
            "BENCHSITE_API_UPLOADS_PER_MINUTE": "0",
            "BENCHSITE_API_REQUESTS_PER_MINUTE": "0",
            "BENCHSITE_DEBUG": "True",  # no `collectstatic` before the tests
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.part.start(self.registry)
        end = time.monotonic() + 300
        while not self.part.ready(self.part):
            assert not self.part.died, self.part.obituary()
            assert time.monotonic() < end, self.part.log.read_text()[-3000:]
            time.sleep(0.1)

    def kill(self) -> None:
        """As the kernel does it when memory runs out: gunicorn and all its workers, at once."""
        assert self.part.guarded is not None
        os.killpg(self.part.guarded.pgid, signal.SIGKILL)
        self.part.guarded.stop()

    def stop(self) -> None:
        if self.part.guarded is not None:
            self.part.guarded.stop()


@pytest.fixture
def web(transactional_db, tmp_path):
    server = Web(tmp_path)
    yield server
    server.stop()
    # What it left behind would keep the test's tables from being emptied.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def token(team, user):
    return tokens.make(team, user, name="CI", scopes=["runs:read", "runs:write"])


def check_whole(folder, number: int) -> None:
    """So many uploads, each with its one run, and nothing of any other."""
    assert Upload.objects.filter(state="saved").count() == number == Upload.objects.count()
    assert Run.objects.count() == number == MeasurementSet.objects.count()
    assert UploadKey.objects.count() == number == UploadKey.objects.values("upload").distinct().count()
    assert Run.objects.values("upload").distinct().count() == number
    whole = (
        Finding.objects.values("measurement_set").distinct().count(),
        Series.objects.values("run").distinct().count(),
    )
    assert whole == (number, number)
    artifacts = settings.STORAGES["artifacts"]["OPTIONS"]["location"]
    assert artifacts == folder / "artifacts"
    for artifact in Artifact.objects.order_by("?")[:200]:
        with opened(artifact.sha256) as content:
            assert len(content.read()) == artifact.size


@pytest.fixture
def own_storages(settings, tmp_path):
    from django.core.files.storage import storages

    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": folder}
    storages._storages.pop("artifacts", None)
    return tmp_path


@pytest.mark.parametrize("number", [12, pytest.param(100, marks=pytest.mark.long)])
def test_two_requests_with_one_key_at_the_same_time_make_one_run(web, token, number):
    """Pairs of them; whoever comes second hears that it is under way, or the answer to the first."""
    bodies = {n: build_body(typical(n), n) for n in range(number)}
    found = []

    def both(delay: float) -> None:
        time.sleep(delay)
        found.append(send_all(web.url, token, range(number), bodies.__getitem__, connections=4, prefix="pair"))

    pair = [threading.Thread(target=both, args=(0.0,)) for _ in range(2)]
    for one in pair:
        one.start()
    for one in pair:
        one.join()
    assert [one.failed for one in found] == [[], []]
    assert sum(one.stored for one in found) == number
    assert sum(one.replayed for one in found) == number
    assert Run.objects.count() == number == UploadKey.objects.count() == Upload.objects.count()


def upload_while_killing(web, token, number: int, kills: int, seed: int, longest_s: float = 2.5):
    """Uploads that are repeated until they are answered, and a server that is killed so often meanwhile.

    It lives for at most `longest_s`. While much else runs it starts for longer than that, and one upload may meet every
    kill: the client is patient enough to see them all.
    """
    dice, done = random.Random(seed), threading.Event()
    found = []

    def upload() -> None:
        make = lambda n: build_body(typical(seed * number + n), n)  # noqa: E731
        prefix = f"kill-{seed}"
        found.append(send_all(web.url, token, range(number), make, connections=6, prefix=prefix, patience_s=600))
        done.set()

    thread = threading.Thread(target=upload)
    thread.start()
    for _ in range(kills):
        if done.wait(dice.uniform(0.3, longest_s)):
            break
        web.kill()
        web.start()
    thread.join()
    return found[0]


def test_a_server_killed_in_the_middle_loses_nothing(web, token, own_storages):
    sent = upload_while_killing(web, token, number=30, kills=1, seed=1)
    assert sent.failed == []
    assert sent.answered == 30
    check_whole(own_storages, 30)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_uploads_survive_a_server_that_is_killed(web, token, own_storages):
    sent = upload_while_killing(web, token, number=10_000, kills=20, seed=2, longest_s=20)
    assert sent.failed == []
    assert sent.answered == 10_000
    assert sent.repeats
    check_whole(own_storages, 10_000)
