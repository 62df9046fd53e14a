"""Steps of a client's clock in its interval logs, whose times HdrHistogram takes from the wall clock.

Each interval begins where the one before it ended, so a step makes one interval longer or shorter, and moves all that
follow. Steps that were measured are taken out to the millisecond.

In uploads they are found: YCSB ends every interval at an instant that it sets by the monotonic clock, and a late end
is followed by a short interval. So a client that stood still is back in its pace afterwards, and one whose clock was
set is not. An interval that ends before it begins is always a step: it is then taken to be as long as others.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runs.ycsb.errors import HistogramError
from runs.ycsb.histogram import Floats
from runs.ycsb.numbers import LATEST_S

_RESOLUTION_S: Final = 0.001  # the logs have three decimals
MIN_STEP_S: Final = 0.15  # that is found; less is what intervals on a busy host differ by
MIN_WHOLE_STEP_S: Final = 1.5  # in times that are cut off to seconds
_MIN_JITTERS: Final = 4
_FIRST: Final = 3  # Fewer intervals before or behind it do not show the pace.
_NEIGHBOURS: Final = 5  # intervals, of which the one that is least late shows the pace
_ENDINGS: Final = 2  # the last intervals are cut off
_MAX_STEPS: Final = 20


class ClockStep(NamedTuple):
    """When, and by how much. A clock that was set back has a negative step."""

    at_s: float
    by_s: float


class Steadied(NamedTuple):
    """The times of one log without the steps. These are in seconds since 1970 on the clock without its steps."""

    start_s: Floats
    length_s: Floats
    steps: tuple[ClockStep, ...]


def without_steps(
    start_time_s: float, start_s: Floats, length_s: Floats, steps: Sequence[ClockStep] | None = None
) -> Steadied:
    """Times count from `start_time_s`. `steps` are those that were measured, in order; None: they are to be found.
    Raises HistogramError.
    """
    if steps is None:
        ends = start_s + length_s
        # Points that were put into seconds are no intervals of a client.
        is_whole = np.abs(start_s[1:] - ends[:-1]).max(initial=0.0) <= 2 * _RESOLUTION_S
        steps = [ClockStep(start_time_s + at_s, by_s) for _, (at_s, by_s) in find_steps(ends) if is_whole]

    if not steps and not (length_s < 0).any():
        return Steadied(start_s, length_s, ())

    usual_s = _usual_length_s(length_s)
    expected = list(steps)
    taken: list[ClockStep] = []
    starts: list[float] = []
    lengths: list[float] = []
    moved_s = 0.0
    for begin_s, duration_s in zip(start_s.tolist(), length_s.tolist(), strict=True):
        begin_s -= moved_s
        end_s = begin_s + duration_s
        while expected and (start_time_s + end_s >= expected[0].at_s or end_s < begin_s - _RESOLUTION_S):
            taken.append(expected.pop(0))
            moved_s, end_s = moved_s + taken[-1].by_s, end_s - taken[-1].by_s
        if end_s < begin_s - _RESOLUTION_S:
            taken.append(ClockStep(start_time_s + begin_s + usual_s, end_s - begin_s - usual_s))
            moved_s, end_s = moved_s + taken[-1].by_s, begin_s + usual_s
            if start_time_s + end_s > LATEST_S:
                raise HistogramError("the clock was set back so often that its intervals have no dates")
        starts.append(begin_s)
        lengths.append(max(end_s - begin_s, 0.0))

    return Steadied(np.array(starts), np.array(lengths), tuple(taken))


def find_steps(end_s: Floats) -> list[tuple[int, ClockStep]]:
    """The steps of the clock that wrote these ends of intervals, in the order of writing: the position of each interval
    that a step changed, and the step at an instant in it, on the clock without steps.
    """
    end_s = end_s[: max(end_s.size - _ENDINGS, 0)]
    if end_s.size <= _NEIGHBOURS:
        return []

    usual_s = float(np.median(np.diff(end_s)))
    jitter_s = float(np.median(np.abs(np.diff(end_s) - usual_s)))
    min_step_s = MIN_WHOLE_STEP_S
    if not (end_s % 1 == 0).all():
        min_step_s = max(MIN_STEP_S, _MIN_JITTERS * jitter_s)
    late_s = end_s - np.arange(end_s.size) * usual_s
    odd_s = np.abs(np.diff(end_s, prepend=end_s[0]) - usual_s)
    # A step hides what is odd beside it, so the largest is the first.
    candidates = np.argsort(-odd_s, kind="stable")[: int((odd_s >= min_step_s).sum())]
    sizes: dict[int, float] = {}
    for at in candidates[(candidates >= _FIRST) & (candidates <= end_s.size - _FIRST)].tolist():
        by_s = float(late_s[at : at + _NEIGHBOURS].min() - late_s[max(at - _NEIGHBOURS, 0) : at].min())
        if abs(by_s) >= min_step_s and len(sizes) < _MAX_STEPS:
            sizes[at] = by_s
            late_s[at:] -= by_s

    steps: list[tuple[int, ClockStep]] = []
    moved_s = 0.0
    for at, by_s in sorted(sizes.items()):
        inside_s = max(min(usual_s, abs(usual_s + by_s)) / 2, _RESOLUTION_S)
        steps.append((at, ClockStep(float(end_s[at - 1]) - moved_s + inside_s, by_s)))
        moved_s += by_s

    return steps


def _usual_length_s(length_s: Floats) -> float:
    """Half of the time is in intervals of this length or less: short ones at both ends of a log count little."""
    lengths = np.sort(length_s[length_s > 0])
    if not lengths.size:
        return 0.0
    return float(lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)])
