"""Open load beside the ideal client, on a quiet and on a busy machine; Erlang's loss formula; a stall; CPU time."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import factorial
from statistics import median
from typing import Any, Final

import numpy as np
import psutil
from django.conf import settings

from benchmarks.calibration.open_load import (
    Measured,
    compute_ideal,
    draw_gaps,
    fifo_server,
    measure as run_clients,
    take_from,
)
from benchmarks.speed.report import Report
from runs.checks import profile
from runs.checks.arrivals import judge_lag
from runs.checks.results import Severity
from workers.systems.manifests import Manifest, verify

SERVICE_US: Final = 4000
LOADS: Final = (0.5, 0.8, 0.95)
SERVERS: Final = (1, 4)
SECONDS: Final = 20
UNQUEUED_S: Final = 8
THREADS: Final = 64
CUT_S: Final = 2  # in which the client's code is compiled
SEEDS: Final = 4
BUSY_SEEDS: Final = 2
MAX_OFF: Final = 0.05
ERLANGS: Final = (8, 4)
MAX_POINTS_OFF: Final = 1.5
STALL_S: Final = 1.6
STALL_RATE: Final = 1000
STALL_THREADS: Final = 32
CPU_RATES: Final = (5_000, 20_000)
CPU_ROUNDS: Final = 7
CPU_SECONDS: Final = 16
CPU_CUT_S: Final = 8  # in which the client starts and its code is compiled
MAX_CPU_RATIO: Final = 1.10
# A day in an hour: a point for each minute of the day, the night at a fifth of the evening.
DAY_POINTS: Final = 1440
DAY_SECONDS: Final = 3600
DAY_RATE: Final = 400
NIGHT: Final = 0.2
MINUTE_S: Final = 60
MAX_MINUTE_OFF: Final = 0.01
WARM: Final = {"warmup.duration_ms": "3000"}


def measure() -> list[Report]:
    manifest = verify(settings.YCSB_DIR / "redis")
    return [
        _measure_truth(manifest, busy=False),
        _measure_truth(manifest, busy=True),
        _measure_drops(manifest),
        _measure_stall(manifest),
        _measure_cpu(manifest),
    ]


def measure_day() -> list[Report]:
    """Constant arrivals along the profile of a day: what was offered in each of the 60 minutes, and in all of them."""
    at_s = np.linspace(0, DAY_SECONDS, DAY_POINTS + 1)
    share = (1 + NIGHT) / 2 - (1 - NIGHT) / 2 * np.cos(2 * np.pi * at_s / DAY_SECONDS)
    # Then nothing arrives any more, so the total does not depend on when the client ends.
    at_s, share = np.append(at_s, DAY_SECONDS + 1), np.append(share, 0)
    with fifo_server(16, 200) as (port, _):
        (run,) = run_clients(
            verify(settings.YCSB_DIR / "redis"), port, rate_ops_s=DAY_RATE, seconds=DAY_SECONDS + 10, threads=16,
            arrivals="constant", patience_ms=None, profile=list(zip(at_s, 100 * share, strict=True)), seed="day",
            properties=WARM,
        )  # fmt: skip
    by_second = np.bincount(run.arrivals.second - run.arrivals.second[0], run.arrivals.offered)
    # The client begins within its first second: what is missing of that second's arrivals says when.
    begin_s = 1 - by_second[0] / (DAY_RATE * NIGHT)
    minutes_s = np.arange(0, DAY_SECONDS + 1, MINUTE_S)
    offered = np.diff(np.interp(begin_s + minutes_s, np.arange(by_second.size + 1), [0, *np.cumsum(by_second)]))
    # The integral of the lines between the points.
    due = np.array([0, *np.cumsum((share[1:] + share[:-1]) / 2 * np.diff(at_s))])
    expected = DAY_RATE * np.diff(np.interp(minutes_s, at_s, due))
    worst = float(np.max(np.abs(offered / expected - 1)))
    total = int(run.arrivals.offered.sum())
    return [Report(
        name="open-day",
        title=f"A day in an hour: constant arrivals along {DAY_POINTS:,} points",
        columns=("minute", "offered", "expected"),
        rows=[[minute + 1, float(offered[minute]), float(expected[minute])] for minute in (0, 14, 29, 44, 59)]
        + [["all", total, float(DAY_RATE * due[-1])]],
        figure=100 * worst,
        unit="%",
        wanted=f"each minute within {100 * MAX_MINUTE_OFF:.0f} %, the total exact",
        met=worst <= MAX_MINUTE_OFF and abs(total - DAY_RATE * due[-1]) <= 1,
        statistic="worst minute",
    )]  # fmt: skip


@contextmanager
def busy_cores() -> Iterator[None]:
    """Every core has other work."""
    argv = ["sh", "-c", "while :; do :; done"]
    processes = [subprocess.Popen(argv, start_new_session=True) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def judge_run(run: Measured) -> Severity:
    """V36."""
    lag_us, response_us = run.client_lag.percentile(99) or 0, run.response.percentile(99) or 0
    return judge_lag(lag_us, response_us, profile("measured"))


def _measure_truth(manifest: Manifest, *, busy: bool) -> Report:
    """Mean and p99 of the response time against the ideal client's on the same arrivals."""
    rows, wrong = [], 0
    for servers in SERVERS:
        for load in LOADS:
            for seed in range(BUSY_SEEDS if busy else SEEDS):
                row, off, severity = _compare(manifest, servers, load, f"{servers} {load} {seed}", busy=busy)
                rows.append(row)
                wrong += off > MAX_OFF and severity == "pass"
    name, where = ("open-busy", "with all cores busy") if busy else ("open-truth", "as the machine was")
    return Report(
        name=name,
        title=f"Open load against the ideal client on the same arrivals, {where}",
        columns=("servers", "load", "operations", "mean off, %", "p99 off, %", "lag p50, µs", "lag p99, µs", "V36"),
        rows=rows,
        figure=float(wrong),
        unit="runs",
        wanted=f"none that is off by more than {100 * MAX_OFF:.0f} % and passes V36",
        met=not wrong,
        statistic="wrong and believed:",
    )


def _compare(
    manifest: Manifest, servers: int, load: float, seed: str, *, busy: bool
) -> tuple[list[Any], float, Severity]:
    rate = load * servers / (SERVICE_US / 1e6)
    with fifo_server(servers, SERVICE_US) as (port, _), busy_cores() if busy else nullcontext():
        (run,) = run_clients(
            manifest, port, rate_ops_s=rate, seconds=SECONDS, threads=THREADS, seed=seed, properties=WARM
        )  # fmt: skip
    with fifo_server(THREADS, SERVICE_US) as (port, _):
        (unqueued,) = run_clients(
            manifest, port, rate_ops_s=rate, seconds=UNQUEUED_S, threads=THREADS, seed=f"{seed} unqueued",
            properties=WARM,
        )  # fmt: skip
    # What the server, the network and two wake-ups add to each service, where none waits for another one and the cores
    # have nothing else to do.
    added_us = max((unqueued.service.mean or 0) - SERVICE_US, 0)
    due_s = np.cumsum(draw_gaps(run.seed, int(run.arrivals.started.sum()))) / run.rate_ops_s
    response_s = compute_ideal(due_s, servers, SERVICE_US / 1e6)
    ideal_us = response_s[due_s + response_s >= CUT_S] * 1e6 + added_us
    assert run.response_log is not None
    measured = take_from(run.response_log, CUT_S)
    mean_off = (measured.mean or 0) / float(ideal_us.mean()) - 1
    p99_off = (measured.percentile(99) or 0) / float(np.percentile(ideal_us, 99)) - 1
    median_us, p99_us = run.client_lag.percentiles([50, 99])
    severity = judge_run(run)
    row = [servers, load, ideal_us.size, 100 * mean_off, 100 * p99_off, median_us, p99_us, severity]
    return row, abs(mean_off), severity


def erlang_b(servers: int, erlangs: float) -> float:
    """The share of lost arrivals where none can wait (Erlang, 1917)."""
    terms = [erlangs**number / factorial(number) for number in range(servers + 1)]
    return terms[-1] / sum(terms)


def _measure_drops(manifest: Manifest) -> Report:
    rows, worst = [], 0.0
    servers = 8
    for erlangs in ERLANGS:
        service_us = 10_000
        with fifo_server(servers, service_us) as (port, _):
            (run,) = run_clients(
                manifest, port, rate_ops_s=erlangs / (service_us / 1e6), seconds=SECONDS, threads=servers,
                patience_ms=0.1, seed=f"erlang {erlangs}", properties=WARM,
            )  # fmt: skip
        # In the first second threads connect.
        offered, dropped = (column[run.arrivals.second > run.arrivals.second[0]].sum()
                            for column in (run.arrivals.offered, run.arrivals.dropped))  # fmt: skip
        expected = erlang_b(servers, erlangs)
        rows.append([erlangs, int(offered), 100 * float(dropped / offered), 100 * expected])
        worst = max(worst, 100 * abs(float(dropped / offered) - expected))
    return Report(
        name="open-drops",
        title=f"Arrivals that {servers} servers and as many threads drop, patience 0.1 ms",
        columns=("Erlang", "offered", "dropped, %", "Erlang B, %"),
        rows=rows,
        figure=worst,
        unit="points",
        wanted=f"at most {MAX_POINTS_OFF}",
        met=worst <= MAX_POINTS_OFF,
        statistic="worst",
    )


def _measure_stall(manifest: Manifest) -> Report:
    with fifo_server(STALL_THREADS, 200) as (port, server):

        def stall(clients: Sequence[object]) -> None:
            time.sleep(4)
            server.send_signal(signal.SIGSTOP)
            time.sleep(STALL_S)
            server.send_signal(signal.SIGCONT)

        (run,) = run_clients(
            manifest, port, rate_ops_s=STALL_RATE, seconds=9, threads=STALL_THREADS, arrivals="constant",
            patience_ms=1.0, seed="stall", properties=WARM, on_started=stall,
        )  # fmt: skip
    is_later = run.arrivals.second > run.arrivals.second[0]
    dropped = int(run.arrivals.dropped[is_later].sum())
    expected = STALL_S * STALL_RATE - STALL_THREADS
    most = int(run.arrivals.started[is_later].max())
    return Report(
        name="open-stall",
        title=f"A server that stands still for {STALL_S} s at {STALL_RATE} ops/s, {STALL_THREADS} in flight",
        columns=("dropped", "expected", "most started in a second"),
        rows=[[dropped, int(expected), most]],
        figure=dropped / expected,
        unit="ratio",
        wanted="0.95 to 1.05, and no second above its target by more than 3 %",
        met=0.95 <= dropped / expected <= 1.05 and most <= 1.03 * STALL_RATE,
        statistic="dropped / expected",
    )


def _measure_cpu(manifest: Manifest) -> Report:
    """CPU time of a client that is warm, in turn with that of a paced one at the same rate."""
    rows, ratios = [], []
    for rate in CPU_RATES:
        rounds = [[_cpu_us(manifest, rate, is_open=is_open) for is_open in (True, False)] for _ in range(CPU_ROUNDS)]
        of_rate = [opened / paced for opened, paced in rounds]
        rows.append(
            [rate, median(opened for opened, _ in rounds), median(paced for _, paced in rounds), median(of_rate)]
        )
        ratios.append(median(of_rate))
    return Report(
        name="open-cpu",
        title="CPU time of a client per operation, open and paced",
        columns=("ops/s", "open, µs", "paced, µs", "ratio"),
        rows=rows,
        figure=max(ratios),
        unit="ratio",
        wanted=f"at most {MAX_CPU_RATIO}",
        met=max(ratios) <= MAX_CPU_RATIO,
        statistic="worst median",
    )


def _cpu_us(manifest: Manifest, rate: int, *, is_open: bool) -> float:
    properties = {} if is_open else {"target": str(rate), "window.start_s": "1"}
    before_s: list[float] = []

    def note_cpu(clients: Sequence[subprocess.Popen[str]]) -> None:
        time.sleep(CPU_CUT_S)
        used = psutil.Process(clients[0].pid).cpu_times()
        before_s.append(used.user + used.system)

    with fifo_server(64, 50) as (port, _):
        (run,) = run_clients(
            manifest, port, rate_ops_s=rate, seconds=CPU_SECONDS, threads=8, arrivals="constant", properties=properties,
            is_open=is_open, on_started=note_cpu,
        )  # fmt: skip
    assert run.response_log is not None
    return 1e6 * (run.cpu_s - before_s[0]) / max(take_from(run.response_log, CPU_CUT_S).count, 1)
