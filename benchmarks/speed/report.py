"""What a benchmark of Benchsite found, as a table in the terminal and as JSON in `var/bench/`."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

from benchsite.accounts.membership import ensure_demo_team
from benchsite.local.demo.study import StudyEntry, plan_study
from benchsite.local.supervisor import Site
from runs.models import LoadGenerator, Matrix, Run
from runs.models.run import Status
from runs.plans import submit
from runs.queue.lifecycle import request_cancel_matrix
from workers.generator.machine_facts import machine_facts

POLL_S = 0.02
MODE = StudyEntry("redis", "Redis", ["off"])


class BenchmarkFailed(Exception):
    """A run that a benchmark rests on did not succeed; the message is the run's own reason."""


def forget_earlier(site: Site) -> None:
    """End what an interrupted benchmark left in the queue, so that nothing stands before the next one."""
    unfinished = Run.objects.exclude(status__in=Status.terminal())
    for matrix in Matrix.objects.filter(pk__in=unfinished.values("matrix_id")).select_related("created_by"):
        assert matrix.created_by is not None
        request_cancel_matrix(matrix, matrix.created_by)
    until(site, lambda: not unfinished.exists(), 120, "earlier runs to end")


def submit_small(site: Site, *, threads: int, measure_s: int, repeats: int = 1) -> Matrix:
    """One mode, one rung, one load generator."""
    team, user = ensure_demo_team()
    generators = list(LoadGenerator.objects.filter(name=site.generators[0]).select_related("machine"))
    matrix = plan_study(
        team,
        user,
        generators,
        entries=[MODE],
        name=f"Benchmark of Benchsite, {timezone.now():%Y-%m-%d %H:%M:%S}",
        rungs=[threads],
        repeats=repeats,
        warmup_s=1,
        min_measure_s=measure_s,
        max_measure_s=measure_s,
    )
    submit(matrix, user)
    return matrix


def until(
    site: Site, condition: Callable[[], bool], patience_s: float, expectation: str, *, poll_s: float = POLL_S
) -> None:
    """Wait for it, but notice when a part of the site dies. Raises BenchmarkFailed, SiteError."""
    end = time.monotonic() + patience_s
    while not condition():
        site.check()
        if time.monotonic() > end:
            raise BenchmarkFailed(f"Waited {patience_s:.0f} s for {expectation}.")
        time.sleep(poll_s)


def until_succeeded(site: Site, run: Run, patience_s: float = 120, *, poll_s: float = POLL_S) -> Run:
    """The run, once it has succeeded."""

    def ended() -> bool:
        return Run.objects.filter(pk=run.pk, status__in=Status.terminal()).exists()

    until(site, ended, patience_s, f"{run} to end", poll_s=poll_s)
    run.refresh_from_db()
    if run.status != Status.SUCCEEDED:
        raise BenchmarkFailed(f"{run} ended as {run.get_status_display()}: {run.reason_detail}")
    return run


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark: every measurement it rests on, the one figure that counts, and what is wanted of it."""

    name: str  # of the JSON file
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    figure: float
    unit: str  # "ratio", "s" or "MB/s"
    wanted: str  # in words: "at least 0.98"
    met: bool
    notes: str = ""
    statistic: str = "median"  # what the figure is of the rows
    raw: dict[str, object] = field(default_factory=dict)

    def table(self) -> str:
        """The table, right-aligned, with the figure and the verdict below it."""
        cells = [list(self.columns), *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.columns))]
        lines = ["  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
        verdict = "met" if self.met else "NOT met"
        unit = "" if self.unit == "ratio" else f" {self.unit}"
        figure = f"{self.statistic} {self.figure:.3f}{unit}, wanted {self.wanted}: {verdict}"
        return "\n".join([self.title, *lines, f"  {figure}", *([f"  {self.notes}"] if self.notes else [])])

    def write(self, folder: Path) -> Path:
        """`<name>.json` in the folder, replacing that of an earlier time."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        content = {"measured_at": datetime.now(UTC).isoformat(), "machine": machine_facts(), **asdict(self)}
        path.write_text(json.dumps(content, indent=2, default=str) + "\n")
        return path


def _cell(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else value
