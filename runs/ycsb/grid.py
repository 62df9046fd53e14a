"""The common 1-s grid of a run's clients: which second each of their intervals belongs to.

The clients' status lines are not in step, and an interval of about a second straddles two seconds of the grid. Cutting
at the grid would put two intervals of a client into one second and none into the next whenever its phase lies near a
border. So each client's grid is shifted by its own constant phase (at most half a second), and an interval belongs to
the second to which its shifted start is nearest. An interval that lasts longer covers the seconds up to its successor:
its operations are spread over them, and each of them shows its latencies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from runs.ycsb.errors import MergeError
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.intervals import Timeline

# Shorter parts of a second say nothing about a rate: the first and the last interval of a client last milliseconds.
MIN_COVERED_S: Final = 0.1
# Times that are further apart are damage, and a grid over them would fill the memory.
MAX_S: Final = 14 * 24 * 3600


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Timeline on the grid. A long one occurs once for every second it covers, with weights that add up to 1."""

    interval: Ints
    second: Ints
    weight: Floats
    nth: Ints  # which of its interval's seconds this is


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The seconds since `base_s` that any client covers, and how much of each every client covers."""

    base_s: float
    phases: Mapping[int, float]
    seconds: Ints  # ascending
    covered_s: Mapping[int, Floats]  # client -> for every second

    def place(self, timeline: Timeline) -> Placed:
        """Which seconds the intervals of one measurement belong to."""
        shift = np.zeros(len(timeline), dtype=np.float64)
        for number, phase in self.phases.items():
            shift[timeline.client == number] = phase

        first = np.rint(timeline.start_s - self.base_s - shift).astype(np.int64)
        beyond = np.rint(timeline.end_s - self.base_s - shift).astype(np.int64)
        spread = np.maximum(beyond - first, 1)
        if len(timeline) and max(int(beyond.max()) - int(first.min()), int(spread.max())) > MAX_S:
            raise MergeError(
                f"The intervals of {timeline.name} lie more than {MAX_S // 86_400} days apart: the times of a log, or "
                "the offset of a client's clock, are wrong."
            )
        interval = np.repeat(np.arange(len(timeline), dtype=np.int64), spread)
        nth = np.arange(interval.size, dtype=np.int64) - np.repeat(np.cumsum(spread) - spread, spread)
        return Placed(interval, first[interval] + nth, 1.0 / spread[interval], nth)

    def rows(self, placed: Placed) -> Ints:
        """The position of each second in `seconds`. Another operation's border may lie just outside: it is moved in."""
        return np.clip(np.searchsorted(self.seconds, placed.second), 0, self.seconds.size - 1).astype(np.int64)

    def counts(self, timeline: Timeline) -> dict[int, Ints]:
        """For every client the values counted in each second; the parts of a long interval add up to its total."""
        placed = self.place(timeline)
        totals = timeline.totals[placed.interval]
        rows = self.rows(placed)
        parts = np.rint(1.0 / placed.weight).astype(np.int64)
        shares = totals * (placed.nth + 1) // parts - totals * placed.nth // parts
        client = timeline.client[placed.interval]
        counts: dict[int, Ints] = {}
        for number in self.covered_s:
            counts[number] = np.zeros(self.seconds.size, dtype=np.int64)
            np.add.at(counts[number], rows[client == number], shares[client == number])
        return counts

    def rate_ops_s(self, counts: Mapping[int, Ints]) -> Floats:
        """Per second of all clients together: each client's count over what it covers. NaN where nobody covers much."""
        total = np.zeros(self.seconds.size, dtype=np.float64)
        seen = np.zeros(self.seconds.size, dtype=np.bool_)
        for number, covered in self.covered_s.items():
            enough = covered >= MIN_COVERED_S
            total[enough] += counts[number][enough] / covered[enough]
            seen |= enough
        total[~seen] = np.nan
        return total


def make_grid(reference: Mapping[int, Timeline], ended_s: Mapping[int, float], base_s: float) -> Grid:
    """The grid of a run. `reference` is each client's first measured operation, `ended_s` when its last one ended."""
    phases = {number: _phase(timeline, base_s) for number, timeline in reference.items()}
    empty = Grid(base_s, phases, np.zeros(0, dtype=np.int64), {})
    placed = {number: empty.place(timeline) for number, timeline in reference.items()}
    lengths: dict[int, Floats] = {}
    for number, timeline in reference.items():
        # What comes after the last operation is the client writing its summary.
        until = np.minimum(timeline.end_s, ended_s[number])
        lengths[number] = np.maximum(until - timeline.start_s, 0.0)[placed[number].interval] * placed[number].weight

    occurring = [part.second[lengths[number] > 0] for number, part in placed.items()]
    seconds = np.unique(np.concatenate(occurring)) if occurring else empty.seconds
    covered: dict[int, Floats] = {}
    for number, part in placed.items():
        covered[number] = np.zeros(seconds.size, dtype=np.float64)
        lasting = lengths[number] > 0
        np.add.at(covered[number], np.searchsorted(seconds, part.second[lasting]), lengths[number][lasting])

    return Grid(base_s, phases, seconds, covered)


def _phase(timeline: Timeline, base_s: float) -> float:
    """By how much the typical start of an interval of a second lies after a full second, in [-0.5, 0.5]."""
    starts = timeline.start_s[np.abs(timeline.length_s - 1.0) < 0.5] - base_s
    if not starts.size:
        return 0.0
    # The mean of directions on a circle, because 0.99 and 0.01 lie close together.
    return float(np.angle(np.exp(2j * np.pi * starts).mean()) / (2 * np.pi))


def references(intervals: Sequence[Timeline]) -> dict[int, Timeline]:
    """For every client the intervals of the operation that it measured first: they tell when the client lived."""
    measured = [timeline for timeline in intervals if timeline.parsed.is_operation]
    candidates = [timeline for timeline in measured if timeline.parsed.kind == "service"] or measured
    first: dict[int, tuple[float, int, str]] = {}
    for timeline in candidates:
        for number in set(timeline.client.tolist()):
            starts = timeline.start_s[timeline.client == number]
            rank = (float(starts.min()), -int(starts.size), timeline.name)
            first[number] = min(first.get(number, rank), rank)

    by_name = {timeline.name: timeline for timeline in candidates}
    # When they were, without their histograms.
    return {
        number: Timeline.select(by_name[name], by_name[name].client == number)
        for number, (_, _, name) in sorted(first.items())
    }


def build_grid(timelines: Sequence[Timeline], ended_s: Mapping[int, float], base_s: float) -> Grid:
    """The grid of the clients that were merged; `ended_s` tells when each did its last operation."""
    reference = {number: timeline for number, timeline in references(timelines).items() if number in ended_s}
    return make_grid(reference, ended_s, base_s)
