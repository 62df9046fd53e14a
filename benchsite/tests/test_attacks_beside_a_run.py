"""Hostile servers and anonymous clients, all at once and through nginx, while a run measures and a pipeline uploads.

The run takes no longer, uploads and `/healthz` are answered, and the matrix on the hostile server fails alone.
"""

import contextlib
import http.client
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchsite.accounts import tokens
from benchsite.tests.live_site import LiveSite, site
from benchsite.tests.pipelines import ycsb_output
from benchsite.tests.test_external_clients import external_database, submitted
from benchsite.tests.test_hostile_servers_of_teams import request, sign_in
from benchsite.tests.test_nginx_example import documented_nginx
from benchsite.tests.test_slow_clients import ENROLMENT, repeated_attack
from runs.models.run import Status
from runs.tests.factories import make_team, make_user
from workers.tests.hostile_servers import REDIS, HostileServer

__all__ = ["site"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
    pytest.mark.needs("nginx"),
]
MEASURE_S = 60
TEAMS, FORMS_OF_TEAM = 5, 12
MAX_ANSWER_S = 1.0
MAX_CONDUCTOR_GROWTH_BYTES = 100 * 2**20
SLOW_ENROLMENT = ENROLMENT + b"Content-Length: 2000000\r\n\r\n{"


@pytest.fixture(autouse=True)
def loopback_is_allowed(monkeypatch):
    monkeypatch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")


@pytest.fixture
def port(site: LiveSite, tmp_path: Path) -> Iterator[int]:
    with documented_nginx(tmp_path, site.port) as port:
        yield port


def healthz_s(port: int) -> float:
    start = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
    return time.monotonic() - start


def upload_s(port: int, token: str, number: int) -> float:
    """Seconds of an upload of 100 KB."""
    output = ycsb_output(40_000, number).encode().ljust(100_000, b"\n")
    body = (
        b'--x\r\nContent-Disposition: form-data; name="manifest"\r\nContent-Type: application/json\r\n\r\n'
        b'{"database": "redis", "mode": "always", "threads": 16}\r\n'
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="client-1.txt"\r\n\r\n'
        + output
        + b"\r\n--x--\r\n"
    )
    headers = {
        "Authorization": f"Bearer {token}",
        "Idempotency-Key": f"upload-{number}",
        "Content-Type": "multipart/form-data; boundary=x",
    }
    start = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", "/api/v1/runs", body, headers)
        response = connection.getresponse()
        assert response.status == 201, response.read()
    return time.monotonic() - start


def repeat_until(ended: threading.Event, act: Callable[[], float], pause_s: float) -> list[float]:
    """The seconds of each act."""
    seconds = []
    while not ended.wait(pause_s):
        try:
            seconds.append(act())
        except TimeoutError:
            print("TIMEOUT", act, time.monotonic())
            seconds.append(30)
    return seconds


def test_attacks_disturb_no_run_and_no_upload(site, port):
    team = make_team()
    user = make_user(team=team, role="admin")
    token = tokens.make(team, user, name="pipeline", scopes=["runs:write"])
    sessions = [sign_in() for _ in range(TEAMS)]
    web, ended, numbers = SimpleNamespace(port=port), threading.Event(), iter(range(10_000))
    conductor = psutil.Process(site.pid("conductor"))
    measured = site.submit(("redis", "off"), rungs=[4], measure_s=MEASURE_S)
    run = measured.runs.get(phase="measure")
    site.until_measured(run)
    before = conductor.memory_info().rss

    with (
        HostileServer(REDIS["drip"]) as dripping,
        HostileServer(REDIS["huge"]) as huge,
        repeated_attack(port, SLOW_ENROLMENT),
        repeated_attack(site.port, SLOW_ENROLMENT),
        ThreadPoolExecutor(TEAMS * FORMS_OF_TEAM + 2) as pool,
    ):
        pages = pool.submit(repeat_until, ended, lambda: healthz_s(port), 0.1)
        uploads = pool.submit(repeat_until, ended, lambda: upload_s(port, token, next(numbers)), 2.0)
        hostile = submitted(external_database(team, huge.port, "redis"), "off", user, [2])
        for number in range(TEAMS * FORMS_OF_TEAM):
            server = (dripping, huge)[number % 2]
            fields = {"system": "redis", "address": f"127.0.0.1:{server.port}", "properties": "", "name": f"R {number}"}
            pool.submit(request, web, "POST", "/own-server/", sessions[number % TEAMS], fields)
        site.until_ended(measured, 150)
        failed = site.until_ended(hostile, 120)
        ended.set()

    run.refresh_from_db()
    assert run.status == Status.SUCCEEDED and measured.runs.filter(is_retry=True).count() == 0
    assert (run.finished_at - run.started_at).total_seconds() < MEASURE_S + 30
    assert {run.status for run in failed} <= {Status.FAILED, Status.CANCELLED}
    assert site.pid("conductor") == conductor.pid and conductor.is_running()
    assert conductor.memory_info().rss - before < MAX_CONDUCTOR_GROWTH_BYTES
    assert len(pages.result()) > 100 and len(uploads.result()) > 10
    print(
        f"healthz: median {statistics.median(pages.result()):.3f} s, most {max(pages.result()):.3f} s of {len(pages.result())}; "
        f"uploads: median {statistics.median(uploads.result()):.2f} s, most {max(uploads.result()):.2f} s of {len(uploads.result())}"
    )
    assert statistics.median(pages.result()) < MAX_ANSWER_S and statistics.median(uploads.result()) < 5 * MAX_ANSWER_S
