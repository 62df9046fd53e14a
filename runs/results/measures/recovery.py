"""How deep the throughput falls at a fault, and how fast it recovers, from the seconds of one run.

A fault's seconds are those that end after its begin and before the begin of the next fault, or the end of the window.
Times reach from the begin of the fault to the end of a second, so they are at most one second too long and never too
short: a second in which clients catch up hides that it began without an answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

RECOVERED_SHARE: Final = 0.9  # of the level before
# A throughput that reaches the level for a moment has not recovered.
SUSTAINED_S: Final = 3
MAX_LEVEL_S: Final = 60
# Above the target by more than this, clients make up for operations that were due earlier.
CATCH_UP_SHARE: Final = 0.05

EPSILON_S: Final = 1e-3  # what rounding may move the end of a second

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recovery:
    """What one fault did to the throughput. Times count from its begin, in seconds."""

    level_ops_s: float  # before the first fault
    lowest_ops_s: float  # of its seconds until it recovered
    below_s: int  # seconds below 90 % of the level
    errors: int
    first_success_s: float | None  # after the first second without one; 0: there was none, None: none followed
    recovered_s: float | None  # to the first of the seconds that kept 90 % of the level; 0: all did, None: none did
    catch_up_s: int  # seconds above the target, 0 without one
    catch_up_operations: float  # done in them beyond the target
    during_ops_s: float | None  # mean of the whole seconds until the fault ended; None where there is none
    returning_ops_s: float | None  # mean of those from its end until it recovered; None where there is none

    @property
    def depth(self) -> float:
        """1 - lowest / level: 1 where nothing was done in some second."""
        return 1 - self.lowest_ops_s / self.level_ops_s


def level_before(seconds: Floats, rate_ops_s: Floats, *, begin_s: float, end_s: float) -> float | None:
    """The median of the whole seconds from `begin_s` to `end_s`, of the last 60 at most; None where there is none."""
    inside = (seconds >= begin_s - 0.5) & (seconds + 1 <= end_s + EPSILON_S) & np.isfinite(rate_ops_s)
    rates = rate_ops_s[inside][-MAX_LEVEL_S:]
    if not rates.size:
        return None
    level = float(np.median(rates))
    return level if level > 0 else None


def recoveries(
    seconds: Floats,
    rate_ops_s: Floats,
    failed: Floats,
    faults_s: Sequence[tuple[float, float | None]],
    *,
    begin_s: float,
    end_s: float,
    target_ops_s: float | None = None,
) -> list[Recovery] | None:
    """One for each fault, in the order of their begin; None where the level before them is not known.

    `faults_s` are the instants at which faults began and ended, on the axis of `seconds`; None: it did not end.
    `seconds` are the begins of seconds; both ascend. `rate_ops_s` are the successful operations of each second, NaN
    where no client ran, and `failed` those that failed. The window is from `begin_s` to `end_s`.
    """
    if not faults_s:
        return None

    begins_s = [fault_begin_s for fault_begin_s, _ in faults_s]
    level = level_before(seconds, rate_ops_s, begin_s=begin_s, end_s=begins_s[0])
    if level is None:
        return None

    ends = seconds + 1
    finite = np.isfinite(rate_ops_s)
    measured = []
    for (fault_begin_s, fault_end_s), next_s in zip(faults_s, [*begins_s[1:], end_s], strict=True):
        inside = finite & (ends > fault_begin_s + EPSILON_S) & (ends <= next_s + EPSILON_S)
        lasted_s = np.inf if fault_end_s is None else fault_end_s - fault_begin_s
        after_s = ends[inside] - fault_begin_s
        measured.append(_measure_recovery(after_s, rate_ops_s[inside], failed[inside], level, lasted_s, target_ops_s))

    return measured


def _measure_recovery(
    after_s: Floats,
    rate: Floats,
    failed: Floats,
    level: float,
    lasted_s: float,
    target_ops_s: float | None,
) -> Recovery:
    low = rate < RECOVERED_SHARE * level
    recovered = _find_recovery(low)
    recovered_s = None
    if recovered is not None:
        recovered_s = float(after_s[recovered]) if recovered else 0.0

    catch_up = np.zeros(0)
    if target_ops_s:
        catch_up = rate[rate > target_ops_s * (1 + CATCH_UP_SHARE)] - target_ops_s
    is_during = (after_s >= 1 - EPSILON_S) & (after_s <= lasted_s + EPSILON_S)
    is_after = after_s >= lasted_s + 1 - EPSILON_S

    return Recovery(
        level_ops_s=level,
        # Where it never fell below 90 %, or never recovered, the lowest second of all.
        lowest_ops_s=float(rate[: recovered or rate.size].min(initial=level)),
        below_s=int(low.sum()),
        errors=int(np.nansum(failed)),
        first_success_s=_find_first_success_s(after_s, rate),
        recovered_s=recovered_s,
        catch_up_s=catch_up.size,
        catch_up_operations=float(catch_up.sum()),
        during_ops_s=_mean(rate[is_during]),
        returning_ops_s=_mean(rate[is_after][: _find_recovery(low[is_after])]),
    )


# After an overload goodput has come back where so many seconds in a row do as much of what is offered as before it.
BACK_S: Final = 5
BACK_SHARE: Final = 0.98
BACK_LATENCY: Final = 2.0  # times the p99 before


def find_return_s(
    seconds: Floats, goodput_ops_s: Floats, offered_ops_s: Floats, p99_us: Floats, *, began_s: float, ended_s: float
) -> float | None:
    """How long after the end of an overload an open load is served as before it, in seconds; None: it never is.

    It is the begin of the first `BACK_S` seconds in a row that together reach `BACK_SHARE` of the share of the offered
    operations that was done before, none with a p99 above `BACK_LATENCY` times the median before. NaN where the
    seconds before the overload do not tell. All arrays are by second, on the axis of `began_s` and `ended_s`.
    """
    before = seconds + 1 <= began_s + EPSILON_S
    usual_us = p99_us[before & np.isfinite(p99_us)]
    offered_before = offered_ops_s[before].sum()
    if not offered_before or not usual_us.size:
        return float("nan")

    min_share = BACK_SHARE * goodput_ops_s[before].sum() / offered_before
    max_us = BACK_LATENCY * float(np.median(usual_us))
    after = np.flatnonzero(seconds >= ended_s - EPSILON_S)
    for first in after[: max(after.size - BACK_S + 1, 0)].tolist():
        part = slice(first, first + BACK_S)
        offered = offered_ops_s[part].sum()
        is_fast = np.nanmax(p99_us[part], initial=0) <= max_us
        if offered and is_fast and goodput_ops_s[part].sum() / offered >= min_share:
            return max(float(seconds[first] - ended_s), 0.0)

    return None


def _mean(rate: Floats) -> float | None:
    return float(rate.mean()) if rate.size else None


def _find_recovery(low: npt.NDArray[np.bool_]) -> int | None:
    """The first second from which none of SUSTAINED_S is low, after the first low one; 0 where none is low."""
    if not low.any():
        return 0
    for index in range(int(np.argmax(low)) + 1, low.size):
        following = low[index : index + SUSTAINED_S]
        if following.size == SUSTAINED_S and not following.any():
            return index
    return None


def _find_first_success_s(after_s: Floats, rate: Floats) -> float | None:
    empty = rate <= 0
    if not empty.any():
        return 0.0
    first_empty = int(np.argmax(empty))
    successes = np.flatnonzero(~empty[first_empty:])
    if successes.size:
        return float(after_s[first_empty + successes[0]])
    return None
