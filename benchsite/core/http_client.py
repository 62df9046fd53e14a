"""One request to an address that was checked: to exactly that address, within a deadline, without redirects.

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

from benchsite.core.formatting import exact, grouped
from benchsite.core.messages import CERTIFICATE_REFUSED, CONNECTION_REFUSED, NO_HTTP

DEADLINE_S: Final = 5.0
MAX_READ: Final = 1024  # of the body of an answer that nobody asks for


class RequestFailed(Exception):
    """It did not arrive. The message says why in the words a page shows; `status` is the answer's, if there was one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in parts."""

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
        raise ValueError("Write a URL such as https://host.example.org/path.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("Leave user and password out of the URL: they would be sent and shown plainly.")
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
    """Send the body to the target at this IP address; the status of its answer, 2xx. Raises RequestFailed."""
    status, _ = _request("POST", target, address, body, headers, deadline_s=deadline_s, max_bytes=0)
    return status


def get(target: Target, address: str, *, deadline_s: float = DEADLINE_S, max_bytes: int) -> bytes:
    """The body that the target at this IP address answers. Raises RequestFailed, also of one that is longer."""
    _, body = _request("GET", target, address, None, {}, deadline_s=deadline_s, max_bytes=max_bytes)
    if len(body) > max_bytes:
        raise RequestFailed(f"It answered more than {grouped(max_bytes)} bytes.")
    return body


def _request(
    method: str,
    target: Target,
    address: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    deadline_s: float,
    max_bytes: int,
) -> tuple[int, bytes]:
    """The status and the beginning of the body, a byte more than `max_bytes` at most."""
    connection = (_Encrypted if target.encrypted else _Plain)(target, address, deadline_s)
    # The socket's own timeout starts anew with every byte that drips in; the deadline does not.
    clock = threading.Timer(deadline_s, connection.cut_off)
    clock.daemon = True
    clock.start()
    try:
        connection.request(method, target.path, body=body, headers={"Connection": "close", **headers})
        answer = connection.getresponse()
        status = answer.status
        _refuse_status(status)
        if max_bytes:
            content = answer.read(max_bytes + 1)
            # A body that breaks off, by itself or here, is handed out as if it were whole.
            if connection.was_cut_off or (answer.length and len(content) <= max_bytes):
                raise TimeoutError
            return status, content

        with contextlib.suppress(OSError, http.client.HTTPException):
            answer.read(MAX_READ)

        return status, b""
    except (OSError, http.client.HTTPException, ValueError) as error:
        if connection.was_cut_off or isinstance(error, TimeoutError):
            raise RequestFailed(f"No answer within {exact(deadline_s)} s.") from None
        raise RequestFailed(_explain(error)) from None
    finally:
        clock.cancel()
        connection.close()


def _refuse_status(status: int) -> None:
    """Raises RequestFailed for what is no success."""
    if 200 <= status < 300:
        return
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "an unknown status"
    if 300 <= status < 400:
        phrase += "; redirects are not followed"
    raise RequestFailed(f"It answered {status} {phrase}.", status)


def _explain(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return CERTIFICATE_REFUSED.format(reason=error.verify_message)
    if isinstance(error, ConnectionRefusedError):
        return CONNECTION_REFUSED
    if isinstance(error, ssl.SSLError | OSError):
        return f"The connection failed: {error.strerror or error}."[:300]
    return NO_HTTP


class _Plain(http.client.HTTPConnection):
    """A connection to the checked address, which can be cut off from another thread."""

    def __init__(self, target: Target, address: str, timeout: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout)
        self.address = address
        self.was_cut_off = False
        self._socket: socket.socket | None = None  # `sock` is gone as soon as an answer begins.

    def connect(self) -> None:
        self.sock = self._socket = socket.create_connection((self.address, self.port), self.timeout)
        if self.was_cut_off:
            raise TimeoutError

    def cut_off(self) -> None:
        self.was_cut_off = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Encrypted(_Plain):
    """The same within TLS, for the name that was asked for."""

    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        # The handshake comes after, so that it too can be cut off.
        wrapped = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
        self.sock = self._socket = wrapped
        wrapped.do_handshake()
