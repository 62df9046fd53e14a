"""Open load beside the ideal client, on a quiet and on a busy machine; Erlang's loss formula; a stall; CPU time."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from math import factorial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import psutil
from django.conf import settings

from benchmarks.calibration.open_load import (
    compute_ideal,
    draw_gaps,
    fifo_server,
    measure as run_clients,
    take_from,
    take_tally,
)
from benchmarks.speed.report import Report
from runs.checks import profile
from runs.checks.arrivals import compute_shift, find_crossed_limit
from runs.ycsb.command import make_seed
from workers.systems.manifests import Manifest, verify

SERVICE_US: Final = 4000
LOADS: Final = (0.5, 0.8, 0.95)
SERVERS: Final = (1, 4)
SECONDS: Final = 20
WARMED_UP_S: Final = 0.2  # clients rest before they begin
THREADS: Final = 64
CUT_S: Final = 2  # in which the client's code is compiled
SEEDS: Final = 4
BUSY_SEEDS: Final = 2
KS_SEEDS: Final = 20
KS_GAPS: Final = 4_000
MIN_KS_P: Final = 0.01
MAX_MEAN_OFF: Final = 0.02
MAX_P99_OFF: Final = 0.05
# A run beside which others used more of the machine is repeated, twice at most.
MAX_OTHERS_SHARE: Final = 0.05
TRIES: Final = 3
MIN_TRUE_SHARE: Final = 19 / 20
REFUSED_OFF: Final = 0.05
ERLANGS: Final = (8, 4)
MAX_POINTS_OFF: Final = 1.5
STALL_S: Final = 1.6
STALL_RATE: Final = 1000
STALL_THREADS: Final = 32
CPU_RATES: Final = (5_000, 20_000)
CPU_ROUNDS: Final = 7
CPU_CUT_S: Final = 8  # in which the client starts and most of its code is compiled
CPU_MEASURE_S: Final = 6
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
    idle = measure_offs(manifest, SEEDS, busy=False)
    busy = measure_offs(manifest, BUSY_SEEDS, busy=True)
    return [
        judge_truth(idle),
        judge_refusal(idle, busy),
        judge_arrivals(),
        measure_drops(manifest),
        measure_stall(manifest),
        measure_cpu(manifest),
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


def measure_offs(manifest: Manifest, seeds: int, *, busy: bool) -> list[list[Any]]:
    """Rows of `OFF_COLUMNS`."""
    rows = []
    for servers, load, seed in product(SERVERS, LOADS, range(seeds)):
        measure_once = partial(_measure_off, manifest, servers, load, f"{servers} {load} {seed}")
        if not busy:
            rows.append(measure_alone(measure_once))
            continue
        with busy_cores():
            rows.append(measure_once())
    return rows


def measure_alone(measure_once: Callable[[], list[Any]]) -> list[Any]:
    """The row of a run beside which nothing else used the machine, or of the last of three, with what others used."""
    for _ in range(TRIES):
        before_s, began_s = _read_used_s(), time.monotonic()
        row = measure_once()
        used_s, own_s = (after - before for after, before in zip(_read_used_s(), before_s, strict=True))
        row[_OTHERS] = 100 * (used_s - own_s) / (time.monotonic() - began_s) / (os.cpu_count() or 1)
        if row[_OTHERS] <= 100 * MAX_OTHERS_SHARE:
            break
    return row


def _read_used_s() -> tuple[float, float]:
    """CPU time of the machine, and of this process and those that it has ended."""
    times, own = psutil.cpu_times(), os.times()
    busy_s = times.user + times.nice + times.system + times.irq + times.softirq
    return busy_s, own.user + own.system + own.children_user + own.children_system


OFF_COLUMNS: Final = (
    "servers", "load", "operations", "mean off, %", "p99 off, %", "lag p50, µs", "lag p99, µs", "by lag, %",
    "added, µs", "V36", "others, %",
)  # fmt: skip
_MEAN_OFF, _P99_OFF, _SEVERITY, _OTHERS = 3, 4, 9, 10


def _measure_off(manifest: Manifest, servers: int, load: float, seed: str) -> list[Any]:
    """Mean and p99 of the response time against the ideal client's on the same arrivals.

    The server says how long operations were to take there. What they took longer is the network's, and of threads that
    woke up late to read a request, to answer or to read the answer: that is added to the ideal.
    """
    rate = load * servers / (SERVICE_US / 1e6)
    with fifo_server(servers, SERVICE_US) as (port, _):

        def forget_warm_up(clients: object) -> None:
            time.sleep(WARMED_UP_S)
            take_tally(port)

        (run,) = run_clients(
            manifest, port, rate_ops_s=rate, seconds=SECONDS, threads=THREADS, seed=seed, properties=WARM,
            on_started=forget_warm_up,
        )  # fmt: skip
        writes, due_us = take_tally(port)
    added_us = (run.service.mean or 0) - due_us
    due_s = np.cumsum(draw_gaps(run.seed, int(run.arrivals.started.sum()))) / run.rate_ops_s
    response_s = compute_ideal(due_s, servers, SERVICE_US / 1e6)
    mean_off = (run.response.mean or 0) / (1e6 * float(response_s.mean()) + added_us) - 1
    assert run.response_log is not None
    warm_p99_us = take_from(run.response_log, CUT_S).percentile(99) or 0
    warm_ideal_s = response_s[due_s + response_s >= CUT_S]
    p99_off = warm_p99_us / (1e6 * float(np.percentile(warm_ideal_s, 99)) + added_us) - 1
    median_us, p99_us = run.client_lag.percentiles([50, 99])
    shift = compute_shift(run.client_lag, [run.response])
    severity, _ = find_crossed_limit(run.client_lag, [run.response], profile("measured"))
    return [
        servers, load, writes, 100 * mean_off, 100 * p99_off, median_us, p99_us, 100 * shift, added_us, severity, ""
    ]  # fmt: skip


def _is_true(row: Sequence[Any]) -> bool:
    return bool(abs(row[_MEAN_OFF]) <= 100 * MAX_MEAN_OFF and abs(row[_P99_OFF]) <= 100 * MAX_P99_OFF)


def judge_truth(rows: Sequence[Sequence[Any]]) -> Report:
    share = sum(map(_is_true, rows)) / len(rows)
    return Report(
        name="open-truth",
        title="Open load against the ideal client on the same arrivals, nothing else at work",
        columns=OFF_COLUMNS,
        rows=rows,
        figure=share,
        unit="ratio",
        wanted=f"mean within {100 * MAX_MEAN_OFF:.0f} % and p99 within {100 * MAX_P99_OFF:.0f} %, 19 of 20 runs",
        met=share >= MIN_TRUE_SHARE,
        statistic=f"share of {len(rows)} runs",
    )


def judge_refusal(idle: Sequence[Sequence[Any]], busy: Sequence[Sequence[Any]]) -> Report:
    """V36 rejects what is off, and nothing that is right, idle runs among them."""
    runs = [*idle, *busy]
    off = [row for row in runs if abs(row[_MEAN_OFF]) > 100 * REFUSED_OFF]
    believed = sum(row[_SEVERITY] != "reject" for row in off)
    refused = sum(row[_SEVERITY] == "reject" for row in runs if _is_true(row))
    return Report(
        name="open-busy",
        title="Open load against the ideal client on the same arrivals, all cores busy",
        columns=OFF_COLUMNS,
        rows=busy,
        figure=float(believed + refused),
        unit="runs",
        wanted=f"each that is off by more than {100 * REFUSED_OFF:.0f} % rejected by V36, and none that is right",
        met=not believed and not refused,
        statistic="judged wrong:",
        notes=f"{len(off)} are off, {believed} of them not rejected. With those on the quiet machine "
        f"{sum(map(_is_true, runs))} are right, {refused} of them rejected.",
    )


def judge_arrivals() -> Report:
    """Kolmogorov and Smirnov's test of the gaps of one client, and of four together, as their seeds give them."""
    from scipy.stats import kstest

    rows = []
    for seed in range(KS_SEEDS):
        due_s = [np.cumsum(draw_gaps(make_seed(str(seed), client), KS_GAPS)) for client in range(4)]
        until = min(part[-1] for part in due_s)
        together = np.sort(np.concatenate(due_s))
        rows.append([
            seed, kstest(np.diff(due_s[0], prepend=0), "expon").pvalue,
            kstest(4 * np.diff(together[together <= until]), "expon").pvalue,
        ])  # fmt: skip
    least = min(min(row[1:]) for row in rows)
    return Report(
        name="open-arrivals",
        title=f"Gaps of {KS_GAPS:,} Poisson arrivals: p of Kolmogorov and Smirnov",
        columns=("seed", "one client", "four together"),
        rows=rows,
        figure=least,
        unit="ratio",
        wanted=f"above {MIN_KS_P} in each of {KS_SEEDS} seeds",
        met=least > MIN_KS_P,
        statistic="least p",
    )


def erlang_b(servers: int, erlangs: float) -> float:
    """The share of lost arrivals where none can wait (Erlang, 1917)."""
    terms = [erlangs**number / factorial(number) for number in range(servers + 1)]
    return terms[-1] / sum(terms)


def measure_drops(manifest: Manifest) -> Report:
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


def measure_stall(manifest: Manifest) -> Report:
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


def measure_cpu(manifest: Manifest) -> Report:
    """CPU time of a client's threads that do not compile, in turn with that of a paced one at the same rate.

    The server answers at once: one that spins as long as a service takes would have one of two cores for itself.
    """
    rows, ratios = [], []
    for rate in CPU_RATES:
        rounds = [[_cpu_us(manifest, rate, is_open=is_open) for is_open in (True, False)] for _ in range(CPU_ROUNDS)]
        of_rate = [opened / paced for opened, paced in rounds]
        rows.append([
            rate, median(opened for opened, _ in rounds), median(paced for _, paced in rounds),
            median(of_rate), min(of_rate), max(of_rate),
        ])  # fmt: skip
        ratios.append(median(of_rate))
    return Report(
        name="open-cpu",
        title="CPU time of a client per operation, open and paced",
        columns=("ops/s", "open, µs", "paced, µs", "ratio", "lowest", "highest"),
        rows=rows,
        figure=max(ratios),
        unit="ratio",
        wanted=f"at most {MAX_CPU_RATIO}",
        met=max(ratios) <= MAX_CPU_RATIO,
        statistic="worst median",
    )


def _cpu_us(manifest: Manifest, rate: int, *, is_open: bool) -> float:
    properties = {} if is_open else {"target": str(rate), "window.start_s": "1"}
    used_s: list[float] = []

    def measure_between(clients: Sequence[subprocess.Popen[str]]) -> None:
        time.sleep(CPU_CUT_S)
        before_s, began_s = _read_cpu_s(clients[0].pid), time.monotonic()
        time.sleep(CPU_MEASURE_S)
        used_s.append((_read_cpu_s(clients[0].pid) - before_s) / (time.monotonic() - began_s))

    with fifo_server(64, 0) as (port, _):
        run_clients(
            manifest, port, rate_ops_s=rate, seconds=CPU_CUT_S + CPU_MEASURE_S + 1, threads=8, arrivals="constant",
            properties=properties, is_open=is_open, on_started=measure_between,
        )  # fmt: skip
    return 1e6 * used_s[0] / rate


def _read_cpu_s(process: int) -> float:
    used_ns = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # It has ended.
            if "Compiler" not in (thread / "comm").read_text():
                used_ns += int((thread / "schedstat").read_text().split()[0])
    return used_ns / 1e9
