"""One POST to an address that was checked: to exactly that address, within a deadline, no redirect, no answer read.

The name is not resolved again, so it cannot point elsewhere meanwhile; it still stands in the Host header, and a
certificate must be valid for it.
"""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from benchsite.core.formatting import exact

DEADLINE_S: Final = 5.0
MAX_READ: Final = 1024  # of the answer's body; it is thrown away


class PostFailed(Exception):
    """It did not arrive. The message says why in the words a page shows; `status` is the answer's, if there was one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook's URL in parts."""

    host: str
    port: int
    path: str
    encrypted: bool


PORTS: Final = {"https": 443, "http": 80}


def parse_target(url: str) -> Target:
    """The parts of an http(s) URL. Raises ValueError, with a sentence that says what to write instead."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("Write the URL in plain ASCII, a name with other letters as xn--…")
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("Write a URL such as https://hooks.example.org/benchsite.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("Leave user and password out of the URL: the signature tells who is speaking.")
    if parts.fragment:
        raise ValueError("Leave out what follows #: it would not be sent.")
    try:
        port = parts.port
    except ValueError:
        raise ValueError("The port after the host is a number between 1 and 65535.") from None
    encrypted = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if port is None:
        port = PORTS[parts.scheme]
    return Target(parts.hostname, port, path, encrypted)


def post(
    target: Target, address: str, body: bytes, headers: Mapping[str, str], *, deadline_s: float = DEADLINE_S
) -> int:
    """Send the body to the target at this IP address; the status of its answer, 2xx. Raises PostFailed."""
    made = (_Encrypted if target.encrypted else _Plain)(target, address, deadline_s)
    # The socket's own timeout starts anew with every byte that drips in; the deadline does not.
    clock = threading.Timer(deadline_s, made.cut_off)
    clock.daemon = True
    clock.start()
    try:
        made.request("POST", target.path, body=body, headers={"Connection": "close", **headers})
        answer = made.getresponse()
        with contextlib.suppress(OSError, http.client.HTTPException):
            answer.read(MAX_READ)
        return _judged(answer.status)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if made.was_cut_off or isinstance(error, TimeoutError):
            raise PostFailed(f"No answer within {exact(deadline_s)} s.") from None
        raise PostFailed(_said(error)) from None
    finally:
        clock.cancel()
        made.close()


def _judged(status: int) -> int:
    if 200 <= status < 300:
        return status
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "an unknown status"
    follow = ""
    if 300 <= status < 400:
        follow = "; redirects are not followed"
    raise PostFailed(f"It answered {status} {phrase}{follow}.", status)


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"Its certificate is not accepted: {error.verify_message}."
    if isinstance(error, ConnectionRefusedError):
        return "Nothing listens there: the connection was refused."
    if isinstance(error, ssl.SSLError | OSError):
        return f"The connection failed: {error.strerror or error}."[:300]
    return "What it answered is no HTTP."


class _Plain(http.client.HTTPConnection):
    """A connection to the checked address, which can be cut off from another thread."""

    def __init__(self, target: Target, address: str, timeout: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self.address = address
        self.was_cut_off = False

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.port), self.timeout)
        if self.was_cut_off:
            raise TimeoutError

    def cut_off(self) -> None:
        self.was_cut_off = True
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


class _Encrypted(_Plain):
    """The same within TLS, for the name that was asked for."""

    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        # The handshake comes after, so that it too can be cut off.
        wrapped = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
        self.sock = wrapped
        wrapped.do_handshake()
