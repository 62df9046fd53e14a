"""From the queue to the start: how long a run waits on a site that has nothing else to do."""

import statistics
from datetime import datetime

from benchmarks.speed.report import Report, submit_small, until, until_succeeded
from benchsite.supervisor import Site
from runs.models import Deployment, Run

RUNS = 5
WANTED_S = 2.0


def measure(site: Site) -> Report:
    """Matrices of one load and one run, one after the other; all times are PostgreSQL's.

    A matrix's first run waits for nothing but the scheduler and the conductor. Its second one waits for the first, and
    is counted from that one's end: then its machine is free. The start is the moment at which the conductor has claimed
    the run; the time to the clients' first operation is told beside it.
    """
    rows: list[list[str | int | float]] = []
    for number in range(1, RUNS + 1):
        matrix = submit_small(site, threads=2, measure_s=1)
        load, measured = (until_succeeded(site, run) for run in Run.objects.filter(matrix=matrix).order_by("position"))
        rows.append(
            [
                number,
                _seconds(load.created_at, load.started_at),
                _seconds(load.finished_at, measured.started_at),
                _seconds(load.created_at, load.starts_at),
                _seconds(load.finished_at, measured.starts_at),
            ]
        )
        left = Deployment.objects.filter(matrix=matrix).exclude(state=Deployment.State.GONE)
        until(site, lambda left=left: not left.exists(), 60, "the server to be removed")  # type: ignore[misc]
    waits = [float(row[column]) for row in rows for column in (1, 2)]
    figure = statistics.median(waits)
    return Report(
        name="queue-to-start",
        title="From the queue to the start of a run on an idle site, in seconds",
        columns=("matrix", "load claimed", "run claimed", "load's first operation", "run's first operation"),
        rows=rows,
        figure=figure,
        unit="s",
        wanted=f"under {WANTED_S:.0f} s",
        met=figure < WANTED_S,
        notes="The figure is the median of both 'claimed' columns; first operations include server and JVM start.",
    )


def _seconds(begun: datetime | None, ended: datetime | None) -> float:
    assert begun is not None and ended is not None
    return (ended - begun).total_seconds()
