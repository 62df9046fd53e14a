"""Whether a target was sustained: reached, without errors, and without a growing backlog."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

SUSTAINED: Final = 0.98  # reached / target; leaves room for start-up and tick losses
MARGINAL: Final = 0.95
MAX_ERRORS: Final = 0.001
BACKLOG_SHARE: Final = 0.5  # of the mean response time
MIN_BACKLOG_US: Final = 100_000.0

Outcome = Literal["sustained", "marginal", "failed"]


@dataclass(frozen=True, slots=True)
class TargetReached:
    outcome: Outcome
    ratio: float  # reached / target
    backlog_growing: bool
    backlog_us: float  # by how much the mean response time grew over the window


def judge_target(
    throughput_ops_s: float, target_ops_s: float, error_ratio: float, response_mean_us: Sequence[float] = ()
) -> TargetReached:
    """`response_mean_us` is the mean response time of every second, where there is one."""
    ratio = throughput_ops_s / target_ops_s
    growth, growing = backlog(response_mean_us)
    outcome: Outcome = "failed"
    if ratio >= MARGINAL and error_ratio <= MAX_ERRORS and not growing:
        outcome = "sustained" if ratio >= SUSTAINED else "marginal"
    return TargetReached(outcome, ratio, growing, growth)


def backlog(response_mean_us: Sequence[float]) -> tuple[float, bool]:
    """The growth (µs) of the mean response time over the window by least squares, and whether it is too much."""
    rate = backlog_growth(response_mean_us)
    if rate is None:
        return 0.0, False
    growth, mean = rate
    return growth, growth > max(BACKLOG_SHARE * mean, MIN_BACKLOG_US)


def backlog_growth(response_mean_us: Sequence[float]) -> tuple[float, float] | None:
    """Growth over the window and mean (µs) of the seconds' mean response times; None for fewer than three of them.

    A rate of arrival above that of service by the share d makes operations later by d s in every second.
    """
    values = np.asarray(response_mean_us, dtype=np.float64)
    seconds = np.flatnonzero(np.isfinite(values))
    if seconds.size < 3:
        return None
    kept = values[seconds]
    growth = float(np.polyfit(seconds.astype(np.float64), kept, 1)[0]) * float(values.size)
    return growth, float(kept.mean())
