"""The conductor's sign of life: a thread that beats while the run is carried out, and hears of cancelling.

And the grace after an outage, before the silence of others counts.
"""

import logging
import threading
import time
import uuid

from django.db import Error, connection

from runs.queue import lifecycle
from runs.timeouts import HEARTBEAT_INTERVAL_S

log = logging.getLogger(__name__)


class RunCancelled(Exception):
    """Somebody asked for the run to stop."""


class RunInterrupted(Exception):
    """This process was told to stop."""


# Set when this process is told to stop: each of its runs then ends as interrupted.
stopping = threading.Event()


class Heartbeat:
    """Beats from its own thread and connection, so that a slow step of the conductor is not taken for its death."""

    def __init__(self, run_id: uuid.UUID, claim: uuid.UUID) -> None:
        self.run_id, self.claim = run_id, claim
        self._ended = threading.Event()
        self._lost = self._cancelled = False
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat {run_id}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(timeout=HEARTBEAT_INTERVAL_S)

    def check(self) -> None:
        """Raises ClaimLost, RunCancelled or RunInterrupted; the conductor calls it wherever it waits."""
        if self._lost:
            raise lifecycle.ClaimLost(f"Run {self.run_id} is no longer this conductor's.")
        if self._cancelled:
            raise RunCancelled
        if stopping.is_set():
            raise RunInterrupted

    def _beat(self) -> None:
        try:
            # A cancel is to be heard within a second or two; the row is only touched every HEARTBEAT_INTERVAL_S.
            while not self._ended.wait(HEARTBEAT_INTERVAL_S):
                try:
                    self._cancelled = lifecycle.beat(self.run_id, self.claim) or self._cancelled
                except lifecycle.ClaimLost:
                    self._lost = True
                    return
                except Error as error:
                    # The database may be back before the claim counts as silent.
                    log.warning("Run %s: no heartbeat (%s).", self.run_id, str(error).splitlines()[0])
                    connection.close()
        finally:
            connection.close()


class OutageGrace:
    """Silence does not count for two heartbeat intervals after PostgreSQL did not answer this process for one.

    Nobody else could reach it either, and their heartbeats are on the way.
    """

    def __init__(self) -> None:
        self._answered_at = -float("inf")
        self._ends_at = 0.0

    def is_over(self) -> bool:
        """To be called after each answer of PostgreSQL, at least once in a heartbeat interval."""
        now = time.monotonic()
        if now - self._answered_at > HEARTBEAT_INTERVAL_S:
            self._ends_at = now + 2 * HEARTBEAT_INTERVAL_S
        self._answered_at = now
        return now >= self._ends_at
