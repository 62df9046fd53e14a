"""Whether the pool processes of a load generator work: each answers a Celery message now and then.

The worker's main process cannot tell: it fetches messages and gives signs of life while a pool process hangs.
"""

import enum
import logging
import os
import time
from pathlib import Path
from typing import Final

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError as BrokerError

from runs.timeouts import POOL_HUNG_AFTER_S
from workers.generator.work_folder import busy_folders

log = logging.getLogger(__name__)
PROBE_INTERVAL_S: Final = 10.0
# Messages that were not answered are sent again, less and less often: they stay in Redis while nothing fetches them.
MIN_RETRY_S: Final = 20.0
MAX_RETRY_S: Final = 300.0
# A pool process waits so long for the answers of the others, so that no process answers twice in one round.
ROUND_TIMEOUT_S: Final = 3.0


class PoolState(enum.Enum):
    PROBED = "probed"  # Every process that runs no client has just answered.
    UNKNOWN = "unknown"  # An answer may still come, or every process runs a client.
    HUNG = "hung"


class PoolProbe:
    """The probes of one load generator; made and asked in the worker's main process."""

    def __init__(self, generator: str, slots: int) -> None:
        self.generator, self.slots = generator, slots
        self._passed_at = time.time()  # on the clock of files
        self._sent_at = 0.0
        self._next_at = 0.0
        self._retry_s = MIN_RETRY_S
        self._pending = False

    def check(self) -> PoolState:
        """Collect the answers, and send the next messages when their time has come."""
        idle = self.slots - busy_folders(settings.WORK_DIR, self.generator)
        now = time.time()
        if idle <= 0:
            self._passed_at = now  # The clients' own heartbeats tell of these processes.
            return PoolState.UNKNOWN
        if self._pending and _answers(self.generator, self._sent_at) >= idle:
            self._passed_at, self._next_at = now, self._sent_at + PROBE_INTERVAL_S
            self._pending, self._retry_s = False, MIN_RETRY_S
            return PoolState.PROBED

        if now >= self._next_at:
            self._send(idle, now)
        if now - self._passed_at > POOL_HUNG_AFTER_S:
            return PoolState.HUNG

        return PoolState.UNKNOWN

    def _send(self, number: int, now: float) -> None:
        _folder(self.generator).mkdir(parents=True, exist_ok=True)
        self._sent_at, self._next_at = now, now + self._retry_s
        self._pending, self._retry_s = True, min(2 * self._retry_s, MAX_RETRY_S)
        try:
            for _ in range(number):
                current_app.send_task(
                    "load.probe",
                    args=[self.generator, now, number],
                    queue=f"load.{self.generator}",
                    expires=MAX_RETRY_S,
                )
        except BrokerError as error:
            log.warning("%s: no probe (%s).", self.generator, error)


def answer_probe(generator: str, sent_at: float, number: int) -> None:
    """In a pool process: answer, then wait until `number` processes have answered the message of `sent_at`."""
    answer = _folder(generator) / str(os.getpid())
    answer.touch()
    # The kernel's own time of a file may lie some milliseconds before the message was sent.
    now = time.time()
    os.utime(answer, (now, now))
    end = time.monotonic() + ROUND_TIMEOUT_S
    while _answers(generator, sent_at) < number and time.monotonic() < end:
        time.sleep(0.05)


def _answers(generator: str, sent_at: float) -> int:
    return sum(path.stat().st_mtime >= sent_at for path in _folder(generator).iterdir())


def _folder(generator: str) -> Path:
    return Path(settings.VAR_DIR) / "probes" / generator
