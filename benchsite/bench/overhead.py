"""What it costs to be driven by Benchsite: the same YCSB command by hand and as a client run, in turn."""

import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchsite.bench.live import BenchmarkFailed, submit_small, until, until_succeeded
from benchsite.bench.report import Report
from benchsite.supervisor import Site
from runs import artifacts, lifecycle
from runs.models import ClientRun, Run
from runs.ycsb.properties import render_properties
from runs.ycsb.summary import Summary, parse_summary
from workers import scheduling
from workers.tasks import conduct

PAIRS = 7
THREADS = 8
MEASURE_S = 8
WANTED = 0.98


def measure(site: Site) -> Report:
    """One server, one data set; between the client runs the queue rests, and the command is run by hand.

    Who comes first alternates, so that neither gains by a server that gets warmer or slower.
    """
    rows: list[list[str | int | float]] = []
    with _resting_scheduler(site):
        # One run more than needed: while it waits in the queue, the server is kept up.
        matrix = submit_small(site, threads=THREADS, measure_s=MEASURE_S, repeats=PAIRS + 2)
        load, first, *repeats = Run.objects.filter(matrix=matrix).order_by("position")
        _dispatch(site, load)
        until_succeeded(site, load)
        _dispatch(site, first)
        command = _command_of(site, first)  # While it runs: secrets are forgotten with its end.
        until_succeeded(site, first)
        for number, run in enumerate(repeats[:PAIRS], start=1):
            if number % 2:
                driven = _driven(site, run)
                by_hand = _by_hand(command)
            else:
                by_hand = _by_hand(command)
                driven = _driven(site, run)
            rows.append([number, by_hand, driven, driven / by_hand])
        assert matrix.created_by is not None
        lifecycle.request_cancel_matrix(matrix, matrix.created_by)
    figure = statistics.median(float(row[3]) for row in rows)
    return Report(
        name="overhead",
        title=f"The same YCSB command by hand and under Benchsite ({THREADS} threads, {MEASURE_S} s, one Redis)",
        columns=("pair", "by hand ops/s", "Benchsite ops/s", "ratio"),
        rows=rows,
        figure=figure,
        unit="ratio",
        wanted=f"at least {WANTED}",
        met=figure >= WANTED,
    )


@dataclass(frozen=True, slots=True)
class Command:
    """What Benchsite started: the command line, and the properties in the file that it names."""

    argv: tuple[str, ...]
    properties: dict[str, str] = field(repr=False)  # secrets among them


@contextmanager
def _resting_scheduler(site: Site) -> Iterator[None]:
    """The scheduler is stopped: what starts, and when, is said here."""
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
    conduct.delay(str(run.pk))


def _command_of(site: Site, run: Run) -> Command:
    started = ClientRun.objects.filter(run=run, command__len__gt=0)
    until(site, started.exists, 60, f"the client of {run} to start")
    client = started.get()
    # Without "--ready" the client does not wait for an agreed instant.
    argv = tuple(part for part in client.command if part != "--ready")
    return Command(argv, client.order["properties"])


def _driven(site: Site, run: Run) -> float:
    """Operations a second of one client run, by its own summary."""
    _dispatch(site, run)
    until_succeeded(site, run)
    summary = run.artifacts.get(kind="summary")
    return _throughput(parse_summary(artifacts.open_artifact(summary).decode()))


def _by_hand(command: Command) -> float:
    """Operations a second of the same command, with the same properties, started as one would in a shell."""
    with tempfile.TemporaryDirectory(prefix="benchsite-bench-") as name:
        folder = Path(name)
        (folder / "hdr").mkdir()
        places = {"hdrhistogram.output.path": f"{folder}/hdr/", "exportfile": f"{folder}/summary.txt"}
        properties = folder / "ycsb.properties"
        properties.write_text(render_properties({**command.properties, **places}), encoding="latin-1")
        argv = list(command.argv)
        argv[argv.index("-P") + 1] = str(properties)
        with (folder / "stdout.txt").open("w") as stdout, (folder / "stderr.txt").open("w") as stderr:
            done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, check=False)
        if done.returncode:
            last = (folder / "stderr.txt").read_text().strip().splitlines()[-1:]
            raise BenchmarkFailed(f"The command by hand ended with exit code {done.returncode}: {''.join(last)}")
        return _throughput(parse_summary((folder / "summary.txt").read_text()))


def _throughput(summary: Summary) -> float:
    """All operations over YCSB's own run time, which is the same on both sides."""
    if not summary.throughput_ops_s or set(summary.returns) != {"OK"}:
        raise BenchmarkFailed(f"A client's operations did not all succeed: {summary.returns}")
    return summary.throughput_ops_s
