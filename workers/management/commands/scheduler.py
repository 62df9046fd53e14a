"""`manage.py scheduler`: the one loop that starts runs, has uploads read, and reaps what was lost.

Beside it, in threads of its own, goes the loop that delivers notices (`workers.delivering`).
"""

import logging
import signal
import time
from collections.abc import Hashable
from typing import Any
from uuid import UUID

import psycopg
from celery import Task
from django.core.management.base import BaseCommand
from django.db import OperationalError, connection
from kombu.exceptions import OperationalError as BrokerError

from runs import finishing
from runs.planning.submission import QUEUE_CHANNEL
from runs.schedules import submitting
from runs.uploading import life
from workers import pulse, scheduling
from workers.delivering import Deliverer
from workers.tasks import conduct, read, tidy
from workers.uploads import measuring_here

log = logging.getLogger(__name__)
# Any number will do as long as no other use of this database has it.
ADVISORY_LOCK = 7_305_061
TICK_S = 1.0
# Lost runs and servers that nobody needs can wait a little; looking for them costs the machines that measure.
LOOK_AFTER_S = 5.0
# A deployment to be removed or an upload to be read is named again after this time, in case the message was lost.
NAME_AGAIN_S = 60.0
EXPIRE_AFTER_S = 600.0


class Command(BaseCommand):
    help = "Starts queued runs whose machines are free, and reaps lost ones. A second scheduler waits for the first."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stopping = False
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        self.named: dict[Hashable, float] = {}
        self.looked_after = self.expired = -EXPIRE_AFTER_S
        self.deliverer = Deliverer()
        self.deliverer.start()
        while not self.stopping:
            try:
                self._serve()
            except (OperationalError, psycopg.OperationalError) as error:
                # PostgreSQL is restarting, say: the queue waits in its rows, and so do we.
                log.warning("The database does not answer (%s); trying again.", str(error).splitlines()[0])
                connection.close()
                time.sleep(TICK_S)
        self.deliverer.stop()

    def _stop(self, *_: object) -> None:
        self.stopping = True

    def _serve(self) -> None:
        while not self.stopping and not self._lock():
            pulse.touch()  # Standing by is work too.
            time.sleep(TICK_S)
        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {QUEUE_CHANNEL}")
        log.info("Scheduling.")
        while not self.stopping:
            self._tick()
            pulse.touch()
            # Either a second has passed or somebody submitted, cancelled or finished something.
            for _ in connection.connection.notifies(timeout=TICK_S, stop_after=1):
                pass

    def _lock(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_LOCK])
            row = cursor.fetchone()
        return bool(row and row[0])

    def _tick(self) -> None:
        for run_id in scheduling.tick():
            log.info("Dispatching run %s.", run_id)
            self._send(conduct, run_id)
        now = time.monotonic()
        if now - self.looked_after < LOOK_AFTER_S:
            return
        self.looked_after = now
        scheduling.reap()
        life.reap()
        self._tell_and_repeat()
        for deployment_id in scheduling.tidy_deployments():
            self._name(tidy, deployment_id, deployment_id)
        # While a run measures here, nothing is read on this machine.
        if not measuring_here() and (upload := life.waiting()):
            self._name(read, upload.pk, (upload.pk, upload.state, upload.attempts))
        if now - self.expired >= EXPIRE_AFTER_S:
            self.expired = now
            life.expire()

    def _tell_and_repeat(self) -> None:
        """Whatever goes wrong here keeps no run from starting."""
        try:
            finishing.look()
            for occasion in submitting.tick():
                log.info("%s. %s", occasion, occasion.reason)
        except (OperationalError, psycopg.OperationalError):
            raise
        except Exception:
            log.exception("Finished matrices or schedules could not be looked at; trying again.")

    def _name(self, task: Task[[str], None], row_id: UUID, work: Hashable) -> None:
        """Send a message about work that waits, once in a while."""
        now = time.monotonic()
        if now - self.named.get(work, -NAME_AGAIN_S) >= NAME_AGAIN_S:
            self.named[work] = now
            self._send(task, row_id)

    def _send(self, task: Task[[str], None], row_id: UUID) -> None:
        """A message that is lost with Redis is no harm: the row goes back to the queue and is sent again."""
        try:
            task.delay(str(row_id))
        except BrokerError as error:
            log.warning("Redis does not answer (%s); trying again.", error)
