"""What the history of one number says: its changes, the level it is at now, and whether the newest value stands out.

The rules are the defaults of analysis 7; docs/evidence/change-points.md has their error rates.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from reports.trends.analysis.edivisive import Floats, Split, change_points, compared, with_ends

MIN_HISTORY: Final = 10  # points, before anything is said
MIN_AFTER: Final = 2  # points of the new level, the first one included
NOISE_TIMES: Final = 2.0  # a change is at least so many times the variation of the series
STEP_TIMES: Final = 4.0  # robust standard deviations; outside them a single point is measured again
MAD_TO_SD: Final = 1.4826  # of a normal distribution
NEARBY: Final = 2  # points: what a person said of a change stays with it when it moves by as much


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as a change of one metric."""

    higher_is_better: bool
    min_magnitude: float  # the greater of the relative changes forward and backward
    logarithms: bool = False  # levels are compared as ratios


THROUGHPUT: Final = Rule(higher_is_better=True, min_magnitude=0.05)
LATENCY: Final = Rule(higher_is_better=False, min_magnitude=0.05, logarithms=True)
TAIL_LATENCY: Final = Rule(higher_is_better=False, min_magnitude=0.10, logarithms=True)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of level."""

    index: int  # of the first point of the new level
    before: float  # means of the stretches on both sides, geometric for logarithms; the unit is that of the values
    after: float
    p: float
    better: bool
    weak: bool = False  # seen, but too uncertain or too small to count
    confirmed: bool = False  # a person confirmed or accepted it: it stays, whatever is measured later
    dismissed: bool = False  # a person called it a false alarm

    @property
    def relative(self) -> float | None:
        """The new level against the old one; None where the old one is zero."""
        return self.after / self.before - 1 if self.before else None

    @property
    def counts(self) -> bool:
        return not (self.weak or self.dismissed)


@dataclass(frozen=True, slots=True)
class Level:
    """A stretch of points without a change between them."""

    start: int
    stop: int  # not included
    median: float
    low: float  # median -/+ 4 robust standard deviations: a point outside them stands out
    high: float


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that is said of one series. Changes are in its order, weak and dismissed ones among them."""

    changes: tuple[Change, ...] = ()
    levels: tuple[Level, ...] = ()
    # The newest point against the median of those before it, where it lies outside their level: no change yet, but
    # worth another run.
    step: float | None = None
    too_short: bool = False  # fewer points since its baseline than anything is said of


def detect_changes(
    values: Sequence[float] | Floats, rule: Rule, *, confirmed: Collection[int] = (), dismissed: Collection[int] = ()
) -> Course:
    """The changes and levels of a series of finite values.

    `confirmed` are indices at which a person confirmed or accepted a change: each begins a baseline of its own, and
    what comes after is compared with nothing before it. `dismissed` are those of false alarms; they are matched to the
    nearest change within two points, for a change moves a little as points are added.
    """
    raw = np.asarray(values, dtype=float)
    if not raw.size:
        return Course(too_short=True)

    if rule.logarithms and raw.min() <= 0:
        rule = replace(rule, logarithms=False)  # Zero has no logarithm: 1 ms buckets print it for what is shorter.
    scaled = np.log(raw) if rule.logarithms else raw
    starts = [0, *sorted({index for index in confirmed if 0 < index < raw.size})]
    strong, weak = _search(scaled, starts, rule)
    false_alarms = _match_false_alarms(strong, dismissed)
    # Levels begin where a person accepted one, and at every change that counts.
    level_starts = sorted({*starts, *(split.index for split in strong if split.index not in false_alarms)})
    changes = [_build_change(split, rule, weak=True) for split in weak]
    for split in strong:
        if split.index in false_alarms:
            changes.append(_build_change(split, rule, dismissed=True))
    for before, index, after in with_ends(level_starts[1:], raw.size):
        # Of the whole levels on both sides: the search compared parts of them.
        changes.append(_build_change(compared(scaled, before, index, after), rule, confirmed=index in starts))

    levels = tuple(_build_level(raw, start, stop, rule) for start, stop in pairwise([*level_starts, raw.size]))
    return Course(
        changes=tuple(sorted(changes, key=lambda change: change.index)),
        levels=levels,
        step=_detect_step(raw, levels[-1], rule),
        too_short=raw.size - starts[-1] < MIN_HISTORY,
    )


def _match_false_alarms(splits: Sequence[Split], dismissed: Collection[int]) -> set[int]:
    """The indices of the splits that a person dismissed: the nearest to each dismissed index."""
    matched = set()
    for index in dismissed:
        nearest = min(splits, key=lambda split: abs(split.index - index), default=None)
        if nearest and abs(nearest.index - index) <= NEARBY:
            matched.add(nearest.index)
    return matched


def estimate_noise(values: Floats, *, logarithms: bool) -> float:
    """The coefficient of variation, from the differences of neighbours, which changes of level hardly touch."""
    if values.size < 2:
        return 0.0
    sd = MAD_TO_SD * float(np.median(np.abs(np.diff(values)))) / math.sqrt(2)
    if logarithms:
        return sd
    middle = abs(float(np.median(values)))
    return sd / middle if middle else 0.0


def _search(scaled: Floats, starts: Sequence[int], rule: Rule) -> tuple[list[Split], list[Split]]:
    """Change points within each baseline that is long enough."""
    strong: list[Split] = []
    weak: list[Split] = []
    for start, stop in pairwise([*starts, scaled.size]):
        part = scaled[start:stop]
        if part.size < MIN_HISTORY:
            continue
        noise = estimate_noise(part, logarithms=rule.logarithms)
        splits, of_first_pass = change_points(
            part,
            min_magnitude=max(rule.min_magnitude, NOISE_TIMES * noise),
            logarithms=rule.logarithms,
            least=MIN_AFTER,
        )
        for split in splits:
            in_series = replace(split, index=split.index + start)
            if _is_strong(part, split):
                strong.append(in_series)
            else:
                weak.append(in_series)
        weak += [replace(split, index=split.index + start) for split in of_first_pass]

    return strong, weak


def _is_strong(part: Floats, split: Split) -> bool:
    """Whether at least two points are at the new level: one far one takes an ordinary neighbour along otherwise."""
    after = part[split.index :]
    return after.size > MIN_AFTER or bool(np.all(np.abs(after - split.after) < np.abs(after - split.before)))


def _build_change(
    split: Split, rule: Rule, *, weak: bool = False, confirmed: bool = False, dismissed: bool = False
) -> Change:
    before, after = split.before, split.after
    if rule.logarithms:
        before, after = math.exp(before), math.exp(after)
    better = (after > before) == rule.higher_is_better
    return Change(split.index, before, after, split.p, better, weak=weak, confirmed=confirmed, dismissed=dismissed)


def _build_level(raw: Floats, start: int, stop: int, rule: Rule) -> Level:
    median, tolerance = _measure_level(raw[start:stop], rule)
    return Level(start, stop, median, low=max(median - tolerance, 0.0), high=median + tolerance)


def _measure_level(part: Floats, rule: Rule) -> tuple[float, float]:
    """Median and 4 robust standard deviations; where all are alike, the least change that matters."""
    median = float(np.median(part))
    mad = float(np.median(np.abs(part - median)))
    return median, STEP_TIMES * MAD_TO_SD * mad or rule.min_magnitude * abs(median)


def _detect_step(raw: Floats, current: Level, rule: Rule) -> float | None:
    """`Course.step` (analysis 7: run again, do not alert)."""
    earlier = raw[current.start : current.stop - 1]
    if earlier.size < MIN_HISTORY:
        return None
    median, tolerance = _measure_level(earlier, rule)
    newest = float(raw[-1])
    if not median or abs(newest - median) <= tolerance:
        return None
    return newest / median - 1
