"""Slow and silent clients without an account do not delay the pages of others.

Pages are answered while the connections of the attack hang, so they wait for none of them: a thread that waits for such
a connection is not free before the attack ends. The delay is that beyond the slowest page before and after the attack,
which a busy machine delays too. Measured delays: docs/evidence/deployment.md.
"""

import contextlib
import http.client
import random
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse

from benchsite.accounts import tokens
from benchsite.core import buffering_worker
from benchsite.local.components import WEB_THREADS
from benchsite.tests.test_requests_counted_by_all_workers import Web
from runs.results import artifacts
from runs.tests.factories import make_run, make_sweep, make_team, make_user
from workers.generator import enrolment

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
CLIENTS = 48
PAGES_AT_ONCE = 48
MIN_HANGING = 44  # nearly three for each thread
MAX_DELAY_S = 1.0
# Django reads the body of a form whose request has the cookie.
FORM = (
    f"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nCookie: {settings.CSRF_COOKIE_NAME}={'a' * 32}\r\n"
    "Content-Type: application/x-www-form-urlencoded\r\n"
).encode()
ENROLMENT = b"POST /generator-api/v1/enrol HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
FILE = FORM.replace(b"/sign-in/", b"/import/")
# The largest file that everybody may fetch: more than the buffers of both ends hold.
STATIC = Path(settings.BASE_DIR, "static")
SCRIPT = max(STATIC.rglob("*.js"), key=lambda path: path.stat().st_size).relative_to(STATIC)
ATTACKS = {
    "silence": b"",
    "slow head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "slow body": FORM + b"Content-Length: 20000\r\n\r\nlogin=",
    "padded length": FORM + b"Content-Length: " + b"0" * 30 + b"20000\r\n\r\nlogin=",
    "slow large body": FORM + b"Content-Length: 2000000\r\n\r\nlogin=",
    "slow enrolment": ENROLMENT + b"Content-Length: 2000000\r\n\r\n{",
    "enrolment awaits continue": ENROLMENT + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n",
    "slow file": FILE + b"Content-Length: 900000000\r\n\r\nfile=",
    "slow chunks": FORM + b"Transfer-Encoding: chunked\r\n\r\n5\r\nlogin\r\n",
    "awaits continue": FORM + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n",
    "second request": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: ",
    "unclosed": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "blank lines": b"\r\n\r\n",
    "unread answer": f"GET /static/{SCRIPT} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
}
# Refused by their heads: nobody has signed in. Who sends chunks has sent no body, as Django sees it.
REFUSED = {
    "slow large body", "slow enrolment", "enrolment awaits continue", "slow file", "slow chunks", "awaits continue",
}  # fmt: skip
ANSWERED = {"unclosed", "unread answer"}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    server = Web(tmp_path_factory.mktemp("web"))
    server.start()
    yield server
    server.part.guarded.stop()


@contextlib.contextmanager
def attack(port: int, start: bytes):
    """48 connections that send `start` and then a byte every 0.2 s, except for silence; they read nothing."""
    sockets = [socket.socket() for _ in range(CLIENTS)]
    for client in sockets:
        # As of a client in another network, to which the kernel keeps less ready than to one on the same host.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
    ended = threading.Event()

    def trickle() -> None:
        while start and not ended.wait(0.2):
            for client in sockets:
                with contextlib.suppress(OSError):
                    client.send(b"a")

    for client in sockets:
        client.sendall(start)
    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield sockets
    finally:
        ended.set()
        thread.join()
        for client in sockets:
            client.close()


def is_hanging(client: socket.socket) -> bool:
    """Whether the server has neither answered nor closed the connection; "100 Continue" is no answer."""
    try:
        return client.recv(100, socket.MSG_PEEK | socket.MSG_DONTWAIT).startswith(b"HTTP/1.1 100")
    except BlockingIOError:
        return True
    except OSError:
        return False


def page_s(web: Web) -> float:
    """The seconds until a page is there."""
    start = time.monotonic()
    assert "Sign in" in web.get("/sign-in/")
    return time.monotonic() - start


@contextlib.contextmanager
def delays(web: Web) -> Iterator[list[float]]:
    """A list for the seconds of pages during an attack, which delays half of them by at most a second."""
    usual = [page_s(web) for _ in range(4)]
    seconds: list[float] = []
    yield seconds
    usual += [page_s(web) for _ in range(4)]
    assert statistics.median(seconds) - max(usual) < MAX_DELAY_S


def test_health_waits_for_no_page(web):
    def get_status(path: str) -> int:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)) as client:
            client.request("GET", path)
            with client.getresponse() as answer:
                return answer.status

    team = make_team()
    with ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            # Every thread of the web processes waits for this table.
            cursor.execute(f"LOCK TABLE {type(team)._meta.db_table} IN ACCESS EXCLUSIVE MODE")
            pages = [pool.submit(get_status, f"/public/{team.slug}/") for _ in range(PAGES_AT_ONCE)]
            time.sleep(1)

            statuses = [get_status("/healthz") for _ in range(20)]

            assert not any(page.done() for page in pages)
        assert {page.result() for page in pages} == {404}  # The team has published nothing.
    assert set(statuses) == {200}


@pytest.mark.parametrize("name", ATTACKS)
def test_slow_clients_delay_no_page(web, name):
    with delays(web) as seconds, attack(web.port, ATTACKS[name]) as clients:
        time.sleep(0.3)
        if name == "second request":  # The first one is answered.
            for client in clients:
                with contextlib.closing(http.client.HTTPResponse(client)) as response:
                    response.begin()
                    assert response.status == 200 and response.read()
        seconds += [page_s(web) for _ in range(8)]
        if name not in ANSWERED | REFUSED:
            # On a busy machine a kept connection may be closed before its next byte has come.
            assert sum(map(is_hanging, clients)) >= MIN_HANGING


@contextlib.contextmanager
def repeated_attack(port: int, start: bytes) -> Iterator[None]:
    """24 connections, each of which begins again when it is answered."""
    ended = threading.Event()

    def hang() -> None:
        while not ended.wait(0.2):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(start)
                while not ended.is_set() and is_hanging(client):
                    client.sendall(b"a")
                    ended.wait(0.2)

    with ThreadPoolExecutor(24) as pool:
        for _ in range(24):
            pool.submit(hang)
        try:
            yield
        finally:
            ended.set()


def send_large_body(port: int, path: str, bearer: str) -> tuple[int, float]:
    """Status and seconds of one that a thread reads while it arrives, and that is refused for its content."""
    start = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
        connection.request("POST", path, b'{"capacities": {}, "error": ""}' + b" " * 100_000, headers)
        return connection.getresponse().status, time.monotonic() - start


def send_large_bodies(port: int, generator: str, token: str) -> list[tuple[int, float]]:
    return [
        send_large_body(port, "/generator-api/v1/calibration", generator),
        send_large_body(port, "/api/v1/runs", token),
    ]


@pytest.fixture
def bearers():
    """The credentials of a load generator and of a pipeline."""
    team = make_team()
    token = tokens.make(team, make_user(team=team), name="pipeline", scopes=["runs:write"])
    yield enrolment.make("lab-1"), token
    enrolment.revoke("lab-1", None)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_anonymous_bodies_delay_no_upload(web, bearers, name):
    usual = send_large_bodies(web.port, *bearers)

    with repeated_attack(web.port, ATTACKS[name]):
        time.sleep(0.3)
        answers = [send_large_bodies(web.port, *bearers) for _ in range(4)]

    statuses = [status for status, _ in usual]
    assert statuses[0] == 409 and statuses[1] in (400, 415, 422)
    assert [[status for status, _ in each] for each in answers] == [statuses] * 4
    delays_s = [seconds for each in answers for _, seconds in each]
    assert statistics.median(delays_s) - max(seconds for _, seconds in usual) < MAX_DELAY_S


def test_uploads_of_members_delay_no_generator(web, bearers):
    """Whatever bodies the pipelines of a team send how slowly."""
    generator, token = bearers
    head = f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    upload = b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2000000\r\n\r\n--x\r\n"

    with delays(web) as seconds, attack(web.port, head.encode() + upload):
        time.sleep(0.3)
        status, generator_s = send_large_body(web.port, "/generator-api/v1/calibration", generator)
        seconds += [page_s(web) for _ in range(8)]

    assert status == 409 and generator_s < 5


def test_answers_a_request_that_arrives_byte_by_byte(web):
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):  # the second one on the kept connection
            for byte in b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n12345678":
                client.send(bytes([byte]))
                time.sleep(0.001)
            client.send(b"9")
            response = http.client.HTTPResponse(client)
            response.begin()
            response.read()
            assert response.status < 500


def test_sends_an_answer_to_a_client_that_reads_slowly(web):
    """All of it, then the next one on the same connection."""
    content = (STATIC / SCRIPT).read_bytes()
    asking = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    asking.connect()
    asking.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
    for _ in range(2):
        asking.request("GET", f"/static/{SCRIPT}")
        response = asking.getresponse()
        read = bytearray()
        while piece := response.read(100_000):
            read += piece
            time.sleep(0.002)
        assert bytes(read) == content
    asking.close()


@pytest.fixture
def download(client):
    """The request of a member for an artifact of 20 MiB, and its content."""
    run = make_run(make_sweep())
    content = random.Random(1).randbytes(20 * 2**20)
    artifact = artifacts.store(run, "hdr", "READ.hdr", content)
    client.force_login(make_user(team=run.team))
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.session.session_key}"
    head = f"GET {reverse('artifact', args=[artifact.pk])} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
    return head.encode(), content


def read_slowly(port: int, head: bytes, bytes_per_s: int) -> bytes:
    """The body of the answer to this request."""
    content = bytearray()
    with socket.socket() as client:
        client.settimeout(20)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        client.connect(("127.0.0.1", port))
        client.sendall(head)
        with contextlib.closing(http.client.HTTPResponse(client)) as response:
            response.begin()
            start = time.monotonic()
            while piece := response.read(2**16):
                content += piece
                time.sleep(max(0.0, start + len(content) / bytes_per_s - time.monotonic()))
    return bytes(content)


def test_unread_downloads_delay_no_page(web, download):
    """Of 48 that read nothing; a download that is slower than usual arrives meanwhile, whole."""
    head, content = download
    with delays(web) as seconds, attack(web.port, head), ThreadPoolExecutor(1) as pool:
        slow = pool.submit(read_slowly, web.port, head, 4 * 2**20)
        seconds += [page_s(web) for _ in range(8)]
        with attack(web.port, head):  # more of them, while it reads
            seconds += [page_s(web) for _ in range(8)]
            assert slow.result() == content


@pytest.mark.long
def test_downloads_and_uploads_leave_threads_for_pages(web, download):
    """Half of the threads read bodies that do not arrive, others wait for downloads that nobody reads."""
    head, _ = download
    with delays(web) as seconds, attack(web.port, head), attack(web.port, ATTACKS["slow large body"]):
        time.sleep(0.3)
        with attack(web.port, head):
            seconds += [page_s(web) for _ in range(8)]


@pytest.mark.long
def test_slow_downloads_alone_arrive(web, download):
    """As many as one process sends at a time, whichever process takes them."""
    head, content = download
    number = WEB_THREADS * 3 // 4
    with ThreadPoolExecutor(number) as pool:
        downloads = [pool.submit(read_slowly, web.port, head, 3 * 2**20) for _ in range(number)]
        assert [each.result() == content for each in downloads] == [True] * number


def test_refuses_a_head_beyond_the_limit(web):
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * buffering_worker.MAX_BUFFERED_BYTES)
        assert client.recv(100).startswith(b"HTTP/1.1 431")
