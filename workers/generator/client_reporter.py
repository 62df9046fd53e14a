"""A client's reports to the site: heartbeats with its status lines, from a thread of their own.

So neither YCSB nor a slow artifact store delays a heartbeat.
"""

import logging
import threading
import uuid
from collections import deque
from http import HTTPStatus
from typing import Any, Final

from workers.generator.outbox import RunEnded
from workers.generator.site_client import RUN_DELETED, SiteClient, SiteRefused, SiteUnreachable

log = logging.getLogger(__name__)
REPORT_INTERVAL_S: Final = 2.0
# While the client waits for the instant at which all clients begin; the conductor names it one second ahead.
START_INTERVAL_S: Final = 0.2
MAX_LINES: Final = 200  # that wait for the site; older ones are dropped


class ClientReporter:
    """Reports one claimed client run until its output is stored, and hears whether the run goes on."""

    def __init__(self, site: SiteClient, client_run: uuid.UUID, claim: uuid.UUID) -> None:
        self.site, self.client_run, self.claim = site, client_run, claim
        self.run_ended = False
        self.starts_at: float | None = None  # seconds since 1970, on PostgreSQL's clock
        self.ends_at: float | None = None  # the same; None: when its time is up
        self.operations: int | None = None  # in the window so far, where they end the run
        self.lines: deque[dict[str, Any]] = deque(maxlen=MAX_LINES)  # of a `live.StatusLine`, without its client
        self._awaits_start = False
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._report, name=f"client {client_run}", daemon=True)

    def __enter__(self) -> "ClientReporter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout=REPORT_INTERVAL_S)

    def check(self) -> None:
        """Raises RunEnded."""
        if self.run_ended:
            raise RunEnded(f"The run of client run {self.client_run} has ended.")

    def await_start(self) -> None:
        """The client is connected: ask often until the start is known."""
        self._awaits_start = True
        self._wake.set()

    def _report(self) -> None:
        while not self.run_ended and not self._stop.is_set():
            interval_s = REPORT_INTERVAL_S
            if self._awaits_start and self.starts_at is None:
                interval_s = START_INTERVAL_S
            self._wake.wait(interval_s)
            self._wake.clear()
            lines = [self.lines.popleft() for _ in range(len(self.lines))]
            try:
                fields: dict[str, Any] = {"lines": lines}
                if self.operations is not None:
                    fields["operations"] = self.operations
                goes_on, starts_at, ends_at = self.site.report(self.client_run, self.claim, **fields)
                self.starts_at = self.starts_at or starts_at
                self.ends_at = self.ends_at or ends_at
                self.run_ended = not goes_on
            except SiteUnreachable as error:
                # The site may be back before this client counts as silent.
                log.warning("Client run %s: no heartbeat (%s).", self.client_run, error)
                self.lines.extendleft(reversed(lines))
            except SiteRefused as error:
                log.warning("Client run %s: %s", self.client_run, error)
                self.run_ended = error.code == RUN_DELETED or error.status == HTTPStatus.UNAUTHORIZED
