"""A study's progress: a line that redraws itself in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from benchsite.formatting import throughput
from runs.models import Ending, Matrix, Run
from runs.models.run import Status
from runs.planning import preview, stored_plan

POLL_S = 1.0
BAR_WIDTH = 30


class Progress:
    """Follows matrices until all their runs have ended; what had ended before is counted and not reported."""

    def __init__(self, matrices: Sequence[Matrix], out: TextIO = sys.stdout, *, is_resumed: bool = False) -> None:
        self.matrices, self.out = matrices, out
        self.started = time.monotonic()
        self.planned_s = sum(preview(stored_plan(matrix)).seconds for matrix in matrices)  # of a search: at most
        ended = (
            Run.objects.filter(matrix__in=matrices, status__in=Status.terminal()) if is_resumed else Run.objects.none()
        )
        before = ended.values_list("pk", "expected_s")
        self.reported = {str(pk) for pk, _ in before}
        self.done_before_s = sum(seconds for _, seconds in before)

    def follow(self, check: Callable[[], None]) -> None:
        """Return when nothing is left to run. `check` raises when a part of the site has died."""
        while self._look():
            check()
            time.sleep(POLL_S)
        if self.out.isatty():
            self.out.write("\n")

    def _look(self) -> bool:
        # While an end is not looked at, a search may order another run. Asked first: both change in one transaction.
        may_grow = Ending.objects.filter(matrix__in=self.matrices).exists()
        runs = list(
            Run.objects.filter(matrix__in=self.matrices).order_by("matrix__created_at", "position", "pk").defer("spec")
        )
        ended = [run for run in runs if run.status in Status.terminal()]
        may_grow |= any(run.late_output_at for run in ended if run.status == Status.FAILED)
        for run in ended:
            if str(run.pk) not in self.reported:
                self.reported.add(str(run.pk))
                self._report(run)
        self._draw(runs, len(ended))
        return may_grow or len(ended) < len(runs)

    def _report(self, run: Run) -> None:
        """One line for each ended run; a failed one says why and what to do."""
        if run.status == Status.SUCCEEDED:
            text = f"  {run.name:<28} {throughput(run.throughput_ops_s):>12}   {run.verdict}"
        else:
            text = f"  {run.name:<28} {run.status}: {run.get_reason_display()}. {run.reason_detail}"
        self.out.write(("\r\033[K" if self.out.isatty() else "") + text + "\n")
        self.out.flush()

    def _draw(self, runs: list[Run], ended: int) -> None:
        if not self.out.isatty():
            return
        elapsed = time.monotonic() - self.started
        whole = max(self.planned_s, sum(run.expected_s for run in runs)) or 1.0
        done = sum(run.expected_s for run in runs if run.status in Status.terminal())
        # The plan's own estimate, corrected by how the runs so far have kept to it.
        pace = elapsed / (done - self.done_before_s) if done > self.done_before_s else 1.0
        left = max(0.0, (whole - done) * (pace if ended > 1 else 1.0))
        filled = round(BAR_WIDTH * done / whole)
        now = next((run.name for run in runs if run.status == Status.RUNNING), "")
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + left))
        bar = "#" * filled + "-" * (BAR_WIDTH - filled)
        self.out.write(f"\r\033[K[{bar}] {ended}/{len(runs)}  {minutes(elapsed)} elapsed, ends about {end}  {now}")
        self.out.flush()


def minutes(seconds: float) -> str:
    """m:ss"""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
