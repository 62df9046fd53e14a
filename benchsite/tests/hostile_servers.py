"""Servers on loopback that do harm to whoever connects: silent, slow, endless, huge or malformed answers."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

Behaviour = Callable[[socket.socket, threading.Event], None]
BLOCK: Final = 65536
TEXT: Final = b"<script>alert(1)</script>\x1b[31m\x00\xe2\x80\xae" + b"x" * 1000


class HostileServer:
    """Listens on a port of 127.0.0.1 until the end of the context; `addresses` are those of its clients."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour, self._ended = behaviour, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._clients: list[socket.socket] = []

    def __enter__(self) -> "HostileServer":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        for client in self._clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._clients.append(client)
            thread = threading.Thread(target=self._serve, args=[client])
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self._behaviour(client, self._ended)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    with HostileServer(silent) as server:
        yield server.port


def silent(client: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def drip(client: socket.socket, ended: threading.Event, begin: bytes) -> None:
    """A byte a second of an answer that needs two billion."""
    client.recv(BLOCK)
    client.sendall(begin)
    while not ended.wait(1):
        client.sendall(b"1")


def repeat(client: socket.socket, ended: threading.Event, begin: bytes, piece: bytes) -> None:
    """As fast as the client reads."""
    client.recv(BLOCK)
    client.sendall(begin)
    block = piece * (BLOCK // len(piece))
    while not ended.is_set():
        client.sendall(block)


def answer_each(client: socket.socket, ended: threading.Event, answer: bytes) -> None:
    while client.recv(BLOCK):
        client.sendall(answer)


def after_ssl_request(client: socket.socket, ended: threading.Event, behaviour: Behaviour) -> None:
    """PostgreSQL's protocol: no TLS, then the start of the session, which `behaviour` answers."""
    client.recv(8)
    client.sendall(b"N")
    behaviour(client, ended)


def message(kind: bytes, body: bytes, length: int | None = None) -> bytes:
    """A message of PostgreSQL's protocol, which announces `length` bytes."""
    return kind + struct.pack("!i", 4 + len(body) if length is None else length) + body


COLUMN: Final = struct.pack("!h", 1) + b"name\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
LOGGED_IN: Final = message(b"R", struct.pack("!i", 0)) + message(b"Z", b"I")
REDIS: Final[dict[str, Behaviour]] = {
    "silent": silent,
    "drip": partial(drip, begin=b"$2000000000\r\n"),
    "endless": partial(repeat, begin=b"+", piece=b"a"),
    "endless items": partial(repeat, begin=b"*2000000000\r\n", piece=b":1\r\n"),
    "huge": partial(repeat, begin=b"$2000000000\r\n", piece=b"a"),
    "deep": partial(repeat, begin=b"", piece=b"*1\r\n"),
    "malformed": partial(answer_each, answer=b"$3\r\nabc\r\n"),
    "texts": partial(answer_each, answer=b"-ERR " + TEXT + b"\r\n"),
    "moved": partial(answer_each, answer=b"-MOVED 1 169.254.169.254:80\r\n"),
}
STARTED_SESSIONS: Final[dict[str, Behaviour]] = {
    "silent": silent,
    "drip": partial(drip, begin=message(b"E", b"", length=20_000)),
    "endless": partial(repeat, begin=b"", piece=message(b"N", b"SNOTICE\0\0")),
    "endless items": partial(
        repeat,
        begin=LOGGED_IN + message(b"T", COLUMN),
        piece=message(b"D", struct.pack("!hi", 1, 4) + b"aaaa"),
    ),
    "huge": partial(repeat, begin=LOGGED_IN + message(b"D", b"", length=2_000_000_000), piece=b"a"),
    "deep": partial(repeat, begin=b"", piece=message(b"S", b"a\0b\0")),
    "malformed": partial(answer_each, answer=message(b"R", struct.pack("!i", 99))),
    "texts": partial(answer_each, answer=message(b"E", b"SFATAL\0C28000\0M" + TEXT.replace(b"\0", b"") + b"\0\0")),
}
POSTGRESQL: Final[dict[str, Behaviour]] = {
    name: partial(after_ssl_request, behaviour=behaviour) for name, behaviour in STARTED_SESSIONS.items()
}
