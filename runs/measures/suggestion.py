"""What warm-up a run's own series suggest. Said beside the run; nothing is cut by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from runs.measures.steady import DRIFT, drift_of, mser5

# A latency series with more empty intervals than this share of all says nothing about a steady state.
MAX_GAPS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Cut `cut_s` seconds by MSER-5, the later of throughput's and the latencies'; none at a limit."""

    cut_s: int
    by: str  # "throughput", or "p95 of READ": which of the series asked for the later cut
    at_limit: bool  # that series has no steady state within this run
    drift: float  # of the throughput over what the cut leaves, as a share of its mean

    @property
    def is_drifting(self) -> bool:
        """MSER does not see a slow trend, so a cut does not mean that the rest is steady."""
        return abs(self.drift) > DRIFT


def suggest(
    rate_ops_s: Sequence[float], p95_us: Mapping[str, Sequence[float]], *, interval_s: int = 1
) -> Suggestion | None:
    """From the clients' common time, one value for each interval; None where that is too short (20 intervals).

    Latencies are by operation; NaN where an interval has none.
    """
    rate = np.nan_to_num(np.asarray(rate_ops_s, dtype=np.float64))
    series = {"throughput": rate}
    for operation, values in p95_us.items():
        filled = _filled(np.asarray(values, dtype=np.float64))
        if filled is not None:
            series[f"p95 of {operation}"] = filled
    steady_parts = {name: steady for name, values in series.items() if (steady := mser5(values.tolist())) is not None}
    if "throughput" not in steady_parts:
        return None
    by, steady = max(steady_parts.items(), key=lambda item: (item[1].at_limit, item[1].truncate_s))
    drift = drift_of(rate[steady.truncate_s :])
    return Suggestion(
        cut_s=steady.truncate_s * interval_s,
        by=by,
        at_limit=steady.at_limit,
        drift=max(drift.slope, drift.halves, key=abs),
    )


def _filled(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Gaps bridged by straight lines; None where there are too many of them."""
    known = np.isfinite(values)
    if not values.size or (~known).mean() > MAX_GAPS:
        return None
    at = np.arange(values.size, dtype=np.float64)
    return np.interp(at, at[known], values[known])
