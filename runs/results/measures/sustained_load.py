"""Whether a target was sustained: reached and without errors; and by how much a backlog grew."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

SUSTAINED: Final = 0.98  # reached / target; leaves room for start-up and tick losses
MARGINAL: Final = 0.95
MAX_ERRORS: Final = 0.001
MAX_DROPPED: Final = 0.001

Outcome = Literal["sustained", "marginal", "failed"]


def judge_target(throughput_ops_s: float, target_ops_s: float, error_ratio: float) -> Outcome:
    """By the throughput that was reached and the share of failed operations."""
    ratio = throughput_ops_s / target_ops_s
    if ratio >= MARGINAL and error_ratio <= MAX_ERRORS:
        if ratio >= SUSTAINED:
            return "sustained"
        return "marginal"
    return "failed"


def judge_arrivals(dropped_share: float, error_ratio: float) -> Outcome:
    """The outcome of an open load, by the shares of dropped arrivals and of failed operations."""
    if dropped_share <= MAX_DROPPED and error_ratio <= MAX_ERRORS:
        return "sustained"
    return "failed"


def backlog_growth(response_mean_us: Sequence[float]) -> tuple[float, float] | None:
    """Growth over the window and mean (µs) of the seconds' mean response times; None for fewer than three of them.

    A rate of arrival above that of service by the share d makes operations later by d s in every second.
    """
    values = np.asarray(response_mean_us, dtype=np.float64)
    seconds = np.flatnonzero(np.isfinite(values))
    if seconds.size < 3:
        return None
    finite = values[seconds]
    growth = float(np.polyfit(seconds.astype(np.float64), finite, 1)[0]) * float(values.size)
    return growth, float(finite.mean())
