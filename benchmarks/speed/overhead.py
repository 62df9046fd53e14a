"""What driving costs: stock YCSB by hand and a client run of Benchsite, in pairs of random order.

Both arms run the same binding with the same properties against the same server and data set. By hand is
`site.ycsb.Client`, as a person starts it in a shell; the site stands idle meanwhile. While a client measures, the
benchmark asks the database nothing in either arm.
"""

import math
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.simulations.means import mean_interval
from benchmarks.speed.report import BenchmarkFailed, Report, submit_small, until, until_succeeded
from benchsite.local.supervisor import WATCH_S, Site
from reports.compare.analysis.ratios import CONFIDENCE
from runs.models import ClientRun, Run
from runs.queue import lifecycle
from runs.results import artifacts
from runs.timeouts import CLIENT_READY_TIMEOUT_S
from runs.ycsb.properties import render_properties
from runs.ycsb.summary import Summary, parse_summary
from workers.conductor import scheduling

# With fewer pairs the width itself is too uncertain to stop by.
MIN_PAIRS, MAX_PAIRS = 10, 60
MAX_HALF_WIDTH = 0.02
SEED = 1
THREADS = 8
MEASURE_S = 8
MIN_RATIO = 0.98
STOCK_CLIENT = "site.ycsb.Client"
# Start, connection and writing the summary, on a machine that is busy.
BY_HAND_TIMEOUT_S = MEASURE_S + 60


@dataclass(frozen=True, slots=True)
class Pair:
    """Throughput of both arms in ops/s, as YCSB's own summaries have it."""

    by_hand: float
    driven: float
    driven_first: bool
    load_average: float  # of the last minute, before the pair

    @property
    def ratio(self) -> float:
        return self.driven / self.by_hand


@dataclass(frozen=True, slots=True)
class Estimate:
    """The geometric mean of the pairs' ratios and its 95 % interval."""

    ratio: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def measure(site: Site) -> Report:
    """Adds pairs until the interval is narrow enough; says how many that took, or that the maximum did not do."""
    with _resting_scheduler(site):
        # One run more than needed: while it waits in the queue, the server is kept up.
        matrix = submit_small(site, threads=THREADS, measure_s=MEASURE_S, repeats=MAX_PAIRS + 2)
        load, first, *repeats = Run.objects.filter(matrix=matrix).order_by("position")
        _dispatch(site, load)
        until_succeeded(site, load, poll_s=WATCH_S)
        _dispatch(site, first)
        started = ClientRun.objects.filter(run=first, command__len__gt=0)
        until(site, started.exists, 60, f"the client of {first} to start")
        client = started.get()
        command = Command(
            stock_argv(client.command), client.order["properties"]
        )  # While it runs: secrets are forgotten with its end.
        until_succeeded(site, first, poll_s=WATCH_S)
        left = iter(repeats)
        pairs, estimate = collect_pairs(lambda driven_first: _pair(site, next(left), command, driven_first))
        assert matrix.created_by is not None
        lifecycle.request_cancel_matrix(matrix, matrix.created_by)
    return _report(pairs, estimate)


def collect_pairs(measure_pair: Callable[[bool], Pair]) -> tuple[list[Pair], Estimate]:
    """Pairs, in an order of their arms that a seed decides, until the half-width is at most `MAX_HALF_WIDTH`.

    Only the width of the interval ends it, never the ratio itself; at most `MAX_PAIRS`.
    """
    dice = random.Random(SEED)
    pairs: list[Pair] = []
    while True:
        pairs.append(measure_pair(dice.random() < 0.5))
        if len(pairs) >= MIN_PAIRS:
            result = estimate_ratio(pairs)
            if result.half_width <= MAX_HALF_WIDTH or len(pairs) == MAX_PAIRS:
                return pairs, result


def estimate_ratio(pairs: list[Pair]) -> Estimate:
    """exp of the mean of ln(driven / by hand) and of its t-interval; needs two pairs."""
    logs = [math.log(pair.ratio) for pair in pairs]
    interval = mean_interval(logs)
    if interval is None:  # All pairs agree to the last digit.
        ratio = math.exp(logs[0])
        return Estimate(ratio, ratio, ratio)
    return Estimate(math.exp(interval.mean), math.exp(interval.low), math.exp(interval.high))


def _report(pairs: list[Pair], estimate: Estimate) -> Report:
    rows: list[list[str | int | float]] = [
        [n, "Benchsite" if p.driven_first else "by hand", p.load_average, p.by_hand, p.driven, p.ratio]
        for n, p in enumerate(pairs, start=1)
    ]
    enough = "" if estimate.half_width <= MAX_HALF_WIDTH else f", the maximum: wider than {MAX_HALF_WIDTH:.0%}"
    return Report(
        name="overhead",
        title=f"Stock YCSB by hand and under Benchsite ({THREADS} threads, {MEASURE_S} s, one Redis)",
        columns=("pair", "first", "load average", "by hand ops/s", "Benchsite ops/s", "ratio"),
        rows=rows,
        figure=estimate.ratio,
        statistic="geometric mean",
        unit="ratio",
        wanted=f"at least {MIN_RATIO} with a half-width of at most {MAX_HALF_WIDTH:.0%}",
        met=estimate.ratio >= MIN_RATIO and not enough,
        notes=(
            f"{CONFIDENCE:.0%} interval {estimate.low:.3f} to {estimate.high:.3f},"
            f" half-width {estimate.half_width:.1%}, from {len(pairs)} pairs{enough}. {os.cpu_count()} processors."
        ),
        raw={"interval": [estimate.low, estimate.high], "half_width": estimate.half_width, "seed": SEED},
    )


@dataclass(frozen=True, slots=True)
class Command:
    """What a person would type: the command line, and the properties in the file that it names."""

    argv: tuple[str, ...]
    properties: dict[str, str] = field(repr=False)  # secrets among them


@contextmanager
def _resting_scheduler(site: Site) -> Iterator[None]:
    """The scheduler is stopped: what starts, and when, is decided here."""
    scheduler = next(component for component in site.components if component.name == "scheduler")
    site.components.remove(scheduler)
    assert scheduler.guarded is not None
    scheduler.guarded.stop()
    try:
        yield
    finally:
        scheduler.start(site.registry)
        site.components.append(scheduler)


def _dispatch(site: Site, run: Run) -> None:
    """What the scheduler would do when it is this run's turn."""

    def dispatched() -> bool:
        return run.pk in scheduling.tick()

    until(site, dispatched, 30, f"{run} to be dispatched")


def stock_argv(argv: list[str]) -> tuple[str, ...]:
    """A client's command line with YCSB's own main class, which waits for no agreed instant."""
    return tuple(STOCK_CLIENT if part == "benchsite.Start" else part for part in argv if part != "--ready")


def _pair(site: Site, run: Run, command: Command, driven_first: bool) -> Pair:
    load_average = os.getloadavg()[0]
    if driven_first:
        driven = _driven(site, run)
        by_hand = _by_hand(site, command)
    else:
        by_hand = _by_hand(site, command)
        driven = _driven(site, run)
    return Pair(by_hand, driven, driven_first, load_average)


def _driven(site: Site, run: Run) -> float:
    """Operations a second of one client run, by its own summary."""
    _dispatch(site, run)
    has_begun = Run.objects.filter(pk=run.pk).exclude(starts_at=None).exists
    until(site, has_begun, CLIENT_READY_TIMEOUT_S, f"{run} to begin", poll_s=WATCH_S)
    time.sleep(run.spec["window"]["warmup_s"] + MEASURE_S)
    until_succeeded(site, run, poll_s=WATCH_S)
    summary = run.artifacts.get(kind="summary")
    return _throughput(parse_summary(artifacts.open_artifact(summary).decode()))


def _by_hand(site: Site, command: Command) -> float:
    """Operations a second of the stock client with the same properties, started as a person would in a shell."""
    with tempfile.TemporaryDirectory(prefix="benchsite-bench-") as name:
        folder = Path(name)
        (folder / "hdr").mkdir()
        outputs = {"hdrhistogram.output.path": f"{folder}/hdr/", "exportfile": f"{folder}/summary.txt"}
        properties = folder / "ycsb.properties"
        properties.write_text(render_properties({**command.properties, **outputs}), encoding="latin-1")
        argv = list(command.argv)
        argv[argv.index("-P") + 1] = str(properties)
        with (
            (folder / "stdout.txt").open("w") as stdout,
            (folder / "stderr.txt").open("w") as stderr,
            subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr) as client,
        ):
            try:
                until(
                    site,
                    lambda: client.poll() is not None,
                    BY_HAND_TIMEOUT_S,
                    "the client by hand to end",
                    poll_s=WATCH_S,
                )
            finally:
                client.kill()
        if client.returncode:
            last = (folder / "stderr.txt").read_text().strip().splitlines()[-1:]
            raise BenchmarkFailed(f"The client by hand ended with exit code {client.returncode}: {''.join(last)}")
        return _throughput(parse_summary((folder / "summary.txt").read_text()))


def _throughput(summary: Summary) -> float:
    """All operations over YCSB's own run time, which is the same on both sides."""
    codes = {code for operation in summary.operations.values() for code in operation.returns}
    if not summary.throughput_ops_s or codes != {"OK"}:
        raise BenchmarkFailed(f"A client's operations did not all succeed: {', '.join(sorted(codes))}")
    return summary.throughput_ops_s
