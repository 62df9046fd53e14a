"""A run cut again from its stored intervals, with another warm-up or another end, without its logs.

The window is found on the log's own intervals. Where those of ten seconds are kept together, the cut takes whole tens:
each client's covered length is that of what is taken, so its throughput stays exact.
"""

from collections.abc import Sequence

from runs.ycsb.batches import Batches
from runs.ycsb.merge import Counted, assemble
from runs.ycsb.merged import ClientStatement, MergedRun
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.window import Cut, Windowed, regrouped, windowed


def recut(stored: Sequence[StoredIntervals], clients: Sequence[ClientStatement], cut: Cut) -> MergedRun:
    """Every number of the run over another window. Raises MergeError where nothing is left of it."""
    timelines = [entry.timeline for entry in stored]
    window = windowed(timelines, [client.number for client in clients], cut)
    if any(len(entry.kept) != len(entry.timeline) for entry in stored):
        window = regrouped(window, [entry.kept for entry in stored])
    return assemble(window, [_counted(entry, window) for entry in stored], clients, timelines=timelines)


def _counted(entry: StoredIntervals, windows: Windowed) -> Counted:
    inside, batch = windows.inside(entry.kept), windows.batch(entry.kept)
    whole = {}
    for number in windows.ranges:
        mine = entry.timeline.client == number
        if mine.any():
            whole[number] = int(entry.timeline.totals[mine].sum())
    window = {number: entry.histogram(number, inside) for number in whole}
    batches = Batches(windows.batches)
    entry.add_to(batches, batch, inside)
    return Counted(entry.timeline.parsed, entry.timeline.name, whole, window, batches)
