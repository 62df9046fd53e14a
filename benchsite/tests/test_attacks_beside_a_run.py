"""Hostile servers and anonymous clients, all at once and through nginx, while a run measures and a pipeline uploads.

The run takes no longer, uploads and `/healthz` are answered, and the matrix on the hostile server fails alone.
"""

import json
import statistics
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import requests

from benchsite.accounts import tokens
from benchsite.tests.hostile_servers import REDIS, HostileServer
from benchsite.tests.live_site import LiveSite, site
from benchsite.tests.pipelines import ycsb_output
from benchsite.tests.test_external_clients import external_database, submitted
from benchsite.tests.test_hostile_servers_of_teams import request, sign_in
from benchsite.tests.test_nginx_example import documented_nginx
from benchsite.tests.test_slow_clients import ENROLMENT, repeated_attack
from runs.models.run import Status
from runs.tests.factories import make_team, make_user

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
MAX_HEALTH_S, MAX_UPLOAD_S = 1.0, 5.0  # every probe, and half of the uploads
MAX_CONDUCTOR_GROWTH_BYTES = 100 * 2**20
SLOW_ENROLMENT = ENROLMENT + b"Content-Length: 2000000\r\n\r\n{"


@pytest.fixture(autouse=True)
def site_serves_forms_and_reaches_loopback(monkeypatch):
    monkeypatch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("BENCHSITE_DEBUG", "True")  # no `collectstatic` before the tests


@pytest.fixture
def port(site: LiveSite, tmp_path: Path) -> Iterator[int]:
    with documented_nginx(tmp_path, site.port) as port:
        yield port


def get_health(port: int) -> float:
    """Its seconds."""
    answer = requests.get(f"http://127.0.0.1:{port}/healthz", timeout=30)
    assert answer.status_code == 200
    return answer.elapsed.total_seconds()


def upload(port: int, token: str, number: int) -> float:
    """A file of 100 KB; its seconds."""
    files: dict[str, Any] = {
        "manifest": (
            None,
            json.dumps({"system": "redis", "workload": "YCSB A", "mode": "always", "threads": 16}),
            "application/json",
        ),
        "files": ("client-1.txt", ycsb_output(40_000, number).encode().ljust(100_000, b"\n")),
    }
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": f"upload-{number}"}
    answer = requests.post(f"http://127.0.0.1:{port}/api/v1/runs", files=files, headers=headers, timeout=30)
    assert answer.status_code == 201, answer.text
    return answer.elapsed.total_seconds()


def repeat_until(ended: threading.Event, act: Callable[[], float], pause_s: float) -> list[float]:
    """The seconds of each."""
    seconds = []
    while not ended.wait(pause_s):
        seconds.append(act())
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
        pages = pool.submit(repeat_until, ended, lambda: get_health(port), 0.1)
        uploads = pool.submit(repeat_until, ended, lambda: upload(port, token, next(numbers)), 2.0)
        hostile = submitted(external_database(team, huge.port, "redis"), "off", user, [2])
        forms = []
        for number in range(TEAMS * FORMS_OF_TEAM):
            server = (dripping, huge)[number % 2]
            fields = {"system": "redis", "address": f"127.0.0.1:{server.port}", "properties": ""}
            named = {**fields, "name": f"R {number}"}
            forms.append(pool.submit(request, web, "POST", "/own-server/", sessions[number % TEAMS], named))
        site.until_ended(measured, 150)
        failed = site.until_ended(hostile, 120)
        ended.set()

    assert {form.result()[0] for form in forms} == {202, 422}
    run.refresh_from_db()
    assert run.status == Status.SUCCEEDED and measured.runs.filter(is_retry=True).count() == 0
    assert (run.finished_at - run.started_at).total_seconds() < MEASURE_S + 30
    assert {run.status for run in failed} <= {Status.FAILED, Status.CANCELLED}
    assert site.pid("conductor") == conductor.pid and conductor.is_running()
    assert conductor.memory_info().rss - before < MAX_CONDUCTOR_GROWTH_BYTES
    pages_s, uploads_s = pages.result(), uploads.result()
    assert len(pages_s) > 100 and max(pages_s) < MAX_HEALTH_S
    assert len(uploads_s) > 10 and statistics.median(uploads_s) < MAX_UPLOAD_S
