"""Who receives webhooks and e-mail in tests: real servers on this machine, which answer as a test wants."""

import contextlib
import re
import socketserver
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[3] / "docs" / "notifications.md"


@dataclass
class Received:
    """One POST as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """An HTTP server and what it got; `status`, `delay_s` and `headers` say how it answers.

    Whoever is kept waiting by `delay_s` is answered at once when `let_go` is set.
    """

    port: int = 0
    status: int = 200
    delay_s: float = 0.0
    drips: bool = False  # its head
    drips_body: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"thanks"
    tls: ssl.SSLContext | None = None
    got: list[Received] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.receiver.got.append(Received(self.path, dict(self.headers), body))
        self.receiver.let_go.wait(self.receiver.delay_s)
        with contextlib.suppress(OSError):
            self._answer()

    do_GET = do_POST

    def _answer(self) -> None:
        if self.receiver.drips:
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 600:
                self.wfile.write(bytes([byte]))
                if self.receiver.let_go.wait(0.1):
                    break
            return
        self.send_response(self.receiver.status)
        for name, value in self.receiver.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.receiver.drips_body:
            while not self.receiver.let_go.wait(0.1):
                self.wfile.write(b"x")
            return
        self.wfile.write(self.receiver.body)

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # The end of the block waits for them: none outlives its test.

    def handle_error(self, *args: Any) -> None:
        """Who hangs up early is no news."""


@contextlib.contextmanager
def receiving(**how: Any) -> Iterator[Receiver]:
    """A receiver that listens until the end of the block, which lets everybody go whom it keeps waiting."""
    receiver = Receiver(**how)
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"receiver": receiver}))
    receiver.port = server.server_address[1]
    if receiver.tls is not None:
        server.socket = receiver.tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Smtp(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs that wants to be rid of a message."""

    timeout = 10  # seconds, for who says nothing more: the end of the block waits for this thread

    def handle(self) -> None:
        messages: list[bytes] = self.server.messages  # type: ignore[attr-defined]
        self.wfile.write(b"220 test ESMTP\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                messages.append(b"".join(line[1:] if line.startswith(b"..") else line for line in lines))
            if word == b"QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            self.wfile.write(b"250 well\r\n")


@contextlib.contextmanager
def mail_sink() -> Iterator[tuple[int, list[bytes]]]:
    """The port of an SMTP server, and the messages that it took."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Smtp)
    server.messages = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], server.messages  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def documented(language: str) -> str:
    """The code block of this language in the documentation."""
    match = re.search(rf"^```{language}\n(.*?)^```$", DOCS.read_text(), re.S | re.M)
    assert match is not None
    return match[1]
