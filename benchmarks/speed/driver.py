"""The Redis binding against its bare driver: the same operations in the same loop, in turn, in one JVM."""

import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from benchmarks.speed.report import Report
from benchsite.paths import unprivileged_account
from workers.executables import choose_redis
from workers.guarded_process import start_guarded
from workers.manifests import java_executable, verify
from workers.provision.ports import free_port

THREADS = (1, 4)
ROUNDS = 11
ROUND_S = 1.5
WANTED = 0.9
READY_PATIENCE_S = 10


@contextmanager
def redis_server() -> Iterator[int]:
    """A Redis that keeps nothing on disk; gives its port."""
    account = unprivileged_account()
    folder = Path(tempfile.mkdtemp(prefix="benchsite-bench-"))
    if account is not None:
        os.chown(folder, account.uid, account.gid)
    program, port = choose_redis(account, shelf=settings.VAR_DIR / "shelf").path, free_port()
    argv: list[str | Path] = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    try:
        with start_guarded(
            argv, registry=settings.GUARDED_DIR, label="redis for a benchmark", cwd=folder, account=account
        ):
            _wait_for(port)
            yield port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int) -> None:
    end = time.monotonic() + READY_PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def measure() -> Report:
    """Pairs of rounds, bare and through the binding; the figure is the median of their ratios."""
    jars = ":".join(map(str, verify(settings.YCSB_DIR / "redis").jars))
    rows: list[list[str | int | float]] = []
    ratios: list[float] = []
    raw: dict[str, object] = {}
    with redis_server() as port:
        for threads in THREADS:
            argv = [java_executable(), "-Xms256m", "-Xmx512m", "-cp", jars, "benchsite.BareJedis"]
            argv += [str(port), str(threads), str(ROUNDS), str(ROUND_S)]
            pairs = _pairs(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
            found = [binding / bare for bare, binding in pairs]
            bare, binding = (statistics.median(side) for side in zip(*pairs, strict=True))
            rows.append([threads, len(pairs), bare, binding, statistics.median(found)])
            ratios += found
            raw[f"{threads} threads"] = pairs
    figure = statistics.median(ratios)
    return Report(
        name="driver",
        title="Redis binding against Jedis alone (half reads of 1 KB records, half updates of one field)",
        columns=("threads", "pairs", "Jedis ops/s", "binding ops/s", "ratio"),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"at least {WANTED}",
        met=figure >= WANTED,
        raw=raw,
    )


def _pairs(output: str) -> list[tuple[float, float]]:
    """(bare, binding) of every round but the first, in which the JVM compiles."""
    rounds: dict[int, dict[str, float]] = {}
    for line in output.splitlines():
        arm, number, rate = line.split()
        rounds.setdefault(int(number), {})[arm] = float(rate)
    return [(arms["bare"], arms["binding"]) for number, arms in sorted(rounds.items()) if number > 0]
