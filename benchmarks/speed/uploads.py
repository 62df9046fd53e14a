"""How fast programs upload, and that nothing is lost when the server is killed in the middle of ten thousand."""

import http.client
import io
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from django.core.files.base import ContentFile

from benchmarks.speed import outputs
from benchmarks.speed.report import BenchmarkFailed, Report
from benchsite.accounts import tokens
from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.models import Team, User
from benchsite.core.env import env_int
from benchsite.local.supervisor import Site
from runs.models import MeasurementSet, Run, UploadKey
from runs.uploads import api_upload, upload_lifecycle
from runs.uploads.api_upload import UploadRequest
from runs.uploads.manifest import build_manifest
from runs.uploads.processing import work_on
from runs.uploads.upload_handlers import ReceivedFile

SECONDS: Final = 42
DIFFERENT: Final = 40  # histograms of one operation
# Operations a second, and their latencies: the median in µs and the spread of its logarithm.
OPERATIONS: Final = {"READ": (900, 350.0, 0.5), "UPDATE": (900, 500.0, 0.55)}
STARTED_S: Final = 1_700_000_000
MANIFEST: Final = {
    "database": "Redis",
    "system": "redis",
    "mode": "always",
    "version": "7.2.4",
    "workload": {"name": "YCSB A", "properties": {"readproportion": "0.5", "updateproportion": "0.5"}},
    "threads": 8,
    "labels": ["bench"],
}
BOUNDARY: Final = "benchsite-bench-boundary"
PATIENCE_S: Final = 120.0
PAUSE_S: Final = 0.2
AGAIN: Final = frozenset({409, 429, 500, 502, 503})
SUSTAINED: Final = 1_500
IN_ONE_GO: Final = 2_000  # `make test-long` has the ten thousand
ALONE: Final = 30  # by either way, one after the other
CHECKS: Final = 2_000  # of the token
CONNECTIONS: Final = 8
KILLS: Final = 3  # a site starts no part more often


@dataclass(frozen=True, slots=True)
class Typical:
    """The files of one upload."""

    files: tuple[tuple[str, bytes], ...]

    @property
    def size(self) -> int:
        return sum(len(content) for _, content in self.files)


def typical(number: int) -> Typical:
    """The upload of that number: the same bytes each time, and other bytes than those of every other number."""
    dice = np.random.default_rng(number)
    lines = [
        f"Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -threads 8 -p n={number} -t\n",
        "YCSB Client 0.17.0\n\nLoading workload...\nStarting test.\n",
        *outputs.status_lines(SECONDS),
        *outputs.summary_lines(SECONDS),
    ]
    files = [("client-1.txt", "".join(lines).encode())]
    for operation, encoded in _histograms().items():
        chosen = dice.integers(0, DIFFERENT, SECONDS)
        log = io.BytesIO()
        log.write(
            f"#[Logging for: {operation}]\n#[Histogram log format version 1.3]\n"
            f"#[StartTime: {STARTED_S + number}.127 (seconds since epoch), some day]\n"
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'.encode()
        )
        for second, histogram in enumerate([encoded[n] for n in chosen.tolist()]):
            log.write(b"%d.003,1.000,0.009,%s\n" % (second, histogram))
        files.append((f"client-1-{operation}.hdr", log.getvalue()))
    return Typical(tuple(files))


@lru_cache(maxsize=1)
def _histograms() -> dict[str, list[bytes]]:
    dice = np.random.default_rng(7)
    return {
        operation: [outputs.encoded(outputs.latencies(dice, *shape)) for _ in range(DIFFERENT)]
        for operation, shape in OPERATIONS.items()
    }


def write(folder: Path, number: int) -> list[Path]:
    """The same as files."""
    paths = []
    for name, content in typical(number).files:
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    return paths


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


def build_body(upload: Typical, number: int) -> bytes:
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


# Where the site is slow, fewer are sent: the bench takes three minutes at most.
SUSTAINED_S, IN_ONE_GO_S = 30.0, 70.0
WANTED_A_SECOND, WANTED_P99_S, WANTED_CHECK_S = 40.0, 0.5, 0.001


def measure(site: Site) -> Report:
    """Uploads of a text and two logs, all different, client and server on this machine."""
    team, user = ensure_demo_team()
    token = tokens.make(team, user, name="benchmark", scopes=["runs:write"])
    prefix = f"bench-{time.time():.0f}"
    send_all(site.url, token, range(100), _body, connections=CONNECTIONS, prefix=f"{prefix}-warm", most_s=10.0)
    # Made before: what is measured is how they are taken, not how they are written.
    bodies = {number: _body(number) for number in range(SUSTAINED)}
    before = Run.objects.count()
    sustained = send_all(
        site.url,
        token,
        range(SUSTAINED),
        bodies.__getitem__,
        connections=CONNECTIONS,
        prefix=f"{prefix}-s",
        most_s=SUSTAINED_S,
    )
    lost = sustained.asked - (Run.objects.count() - before)
    once, twice = _alone(team, user, prefix)
    check_s = median(_timed(partial(tokens.find_bearer, token)) for _ in range(CHECKS))
    number = env_int("BENCHSITE_BENCH_UPLOADS", IN_ONE_GO, least=100, most=1_000_000)
    most_s = float("inf") if number > IN_ONE_GO else IN_ONE_GO_S
    killed, left, kills = _while_killing(site, token, number, f"{prefix}-k", most_s)
    figure = sustained.answered / sustained.seconds
    met = (
        figure >= WANTED_A_SECOND and sustained.quantile_s(0.99) < WANTED_P99_S and check_s < WANTED_CHECK_S
        and lost == left == 0 and not sustained.failed and not killed.failed
    )  # fmt: skip
    return Report(
        name="uploads",
        title=f"Uploads of a text and two logs, {typical(0).size / 1000:.0f} KB, {CONNECTIONS} connections",
        columns=("what", "number", "a second", "median ms", "p99 ms", "lost"),
        rows=[
            ["sustained", sustained.asked, figure, *_ms(sustained), lost],
            [f"in one go, the web server killed {kills} times", killed.asked, killed.answered / killed.seconds,
             *_ms(killed), left],
            ["one after the other, in memory", ALONE, 1 / once, once * 1000, "-", "-"],
            ["one after the other, as the import page does it", ALONE, 1 / twice, twice * 1000, "-", "-"],
            ["check of a token", CHECKS, 1 / check_s, check_s * 1000, "-", "-"],
        ],
        figure=figure,
        unit="uploads/s",
        wanted=f"at least {WANTED_A_SECOND:g}, p99 under {WANTED_P99_S * 1000:g} ms, none lost; a token in under 1 ms",
        met=met,
        notes=f"In memory is {twice / once:.1f} times as fast as the import page's way. Of the uploads in one go "
        f"{killed.repeats:,} requests were repeats; nothing was stored twice.",
        raw={"failed": [*sustained.failed, *killed.failed]},
    )  # fmt: skip


def _body(number: int) -> bytes:
    return build_body(typical(number), number)


def _ms(sent: Sent) -> tuple[float, float]:
    return sent.quantile_s(0.5) * 1000, sent.quantile_s(0.99) * 1000


def _alone(team: Team, user: User, prefix: str) -> tuple[float, float]:
    """Seconds of one upload by either way, in turn, so that neither gains by a machine that gets busier."""
    manifest = build_manifest({**MANIFEST, "notes": prefix})
    once, twice = [], []
    for number in range(ALONE):
        files = typical(10_000_000 + number).files
        arrived = [_arrived(*file) for file in files]
        upload = UploadRequest(team, user, f"{prefix}-alone-{number}", manifest, arrived)
        once.append(_timed(partial(api_upload.upload, upload, lambda *rows: {})))
        others = typical(20_000_000 + number).files
        twice.append(_timed(partial(_as_the_page, team, user, others, manifest.model_dump())))
    return median(once), median(twice)


def _arrived(name: str, content: bytes) -> ReceivedFile:
    file = ReceivedFile(name)
    file.write(content)
    return file


def _as_the_page(team: Team, user: User, files: tuple[tuple[str, bytes], ...], manifest: dict[str, object]) -> None:
    """Kept, read, shown, completed, read again and saved."""
    row, claim = upload_lifecycle.receive(team, user, [(name, ContentFile(content)) for name, content in files])
    upload_lifecycle.let_go(row.pk, claim, manifest=manifest)
    while working := upload_lifecycle.begin(row.pk):
        work_on(row.pk, working)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _while_killing(site: Site, token: str, number: int, prefix: str, most_s: float) -> tuple[Sent, int, int]:
    """Uploads that are repeated until they are answered, how many are missing or there in halves, and the kills."""
    before = _whole()
    sent: list[Sent] = []

    def upload() -> None:
        numbers = range(1_000_000, 1_000_000 + number)
        sent.append(send_all(site.url, token, numbers, _body, connections=CONNECTIONS, prefix=prefix, most_s=most_s))

    thread = threading.Thread(target=upload)
    thread.start()
    dice, kills, due = random.Random(20_260_502), 0, time.monotonic() + 3
    while thread.is_alive():
        if kills < KILLS and time.monotonic() > due:
            web = next((component for component in site.components if component.name == "web"), None)
            if web is None or web.guarded is None:
                raise BenchmarkFailed("The site has no web server that could be killed.")
            os.killpg(web.guarded.pgid, signal.SIGKILL)
            kills, due = kills + 1, time.monotonic() + dice.uniform(10, 30)
        site.check()  # Starts it again.
        thread.join(0.2)
    after = _whole()
    attempts = sent[0].asked
    return sent[0], max(abs(attempts - (now - then)) for now, then in zip(after, before, strict=True)), kills


def _whole() -> tuple[int, ...]:
    return Run.objects.count(), MeasurementSet.objects.count(), UploadKey.objects.count()
