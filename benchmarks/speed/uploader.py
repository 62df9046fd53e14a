"""A program that uploads typical results over some connections, and repeats what was not answered."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from benchmarks.speed.typical import MANIFEST, Typical

BOUNDARY: Final = "benchsite-bench-boundary"
PATIENCE_S: Final = 120.0
PAUSE_S: Final = 0.2
AGAIN: Final = frozenset({409, 429, 500, 502, 503})


@dataclass
class Sent:
    """How the uploads went."""

    asked: int = 0
    seconds: float = 0.0
    latencies_s: list[float] = field(default_factory=list)  # of those that were answered at the first attempt
    stored: int = 0  # 201 by its first request
    replayed: int = 0  # the answer to an earlier request was lost, and what it stored was found
    repeats: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return self.stored + self.replayed

    def quantile_s(self, share: float) -> float:
        ordered = sorted(self.latencies_s)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def body_of(upload: Typical, number: int) -> bytes:
    """One upload as a form."""
    parts = [b'Content-Disposition: form-data; name="manifest"\r\n\r\n'
             + json.dumps({**MANIFEST, "notes": f"upload {number}"}).encode()]  # fmt: skip
    for name, content in upload.files:
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n'
        parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content)
    line = b"--" + BOUNDARY.encode()
    return b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"


def send_all(
    url: str,
    token: str,
    numbers: Sequence[int],
    body: Callable[[int], bytes],
    *,
    connections: int,
    prefix: str,
    most_s: float = float("inf"),
    patience_s: float = PATIENCE_S,
) -> Sent:
    """Upload these, each under a key of its own, until each is answered; after `most_s` none is begun any more.

    One that was not answered after `patience_s`, however often it was repeated, has failed.
    """
    sent, lock, waiting = Sent(), threading.Lock(), list(reversed(numbers))

    def work() -> None:
        asking = _Asking(url, token)
        with closing(asking):
            while True:
                with lock:
                    if not waiting or time.perf_counter() - began > most_s:
                        return
                    number = waiting.pop()
                    sent.asked += 1
                _send(asking, f"{prefix}-{number}", body(number), sent, lock, patience_s)

    threads = [threading.Thread(target=work) for _ in range(connections)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent.seconds = time.perf_counter() - began
    return sent


def _send(asking: "_Asking", key: str, body: bytes, sent: Sent, lock: threading.Lock, patience_s: float) -> None:
    end, attempts = time.monotonic() + patience_s, 0
    while True:
        attempts += 1
        began = time.perf_counter()
        status, replayed, answer = asking.post(key, body)
        took = time.perf_counter() - began
        with lock:
            sent.repeats += attempts > 1
            if status == 201:
                sent.replayed += replayed
                sent.stored += not replayed
                if attempts == 1:
                    sent.latencies_s.append(took)
                return
            if (status not in AGAIN and status != 0) or time.monotonic() > end:
                sent.failed.append(f"{key}: {status} {answer[:200]!r}")
                return
        time.sleep(PAUSE_S)


class _Asking:
    """One connection, opened anew whenever it broke."""

    def __init__(self, url: str, token: str) -> None:
        self._host = urlsplit(url).netloc
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def post(self, key: str, body: bytes) -> tuple[int, bool, bytes]:
        """The status (0: no answer), whether it was the answer to an earlier request, and the body."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
            "Idempotency-Key": key,
        }
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self._host, timeout=60)
            self._connection.request("POST", "/api/v1/runs", body, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return 0, False, str(error).encode()
        return response.status, response.getheader("Idempotency-Replayed") == "true", answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
