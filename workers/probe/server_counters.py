"""The counters that servers keep themselves, read once a second while a run measures.

A thread of its own reads them, over one connection, so that a server that answers late holds up nothing. Counts since
the servers' start become rates over the interval.
"""

import logging
import threading
import time
from typing import Final

from workers.generator.clock import Clock
from workers.probe.host_sampler import sampling_interval_s
from workers.probe.node_probe import row_text
from workers.provision.administration import Administration, AdministrationError, Counters

log = logging.getLogger(__name__)
FILE_NAME: Final = "counters.csv"
MAX_FAILURES: Final = 3  # one after the other; then the counters of this run are not read any more
STOP_TIMEOUT_S: Final = 10.0


class CounterSampler:
    """Reads from its start to its stop. What cannot be read ends the sampling, never the run."""

    def __init__(
        self, administration: Administration, *, duration_s: float | None = None, clock: Clock | None = None
    ) -> None:
        self._administration, self._clock = administration, clock or Clock()
        self._interval_s = sampling_interval_s(duration_s)
        self._names: list[str] = []
        self._lines: list[str] = []
        self._last: tuple[float, Counters] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, name="server counters", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is read any more."""
        self._stopping.set()
        self._thread.join(STOP_TIMEOUT_S)

    @property
    def text(self) -> str:
        """The rows so far as CSV with a line of names; empty before the first."""
        return "\n".join([",".join(self._names), *self._lines, ""]) if self._lines else ""

    def _read(self) -> None:
        try:
            with self._administration.open_counters() as read:
                failures = 0
                due = time.monotonic()
                while not self._stopping.wait(max(0.0, due - time.monotonic())):
                    due = max(due, time.monotonic() - self._interval_s) + self._interval_s
                    try:
                        self._add(read())
                        failures = 0
                    except AdministrationError:
                        failures += 1
                        if failures == MAX_FAILURES:
                            raise
        except AdministrationError as error:
            log.warning("The counters of the servers are not read any more: %s", error)
        except Exception:
            log.exception("The counters of the servers are not read any more.")

    def _add(self, counters: Counters) -> None:
        now = time.monotonic()
        if self._last is not None and counters.counts.keys() | counters.values.keys():
            before_at, before = self._last
            elapsed_s = now - before_at
            values = {"at_s": self._clock.now_s(), "interval_s": elapsed_s}
            for name, count in counters.counts.items():
                change = count - before.counts.get(name, float("nan"))
                # A server that was started again counts from 0.
                values[f"{name}_per_s"] = change / elapsed_s if change >= 0 else float("nan")
            values |= counters.values
            self._names = self._names or list(values)
            self._lines.append(row_text({name: values.get(name, float("nan")) for name in self._names}))
        self._last = now, counters
