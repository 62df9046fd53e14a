"""Uploads and pages of a published report beside an earlier commit: processor time of both web servers, in turn.

BENCHSITE_BENCH_COMMIT names the commit, which is checked out below var/bench and runs with the packages of this one.
"""

import http.client
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
from django.conf import settings

from benchmarks.speed.live import BenchmarkFailed
from benchmarks.speed.report import Report
from benchmarks.speed.typical import typical
from benchmarks.speed.uploader import BOUNDARY, body_of
from benchsite.components import HOST
from benchsite.env import env_str
from workers.provision.ports import free_port

FOLDER: Final = settings.BASE_DIR / "var" / "bench" / "commits"
EARLIER: Final = "337f98e"
ROUNDS: Final = 20
UPLOADS, PAGES, CONNECTIONS = 60, 400, 4
MAX_RATIO: Final = 1.05
# In the shell of either site; earlier commits have these modules elsewhere.
PREPARE: Final = """
import importlib.util
from benchsite.teams import tokens
from benchsite.teams.bootstrap import ensure_demo_team
from reports.frozen.links import make_link
name = "benchmarks" if importlib.util.find_spec("benchmarks") else "benchsite.bench"
name = name.replace("benchmarks", "benchmarks.speed")
report = importlib.import_module(f"{name}.reports")._published()
team, user = ensure_demo_team()
print("READY", tokens.make(team, user, name="bench", scopes=["runs:write"]), make_link(report).token)
"""
Request = tuple[str, str, bytes, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Side:
    """The running site of one commit."""

    port: int
    token: str
    link: str
    web: psutil.Process

    def uploads(self, round_number: int, bodies: list[bytes]) -> Iterator[Request]:
        head = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        }
        for number, body in enumerate(bodies):
            key = f"{os.getpid()}-{time.time():.0f}-{round_number}-{number}"
            yield "POST", "/api/v1/runs", body, {**head, "Idempotency-Key": key}

    def pages(self) -> Iterator[Request]:
        yield from [("GET", f"/r/{self.link}", b"", {"Accept-Encoding": "gzip"})] * PAGES

    def cpu_ms(self, requests: Iterable[Request]) -> float:
        """The web server's processor time for each of these requests. Raises BenchmarkFailed."""
        waiting, failures = list(requests), list[str]()
        number, before = len(waiting), self._cpu_s()
        threads = [threading.Thread(target=self._send, args=[waiting, failures]) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise BenchmarkFailed(f"{len(failures)} requests failed: {failures[0]}")
        return (self._cpu_s() - before) / number * 1000

    def _send(self, waiting: list[Request], failures: list[str]) -> None:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            while waiting:
                connection.request(*waiting.pop())
                response = connection.getresponse()
                answer = response.read()
                if response.status not in (200, 201):
                    failures.append(f"{response.status} {answer[:200]!r}")
        except (OSError, http.client.HTTPException, IndexError) as error:
            if not isinstance(error, IndexError):  # Another thread took the last one.
                failures.append(str(error))
        finally:
            connection.close()

    def _cpu_s(self) -> float:
        times = [process.cpu_times() for process in (self.web, *self.web.children(recursive=True))]
        return sum(time.user + time.system for time in times)


def measure() -> list[Report]:
    """One report for uploads, one for pages. Raises BenchmarkFailed."""
    commit = env_str("BENCHSITE_BENCH_COMMIT", EARLIER)
    bodies = [[body_of(typical(n), n) for n in range(r * UPLOADS, (r + 1) * UPLOADS)] for r in range(ROUNDS + 1)]
    with ExitStack() as stack:
        sides = [stack.enter_context(_site(folder)) for folder in (_checkout(commit), settings.BASE_DIR)]
        uploads = [[side.cpu_ms(side.uploads(r, bodies[r])) for side in _turn(sides, r)] for r in range(ROUNDS + 1)]
        pages = [[side.cpu_ms(side.pages()) for side in _turn(sides, r)] for r in range(ROUNDS + 1)]
    return [
        _report("uploads-beside", "Uploads", commit, uploads),
        _report("pages-beside", "Report pages", commit, pages),
    ]


def _turn(sides: list[Side], round_number: int) -> list[Side]:
    return sides[::-1] if round_number % 2 else sides


def _report(name: str, title: str, commit: str, rounds: list[list[float]]) -> Report:
    """The first round, which imports and fills caches, is left out."""
    pairs = [pair[::-1] if number % 2 else pair for number, pair in enumerate(rounds)][1:]
    ratios = [now / then for then, now in pairs]
    half_width = 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5
    figure = statistics.mean(ratios)
    return Report(
        name=name,
        title=f"{title} beside {commit}: processor time of the web server for each request, in ms, in turn",
        columns=("round", commit, "now", "ratio"),
        rows=[[number, *pair, pair[1] / pair[0]] for number, pair in enumerate(pairs, 1)],
        figure=figure,
        unit="ratio",
        statistic="mean",
        wanted=f"at most {MAX_RATIO:g}",
        met=figure <= MAX_RATIO,
        notes=f"95 % interval {figure - half_width:.3f} to {figure + half_width:.3f}.",
    )


def _checkout(commit: str) -> Path:
    """The commit's files. Raises BenchmarkFailed."""
    folder = FOLDER / commit
    if not folder.exists():
        argv = ["git", "worktree", "add", "--detach", str(folder), commit]
        done = subprocess.run(argv, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchmarkFailed(f"{commit} cannot be checked out: {done.stderr.strip()}")
    return folder


@contextmanager
def _site(folder: Path) -> Iterator[Side]:
    """The site of that checkout, without limits for tokens. Raises BenchmarkFailed."""
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PORT": str(port),
        "BENCHSITE_VAR": str(FOLDER / f"site-{folder.name}"),
        "BENCHSITE_YCSB": str(settings.YCSB_DIR),
        **{f"BENCHSITE_{limit}": "0" for limit in (
            "API_UPLOADS_PER_MINUTE", "API_REQUESTS_PER_MINUTE", "MAX_UPLOADS_PER_HOUR_PER_TEAM"
        )},
    }  # fmt: skip

    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "manage.py", *arguments]
        return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    up = manage("up")
    try:
        prepared = manage("shell", "-c", PREPARE)
        ready = re.search(r"READY (\S+) (\S+)", prepared.stdout)
        if ready is None:
            raise BenchmarkFailed(f"The site of {folder} is not ready: {(up.stderr + prepared.stderr)[-500:]}")
        yield Side(port, ready[1], ready[2], _listener(port))
    finally:
        manage("down")


def _listener(port: int) -> psutil.Process:
    """gunicorn's first process, which has the others as children."""
    pids = [c.pid for c in psutil.net_connections("tcp4") if c.laddr and c.laddr.port == port and c.status == "LISTEN"]
    processes = [psutil.Process(pid) for pid in pids if pid]
    return next(process for process in processes if process.ppid() not in pids)
