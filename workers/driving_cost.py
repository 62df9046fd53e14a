"""CPU time that Benchsite's own processes take on a load generator while one client is measured; never the JVM's."""

import os
import time
from dataclasses import dataclass, field

import psutil


@dataclass(frozen=True, slots=True)
class Sample:
    """CPU seconds used so far, beside the moment."""

    at_s: float
    client_s: float  # the pool process and the guardian of this client
    worker_s: float  # the Celery worker, which all clients of the generator share


@dataclass
class DrivingCost:
    """Samples at the begin and the end of the measured window, in seconds after the client's start.

    Without `end_s` (a load) the window ends with the last sample.
    """

    guardian_pid: int
    begin_s: float
    end_s: float | None
    _samples: list[Sample] = field(default_factory=list)

    def sample(self, elapsed_s: float) -> None:
        """Call it once a second with the seconds since the client's start. A process that is gone ends the sampling."""
        if elapsed_s < self.begin_s or (self.end_s is not None and elapsed_s > self.end_s):
            return
        try:
            client_s = _cpu_s(os.getpid()) + _cpu_s(self.guardian_pid)
            self._samples[1:] = [Sample(time.monotonic(), client_s, _cpu_s(os.getppid()))]
        except psutil.Error:
            return

    def facts(self) -> dict[str, float]:
        """CPU seconds within `window_s`, for `ClientRun.facts["driving"]`; empty where fewer than two samples exist."""
        if len(self._samples) < 2:
            return {}
        first, last = self._samples
        return {
            "window_s": round(last.at_s - first.at_s, 3),
            "client_cpu_s": round(last.client_s - first.client_s, 3),
            "worker_cpu_s": round(last.worker_s - first.worker_s, 3),
        }


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
