"""Slow and silent clients without an account do not delay the pages of others."""

import contextlib
import http.client
import socket
import threading
import time

import pytest

from benchsite import buffering_worker
from benchsite.tests.test_requests_counted_by_all_workers import Web

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
CLIENTS = 48
MAX_DELAY_S = 3  # a page takes 0.1 s, or 1 s beside other tests; clients that hold a thread delay it until they end
FORM = b"POST /accounts/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
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


@pytest.mark.parametrize("start", ATTACKS.values(), ids=ATTACKS)
def test_slow_clients_delay_no_page(web, start):
    with attack(web.port, start):
        time.sleep(0.3)
        for _ in range(8):
            begin = time.monotonic()
            assert web.get("/healthz")
            assert time.monotonic() - begin < MAX_DELAY_S


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
