"""Which seconds since the epoch are moments: a clock may be set wrong by years, but its year has four digits."""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from runs.ycsb.histogram import Floats

EARLIEST_S: Final = datetime(2, 1, 1, tzinfo=UTC).timestamp()
LATEST_S: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def are_moments(seconds: Floats | float) -> bool:
    """Whether all of them can be said as a date, in any time zone; NaN cannot."""
    return bool(np.all((np.asarray(seconds) >= EARLIEST_S) & (np.asarray(seconds) <= LATEST_S)))
