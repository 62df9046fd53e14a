"""Slow and silent clients without an account do not delay the pages of others.

No time is asserted: pages are answered while the connections of the attack hang, so they wait for none of them. A
thread that waits for such a connection is not free before the attack ends. Measured delays: docs/deployment.md.
"""

import contextlib
import http.client
import socket
import threading
import time

import pytest
from django.conf import settings

from benchsite import buffering_worker
from benchsite.components import WEB_THREADS, WEB_WORKERS
from benchsite.tests.test_requests_counted_by_all_workers import Web

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
CLIENTS = 48
# Threads for bodies that are read while they arrive: some are answered before their end.
STREAMS = WEB_WORKERS * WEB_THREADS // 2
# Django reads the body of a form whose request has the cookie.
FORM = (
    f"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nCookie: {settings.CSRF_COOKIE_NAME}={'a' * 32}\r\n"
    "Content-Type: application/x-www-form-urlencoded\r\n"
).encode()
ATTACKS = {
    "silence": b"",
    "slow head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "slow body": FORM + b"Content-Length: 20000\r\n\r\nlogin=",
    "slow large body": FORM + b"Content-Length: 2000000\r\n\r\nlogin=",
    "slow chunks": FORM + b"Transfer-Encoding: chunked\r\n\r\n5\r\nlogin\r\n",
    "awaits continue": FORM + b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n",
    "second request": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nX-Slow: ",
    "unclosed": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "blank lines": b"\r\n\r\n",
}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    server = Web(tmp_path_factory.mktemp("web"))
    server.start()
    yield server
    server.part.guarded.stop()


@contextlib.contextmanager
def attack(port: int, start: bytes):
    """48 connections that send `start` and then a byte every 0.2 s, except for silence."""
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
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


@pytest.mark.parametrize("name", ATTACKS)
def test_slow_clients_delay_no_page(web, name):
    with attack(web.port, ATTACKS[name]) as clients:
        time.sleep(0.3)
        if name == "second request":  # The first one is answered.
            for client in clients:
                with contextlib.closing(http.client.HTTPResponse(client)) as response:
                    response.begin()
                    assert response.status == 200 and response.read()
        for _ in range(8):
            assert "Sign in" in web.get("/sign-in/")
        if name != "unclosed":
            assert sum(map(is_hanging, clients)) >= CLIENTS - STREAMS


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


def test_refuses_a_head_beyond_the_limit(web):
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * buffering_worker.MAX_BUFFERED_BYTES)
        assert client.recv(100).startswith(b"HTTP/1.1 431")
