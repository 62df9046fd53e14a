"""The Redis binding against its bare driver, and with a ledger: the same operations in turn, in one JVM."""

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


def measure() -> list[Report]:
    """Each comparison is pairs of rounds of two arms; its figure is the median of their ratios."""
    with redis_server() as port:
        return [
            _compare(
                port,
                ("bare", "binding"),
                name="driver",
                title="Redis binding against Jedis alone (half reads of 1 KB records, half updates of one field)",
                columns=("Jedis ops/s", "binding ops/s"),
            ),
            _compare(
                port,
                ("binding", "ledger"),
                name="ledger",
                title="Redis binding with a ledger of acknowledged writes against the same without (half are updates)",
                columns=("without ops/s", "with ops/s"),
            ),
        ]


def _compare(port: int, arms: tuple[str, str], *, name: str, title: str, columns: tuple[str, str]) -> Report:
    jars = ":".join(map(str, verify(settings.YCSB_DIR / "redis").jars))
    rows: list[list[str | int | float]] = []
    ratios: list[float] = []
    raw: dict[str, object] = {}
    for threads in THREADS:
        argv = [java_executable(), "-Xms256m", "-Xmx512m", "-cp", jars, "benchsite.BareJedis"]
        argv += [str(port), str(threads), str(ROUNDS), str(ROUND_S), *arms]
        pairs = _pairs(subprocess.run(argv, capture_output=True, text=True, check=True).stdout, arms)
        ratios_of_threads = [second / first for first, second in pairs]
        medians = (statistics.median(side) for side in zip(*pairs, strict=True))
        rows.append([threads, len(pairs), *medians, statistics.median(ratios_of_threads)])
        ratios += ratios_of_threads
        raw[f"{threads} threads"] = pairs
    figure = statistics.median(ratios)
    return Report(
        name=name,
        title=title,
        columns=("threads", "pairs", *columns, "ratio"),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"at least {WANTED}",
        met=figure >= WANTED,
        raw=raw,
    )


def _pairs(output: str, arms: tuple[str, str]) -> list[tuple[float, float]]:
    """The rates of both arms in every round but the first, in which the JVM compiles."""
    rounds: dict[int, dict[str, float]] = {}
    for line in output.splitlines():
        arm, number, rate = line.split()
        rounds.setdefault(int(number), {})[arm] = float(rate)
    return [(rates[arms[0]], rates[arms[1]]) for number, rates in sorted(rounds.items()) if number > 0]
