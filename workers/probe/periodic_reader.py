"""Reads something once per interval in a thread of its own, so that what answers late holds up nothing."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, Generic, TypeVar

log = logging.getLogger(__name__)
MAX_FAILURES: Final = 3  # one after the other; then nothing is read any more
STOP_TIMEOUT_S: Final = 10.0
T = TypeVar("T")


class PeriodicReader(Generic[T]):
    """From its start to its stop. What `open_reader` makes is called once per interval, `add` with what it answers.

    Failures of the kind `error` end the reading at the third in a row, with a line in the log; never the run.
    """

    def __init__(
        self,
        subject: str,
        open_reader: Callable[[], AbstractContextManager[Callable[[], T]]],
        add: Callable[[T], None],
        *,
        interval_s: float,
        error: type[Exception],
    ) -> None:
        self._subject, self._open_reader, self._add, self._error = subject, open_reader, add, error
        self.interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=subject, daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Returns at once: nothing is read after what is being read."""
        self._stopping.set()

    def stop(self) -> None:
        """Returns when nothing is read any more."""
        self.cancel()
        self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            with self._open_reader() as read:
                self._read(read)
        except self._error as error:
            log.warning("%s: not read any more. %s", self._subject, error)
        except Exception:
            log.exception("%s: not read any more.", self._subject)

    def _read(self, read: Callable[[], T]) -> None:
        failures = 0
        due = time.monotonic()
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due, time.monotonic() - self.interval_s) + self.interval_s
            try:
                self._add(read())
                failures = 0
            except self._error:
                failures += 1
                if failures == MAX_FAILURES:
                    raise
