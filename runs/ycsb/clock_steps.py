"""Steps of a client's clock in its interval logs, whose times HdrHistogram takes from the wall clock.

Each interval begins where the one before it ended, so a step makes one interval longer or shorter, and moves all that
follow. Steps that were measured are taken out to the millisecond. Others are seen where an interval ends before it
begins: it is then taken to be as long as others.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runs.ycsb.errors import HistogramError
from runs.ycsb.histogram import Floats
from runs.ycsb.numbers import LATEST_S

_RESOLUTION_S: Final = 0.001  # the logs have three decimals


class ClockStep(NamedTuple):
    """When, and by how much. A clock that was set back has a negative step."""

    at_s: float
    by_s: float


class Steadied(NamedTuple):
    """The times of one log without the steps. These are in seconds since 1970 on the clock without its steps."""

    start_s: Floats
    length_s: Floats
    steps: tuple[ClockStep, ...]


def without_steps(start_time_s: float, start_s: Floats, length_s: Floats, steps: Sequence[ClockStep] = ()) -> Steadied:
    """Times count from `start_time_s`. `steps` are those that were measured, in order. Raises HistogramError."""
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


def _usual_length_s(length_s: Floats) -> float:
    """Half of the time is in intervals of this length or less: short ones at both ends of a log count little."""
    lengths = np.sort(length_s[length_s > 0])
    if not lengths.size:
        return 0.0
    return float(lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)])
