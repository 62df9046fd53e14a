"""Teams that have the site check hostile servers hold up nobody's page, and cost the site little memory."""

import contextlib
import http.client
import re
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import psutil
import pytest
from django.conf import settings
from django.test import Client

from benchsite.tests.hostile_servers import REDIS, HostileServer
from benchsite.tests.test_requests_counted_by_all_workers import Web
from benchsite.tests.test_slow_clients import ATTACKS, attack, delays, page_s as sign_in_page_s
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
TEAMS, FORMS_OF_TEAM = 5, 5  # more forms than the site has threads
CHECKS_OF_TEAM, MAX_FORMS = 2, 60
MAX_USUAL_PAGE_S, MAX_PAGE_S = 1.0, 15.0  # half of them, and all of them on a busy machine
MAX_GROWTH_BYTES = 50 * 2**20
CSRF_TOKEN = "a" * 32
CHECK = re.compile(r'hx-get="([^"]*/checks/[^"]*)"')


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    server = Web(tmp_path_factory.mktemp("web"))
    server.part.env = {**server.part.env, "BENCHSITE_EXTERNAL_NETWORKS": "127.0.0.0/8"}
    server.start()
    yield server
    server.part.guarded.stop()


def request(web: Web, method: str, path: str, session: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
    """Status and text of the answer to somebody who has signed in."""
    body = urlencode({**(fields or {}), "csrfmiddlewaretoken": CSRF_TOKEN})
    cookies = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={CSRF_TOKEN}"
    headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded", "HX-Request": "true"}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)) as connection:
        connection.request(method, path, body if fields else None, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


def sign_in() -> str:
    """The session of an operator who is an admin of a team of their own."""
    client = Client()
    client.force_login(make_user(team=make_team(), role="admin", is_staff=True))
    assert client.session.session_key
    return client.session.session_key


def page_s(web: Web) -> float:
    start = time.monotonic()
    web.get("/healthz")
    return time.monotonic() - start


def resident_bytes(web: Web) -> int:
    return sum(psutil.Process(pid).memory_info().rss for pid in web.workers())


@pytest.mark.parametrize("behaviour", ["drip", "huge"])
def test_checks_of_hostile_servers_delay_no_page(web, behaviour):
    sessions = [sign_in() for _ in range(TEAMS)]
    before, pages_s, ended = resident_bytes(web), [], threading.Event()
    page_s(web)  # the first request of a process loads what others find loaded

    def watch() -> None:
        while not ended.wait(0.1):
            pages_s.append(page_s(web))

    with HostileServer(REDIS[behaviour]) as server, ThreadPoolExecutor(TEAMS * FORMS_OF_TEAM + 1) as pool:
        watching = pool.submit(watch)
        fields = {"system": "redis", "address": f"127.0.0.1:{server.port}", "properties": ""}
        forms = [
            (session, pool.submit(request, web, "POST", "/own-server/", session, {**fields, "name": f"Redis {number}"}))
            for session in sessions
            for number in range(FORMS_OF_TEAM)
        ]
        answers = [(session, *form.result()) for session, form in forms]
        checks = [(session, CHECK.search(text)[1]) for session, status, text in answers if status == 202]
        panels = [await_panel(web, session, address) for session, address in checks]
        ended.set()
        watching.result()

    assert {status for _, status, _ in answers} == {202, 422} and len(checks) >= TEAMS
    assert all("failed" in panel for panel in panels)
    assert len(pages_s) > 10 and statistics.median(pages_s) < MAX_USUAL_PAGE_S and max(pages_s) < MAX_PAGE_S
    assert resident_bytes(web) - before < MAX_GROWTH_BYTES


@pytest.mark.parametrize("name", [pytest.param("slow head", marks=pytest.mark.long), "slow body"])
def test_slow_clients_delay_no_page_beside_ten_checks(web, name):
    sessions = [sign_in() for _ in range(TEAMS)] * CHECKS_OF_TEAM
    checks: list[tuple[str, str]] = []

    with HostileServer(REDIS["drip"]) as server, delays(web) as seconds:
        fields = {"system": "redis", "address": f"127.0.0.1:{server.port}", "properties": ""}
        for number in range(MAX_FORMS):
            # Either process may get the form, and refuse it where five checks run there.
            session = sessions[len(checks) % len(sessions)]
            _, text = request(web, "POST", "/own-server/", session, {**fields, "name": f"Redis {number}"})
            checks += [(session, address) for address in CHECK.findall(text)]
            if len(checks) == len(sessions):
                break
        with attack(web.port, ATTACKS[name]):
            seconds += [sign_in_page_s(web) for _ in range(8)]
        running = sum(bool(CHECK.search(request(web, "GET", address, session)[1])) for session, address in checks)
        for session, address in checks:
            await_panel(web, session, address)

    assert len(checks) == len(sessions) and running > 0


def await_panel(web: Web, session: str, address: str) -> str:
    """The panel of a check, once it has ended."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        _, text = request(web, "GET", address, session)
        if not CHECK.search(text):
            return text
        time.sleep(0.2)
    raise AssertionError("The check does not end.")
