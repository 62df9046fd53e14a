"""PostgreSQL's time on a load generator or conductor. It is counted by the monotonic clock, so that nobody who sets the
host's clock moves what is measured; a step of that clock is noted.
"""

import time
from typing import Final

MIN_STEP_S: Final = 0.05  # less is what two readings on a busy host may differ by
READINGS: Final = 3


class Clock:
    """Reads the host's clock once. `offset_s` is PostgreSQL's clock minus the host's."""

    def __init__(self, offset_s: float = 0.0) -> None:
        self.offset_s = offset_s
        self._ahead_s = _wall_clock_ahead_s()
        # When, in seconds since 1970 on the host's clock without its steps, and by how much.
        self.steps: list[tuple[float, float]] = []

    def local_s(self) -> float:
        """Seconds since 1970 on the host's clock without its steps."""
        return time.monotonic() + self._ahead_s

    def now_s(self) -> float:
        """Seconds since 1970 on PostgreSQL's clock."""
        return self.local_s() + self.offset_s

    def stepped_s(self) -> float:
        """By how much the host's clock was stepped; notes a step since the last call."""
        noted_s = sum(by_s for _, by_s in self.steps)
        by_s = _wall_clock_ahead_s() - self._ahead_s - noted_s
        if abs(by_s) < MIN_STEP_S:
            return noted_s
        self.steps.append((self.local_s(), by_s))
        return noted_s + by_s


def _wall_clock_ahead_s() -> float:
    """The host's clock minus the monotonic one, by the reading that was interrupted least."""
    readings = []
    for _ in range(READINGS):
        before_s, wall_s, after_s = time.monotonic(), time.time(), time.monotonic()
        readings.append((after_s - before_s, wall_s - (before_s + after_s) / 2))
    return min(readings)[1]
