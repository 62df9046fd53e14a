"""The end of the time that a server of somebody else has for its answers. No Django."""

import time

from runs.timeouts import CHECK_PROGRAM_TIMEOUT_S


class Deadline:
    """Time that passes for another reason than the server is added to it: of the program that asks the server, for its
    start, its work and its wait for a processor, at most `CHECK_PROGRAM_TIMEOUT_S` in all.
    """

    def __init__(self, timeout_s: float) -> None:
        self._until = time.monotonic() + timeout_s
        self.program_left_s = CHECK_PROGRAM_TIMEOUT_S

    @property
    def left_s(self) -> float:
        """Seconds; 0 or less once the time is over."""
        return self._until - time.monotonic()

    def postpone_for_program(self, seconds: float) -> None:
        seconds = min(seconds, self.program_left_s)
        self.program_left_s -= seconds
        self._until += seconds

    def extend(self, seconds: float) -> None:
        self._until += seconds

    def restart(self, timeout_s: float) -> None:
        """For what has a time of its own."""
        self._until = time.monotonic() + timeout_s
