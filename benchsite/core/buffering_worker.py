"""gunicorn's worker with threads, which wait neither for requests nor for clients that read their answers.

A request waits in the poller of the worker until its head and its body are in the receive buffer of the kernel. So slow
and silent clients occupy a file descriptor and no thread. Bodies too large for the buffer (uploads) are read by
threads while they arrive: a quarter of the threads is for load generators, another for everybody else. A body that its
view did not read ends its connection: a client without an account is refused by its head. What the send buffer of the
kernel does not take of an answer stays in memory, and the poller sends it. A larger answer (a download) is sent by a
thread. A quarter of the threads never waits for clients: beyond that, the slowest download ends. `/healthz` has a
thread of its own, so that a probe waits for no page.
"""

import bisect
import contextlib
import re
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from gunicorn.workers.gthread import ThreadWorker

MAX_BUFFERED_BYTES: Final = 32 * 2**10  # head and body; Linux's smallest receive buffer by default holds 64 KiB
REQUEST_TIMEOUT_S: Final = 30  # from the first look at a request to its last buffered byte
LINGER_S: Final = 2  # for the client to read the last answer of a connection
BODY_TIMEOUT_S: Final = 60  # of silence within a streamed body
DRAIN_TIMEOUT_S: Final = 0.005  # for the rest of a body that its view did not read
MAX_ANSWER_BYTES: Final = 8 * 2**20  # that wait for one client; a thread sends what is larger
MAX_UNSENT_BYTES: Final = 64 * 2**20  # of all clients of a process; beyond that the oldest connection is closed
ANSWER_TIMEOUT_S: Final = 120  # in which a client reads nothing of an answer that waits
_BLOCK_BYTES: Final = 2**18
_PEEK: Final = int(socket.MSG_PEEK | socket.MSG_DONTWAIT)

_DIGITS: Final = rb"content-length:[ \t]*+0*+(\d{0,9})[ \t]*+\r\n"
_LENGTH: Final = re.compile(rb"\r\n" + _DIGITS, re.IGNORECASE)
# Of a body that arrives while a thread reads it, as one does whose length is written in another way.
_STREAMED: Final = re.compile(
    rb"\r\n(?:transfer-encoding:|expect:|(?=content-length:)(?!" + _DIGITS + rb"))", re.IGNORECASE
)
_GENERATOR: Final = re.compile(rb"[A-Z]+ [^ ?]*/generator-api/")
_HEALTH: Final = re.compile(rb"(?:GET|HEAD) /healthz[ ?]")
_TOO_LARGE: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Arrival:
    """How much of a request must be there before a thread takes it, and whether the thread streams its body."""

    needed: int
    streamed: bool = False
    is_of_generator: bool = False
    is_of_health: bool = False


def measure(data: bytes) -> Arrival:
    """The bytes that a request needs, from those that have arrived."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    end = data.find(b"\r\n\r\n", start)
    if end < 0:
        return Arrival(len(data) + 1)
    head = data[start : end + 4]
    length = _LENGTH.search(head)
    needed = end + 4 + (int(length[1] or 0) if length else 0)
    if needed <= MAX_BUFFERED_BYTES and not _STREAMED.search(head):
        return Arrival(needed, is_of_health=bool(_HEALTH.match(head.lstrip())))
    return Arrival(end + 4, streamed=True, is_of_generator=bool(_GENERATOR.match(head.lstrip())))


class Streams:
    """The connections whose bodies threads read while they arrive, and those that wait for such a thread."""

    def __init__(self, limit: int) -> None:
        self.limit, self.reading, self.queued = limit, set[Any](), deque[Any]()


class Answer:
    """A socket that takes an answer without waiting for the client: the kernel keeps a part, `unsent` the rest.

    What is beyond MAX_ANSWER_BYTES waits for the client, as one of the `downloads`.
    """

    def __init__(self, sock: Any, downloads: "Downloads") -> None:
        self._sock, self._downloads, self.unsent = sock, downloads, bytearray()
        self._started, self._sent, self._has_head = time.monotonic(), 0, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    @property
    def rate(self) -> float:
        """Bytes per second that the kernel has taken so far."""
        return self._sent / max(time.monotonic() - self._started, 0.001)

    def sendall(self, data: bytes) -> None:
        """gunicorn's first call has the head, which goes with the first part of the body, or else with `b""`."""
        if not self._has_head:
            self._has_head = True
            self.unsent += data
            return

        waiting = len(self.unsent)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            sent = self._sock.sendmsg((self.unsent, data), (), socket.MSG_DONTWAIT)

        self._sent += sent
        del self.unsent[:sent]
        self.unsent += memoryview(data)[max(0, sent - waiting) :]
        if len(self.unsent) > MAX_ANSWER_BYTES:
            with self._downloads.waiting(self):
                while self.unsent:
                    self._sent += _send(self._sock, self.unsent, 0)

    def sendfile(self, file: Any, offset: int, count: int) -> None:
        file.seek(offset)
        while count > 0 and (block := file.read(min(count, _BLOCK_BYTES))):
            self.sendall(block)
            count -= len(block)


def _send(sock: Any, unsent: bytearray, flags: int = socket.MSG_DONTWAIT) -> int:
    """Send a block, of which the kernel takes what it can now: the number of bytes. Raises OSError."""
    sent = 0
    with contextlib.suppress(BlockingIOError):
        sent = sock.send(unsent[:_BLOCK_BYTES], flags)
        del unsent[:sent]
    return sent


class Downloads:
    """The large answers whose threads wait for their clients: at most `limit`, beyond that the slowest one ends."""

    def __init__(self) -> None:
        self._lock, self._answers, self._limit = threading.Lock(), set[Answer](), 1

    @contextlib.contextmanager
    def waiting(self, answer: Answer) -> Iterator[None]:
        with self._lock:
            self._answers.add(answer)
            self._end_slowest()
        try:
            yield
        finally:
            with self._lock:
                self._answers.discard(answer)

    def set_limit(self, limit: int) -> None:
        with self._lock:
            self._limit = limit
            self._end_slowest()

    def _end_slowest(self) -> None:
        while len(self._answers) > self._limit:
            slowest = min(self._answers, key=lambda answer: answer.rate)
            self._answers.remove(slowest)
            with contextlib.suppress(OSError):
                slowest.shutdown(socket.SHUT_RDWR)  # Its thread meets a closed connection.


class BufferingWorker(ThreadWorker):  # type: ignore[misc]
    """All connections, new and kept alive, come to a thread through `enqueue_req`, which the poller's thread calls."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        quarter = max(1, self.cfg.threads // 4)
        self.streams = {False: Streams(quarter), True: Streams(quarter)}  # True: of load generators
        self.downloads = Downloads()
        self.health_pool = ThreadPoolExecutor(1)  # It starts its thread after the fork, with the first request.
        self._limit_downloads()

    def enqueue_req(self, conn: Any) -> None:
        data = b""
        if conn.parser:
            data = conn.parser.unreader.buf.getvalue()
        try:
            arrived = conn.sock.recv(MAX_BUFFERED_BYTES, _PEEK)
        except BlockingIOError:
            arrived = None
        except OSError:
            arrived = b""  # The thread meets the same error and closes the connection.

        data, ended = data + (arrived or b""), arrived == b""
        arrival = measure(data)
        if len(data) < arrival.needed and not ended:
            if len(data) >= MAX_BUFFERED_BYTES:
                self._refuse(conn)
            else:
                self._wait(conn, arrival.needed - len(data) + len(arrived or b""))
            return

        if getattr(conn, "deadline", None):  # of a request that waited: the next one on this connection has its own
            conn.deadline = None
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

        conn.data_ready = True
        if arrival.is_of_health:
            answered = self.health_pool.submit(self.handle, conn)
            answered.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))
            return
        if not arrival.streamed:
            super().enqueue_req(conn)
            return

        streams = self.streams[arrival.is_of_generator]
        if len(streams.reading) < streams.limit:
            self._stream(conn, streams)
        else:
            streams.queued.append(conn)

    def _limit_downloads(self) -> None:
        """A quarter of the threads waits neither for bodies nor for clients that read downloads."""
        streaming = sum(len(streams.reading) for streams in self.streams.values())
        self.downloads.set_limit(max(1, self.cfg.threads * 3 // 4 - streaming))

    def finish_request(self, conn: Any, fs: Any) -> None:
        for streams in self.streams.values():
            streams.reading.discard(conn)
            if streams.queued and len(streams.reading) < streams.limit:
                self._stream(streams.queued.popleft(), streams)

        self._limit_downloads()
        if not getattr(conn, "unsent", b"") or conn.sock.fileno() < 0:
            self._end_answer(conn, fs)
            return

        self._poll_rest(conn, fs)
        waiting = [each for each in self.pending_conns if getattr(each, "unsent", b"")]
        while sum(len(each.unsent) for each in waiting) > MAX_UNSENT_BYTES:
            self._drop(waiting.pop(0))

    def handle_request(self, req: Any, conn: Any) -> Any:
        """In a thread: its answer goes as far as the kernel takes it, `finish_request` has the rest sent."""
        sock = conn.sock
        conn.sock = Answer(conn.sock, self.downloads)
        try:
            is_kept = super().handle_request(req, conn)
            conn.sock.sendall(b"")
            return is_kept
        except OSError:
            conn.sock.unsent.clear()
            raise
        finally:
            conn.unsent, conn.sock = conn.sock.unsent, sock

    def _send_rest(self, conn: Any, fs: Any, client: Any) -> None:
        try:
            _send(client, conn.unsent)
        except OSError:
            self._drop(conn)
            return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        if conn.unsent:
            self._poll_rest(conn, fs)
        else:
            self._end_answer(conn, fs)

    def _poll_rest(self, conn: Any, fs: Any) -> None:
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        self._poll(conn, deadline, partial(self._send_rest, conn, fs), selectors.EVENT_WRITE)

    def _end_answer(self, conn: Any, fs: Any) -> None:
        """The kernel has all of it: wait for the next request, or for the client to read the last answer."""
        if fs.cancelled() or fs.exception() or fs.result():
            super().finish_request(conn, fs)
        else:
            self._linger(conn)

    def _wait(self, conn: Any, readable_at: int) -> None:
        """Until that many bytes are in the receive buffer, or the connection ends, or the request is too late."""
        conn.sock.setblocking(False)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, readable_at)
        conn.deadline = getattr(conn, "deadline", None) or time.monotonic() + REQUEST_TIMEOUT_S
        self._poll(conn, conn.deadline, partial(self.on_pending_socket_readable, conn))

    def _linger(self, conn: Any) -> None:
        """Close once the client has read the answer: unread bytes in the buffer would reset the connection before.

        gunicorn waits for that in the poller's thread, 2 s for each client that keeps its side open.
        """
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.nr_conns -= 1
            conn.close()
            return
        self._poll(conn, time.monotonic() + LINGER_S, partial(self._drain, conn))

    def _drain(self, conn: Any, client: Any) -> None:
        try:
            if client.recv(MAX_BUFFERED_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(conn)

    def _drop(self, conn: Any) -> None:
        """Close a connection that is in the poller."""
        self.poller.unregister(conn.sock)
        self.pending_conns.remove(conn)
        self.nr_conns -= 1
        conn.close()

    def _poll(
        self, conn: Any, timeout: float, callback: Callable[[Any], None], event: int = selectors.EVENT_READ
    ) -> None:
        """Have the callback run when the socket is ready; `murder_pending` closes the connection at the timeout."""
        conn.timeout = timeout
        bisect.insort(self.pending_conns, conn, key=lambda pending: pending.timeout)
        self.poller.register(conn.sock, event, callback)

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """In a thread, which gunicorn has wait five seconds for the rest of a body that the view did not read."""
        return keepalive and bool(conn.parser.finish_body(deadline=time.monotonic() + DRAIN_TIMEOUT_S))

    def _stream(self, conn: Any, streams: Streams) -> None:
        streams.reading.add(conn)
        self._limit_downloads()
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", BODY_TIMEOUT_S, 0))
        super().enqueue_req(conn)

    def _refuse(self, conn: Any) -> None:
        self.nr_conns -= 1
        with contextlib.suppress(OSError):
            conn.sock.send(_TOO_LARGE, socket.MSG_DONTWAIT)
        conn.close()
