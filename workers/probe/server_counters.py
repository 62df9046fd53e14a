"""The counters that servers keep themselves, read once a second while a run measures.

A thread of its own reads them, over one connection, so that a server that answers late holds up nothing. Counts since
the servers' start become rates over the interval.
"""

import time
from typing import Final

from workers.generator.clock import Clock
from workers.probe.host_sampler import sampling_interval_s
from workers.probe.node_probe import row_text
from workers.probe.periodic_reader import PeriodicReader
from workers.provision.administration import Administration, AdministrationError, Counters

FILE_NAME: Final = "counters.csv"


class CounterSampler:
    """Reads from its start to its stop. What cannot be read ends the sampling, never the run."""

    def __init__(
        self, administration: Administration, *, duration_s: float | None = None, clock: Clock | None = None
    ) -> None:
        self._clock = clock or Clock()
        self._names: list[str] = []
        self._lines: list[str] = []
        self._last: tuple[float, Counters] | None = None
        self.reader = PeriodicReader(
            "counters of the servers",
            administration.open_counters,
            self._add,
            interval_s=sampling_interval_s(duration_s),
            error=AdministrationError,
        )

    @property
    def text(self) -> str:
        """The rows so far as CSV with a line of names; empty before the first."""
        if not self._lines:
            return ""
        return "\n".join([",".join(self._names), *self._lines, ""])

    def _add(self, counters: Counters) -> None:
        now = time.monotonic()
        if self._last is not None and counters.counts.keys() | counters.values.keys():
            before_at, before = self._last
            elapsed_s = now - before_at
            values = {"at_s": self._clock.now_s(), "interval_s": elapsed_s}
            for name, count in counters.counts.items():
                change = count - before.counts.get(name, float("nan"))
                if change < 0:  # A server that was started again counts from 0.
                    change = float("nan")
                values[f"{name}_per_s"] = change / elapsed_s
            values |= counters.values
            self._names = self._names or list(values)
            self._lines.append(row_text({name: values.get(name, float("nan")) for name in self._names}))

        self._last = now, counters
