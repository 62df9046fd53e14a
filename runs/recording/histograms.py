"""The merged histogram of one operation over the window of a run's cut, from its stored interval histograms."""

from collections.abc import Sequence
from typing import Final

from runs.models import MeasurementSet
from runs.models.run import Phase
from runs.ycsb.histogram import Histogram
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.window import Cut, Windowed, regrouped, windowed

WHOLE: Final = Cut(phase="load")
# A window's length is kept with fewer digits than its ends; intervals are a second long.
ROUNDED_S: Final = 1e-4


def operations_of(stored: Sequence[StoredIntervals]) -> list[tuple[str, str]]:
    """Of which operations and kinds of latency there are histograms of what succeeded."""
    parsed = [entry.timeline.parsed for entry in stored]
    return sorted({(name.operation, name.kind) for name in parsed if not name.status})


def merged_histogram(
    kept: MeasurementSet, stored: Sequence[StoredIntervals], operation: str, kind: str
) -> Histogram | None:
    """All clients of one operation in the window of this cut; None where there is no such operation.

    Raises YcsbError where the intervals do not fit the cut any more.
    """
    named = [(entry, entry.timeline.parsed) for entry in stored]
    wanted = [entry for entry, is_of in named if (is_of.operation, is_of.kind, is_of.status) == (operation, kind, "")]
    if not wanted:
        return None
    window = _window(kept, stored)
    return Histogram.merged(
        entry.histogram(number, window.inside(entry.kept)) for entry in wanted for number in window.ranges
    )


def _window(kept: MeasurementSet, stored: Sequence[StoredIntervals]) -> Windowed:
    numbers = sorted({int(client["number"]) for client in kept.clients})
    is_load = kept.run.phase == Phase.LOAD
    cut = WHOLE if is_load else Cut(kept.warmup_s, kept.window_s + ROUNDED_S, kept.tail_s)
    window = windowed([entry.timeline for entry in stored], numbers, cut)
    if any(len(entry.kept) != len(entry.timeline) for entry in stored):
        window = regrouped(window, [entry.kept for entry in stored])
    return window
