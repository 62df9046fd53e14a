"""`manage.py scheduler`: the one loop that starts runs and reaps what was lost.

Beside it, in threads of their own, go the loop that delivers notices (`workers.conductor.delivery_loop`) and the one
that submits due schedules.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from django.core.management.base import BaseCommand
from django.db import DatabaseError, InterfaceError, connection

from benchsite.accounts import counters
from runs.plans import schedules
from runs.plans.submission import QUEUE_CHANNEL
from runs.queue import run_completion
from runs.queue.database_retries import DATABASE_ERRORS
from runs.results import deletion
from runs.uploads import upload_lifecycle
from workers.conductor import scheduling
from workers.conductor.delivery_loop import Deliverer
from workers.conductor.heartbeat import OutageGrace
from workers.generator import alive_file, redis_users

TICK_INTERVAL_S: Final = 5.0
log = logging.getLogger(__name__)
# Any number will do as long as no other use of this database has it.
ADVISORY_LOCK = 7_305_061
TICK_S = 1.0
# Lost runs and servers that nobody needs can wait a little; looking for them costs the machines that measure.
CHORES_INTERVAL_S = 5.0
EXPIRE_AFTER_S = 600.0


def submit_schedules(stopping: threading.Event) -> None:
    """Begins nothing more once `stopping` is set. What it was submitting when its process ended is rolled back: the
    time stays due.
    """
    while not stopping.wait(TICK_INTERVAL_S):
        try:
            for occasion in schedules.tick():
                log.info("%s. %s", occasion, occasion.reason)
        except (DatabaseError, InterfaceError) as error:
            log.warning("No schedule is submitted (%s); trying again.", str(error).partition("\n")[0])
        except Exception:
            log.exception("Schedules could not be submitted; trying again.")
        finally:
            connection.close()


class Command(BaseCommand):
    requires_system_checks = []  # They import every page, which takes two seconds of a core.
    help = "Starts queued runs whose machines are free, and reaps lost ones. A second scheduler waits for the first."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopping.set())

        self.chores_done_at = self.expired = -EXPIRE_AFTER_S
        deliverer = Deliverer()
        deliverer.start()
        threading.Thread(target=submit_schedules, args=[self.stopping], name="schedule submitter", daemon=True).start()
        while not self.stopping.is_set():
            try:
                self._serve()
            except DATABASE_ERRORS as error:
                # The queue waits in its rows, and so do we.
                log.warning("The database does not answer (%s); trying again.", str(error).partition("\n")[0])
                connection.close()
                time.sleep(TICK_S)

        deliverer.stop()

    def _serve(self) -> None:
        self.grace = OutageGrace()
        while not self.stopping.is_set() and not self._lock():
            alive_file.touch()  # Standing by is work too.
            time.sleep(TICK_S)

        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {QUEUE_CHANNEL}")

        log.info("Scheduling.")
        while not self.stopping.is_set():
            self._tick()
            alive_file.touch()
            # Either a second has passed or somebody submitted, cancelled or finished something.
            for _ in connection.connection.notifies(timeout=TICK_S, stop_after=1):
                pass

    def _lock(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_LOCK])
            row = cursor.fetchone()
        return bool(row and row[0])

    def _tick(self) -> None:
        # First: what a search orders next comes before whatever waits behind it.
        self._guard(run_completion.look)
        self._guard(self._start_runs)
        silence_counts = self.grace.is_over()
        now = time.monotonic()
        if now - self.chores_done_at < CHORES_INTERVAL_S:
            return

        self.chores_done_at = now
        if silence_counts:
            self._guard(scheduling.reap)
        self._guard(upload_lifecycle.reap)
        self._guard(redis_users.synchronise)
        if now - self.expired >= EXPIRE_AFTER_S:
            self.expired = now
            self._guard(upload_lifecycle.expire)
            self._guard(deletion.forget_old_deletions)
            self._guard(counters.delete_expired)

    def _guard(self, duty: Callable[[], object]) -> None:
        """Do it. Whatever goes wrong there, unless the connection is lost, keeps no other duty from being done."""
        try:
            duty()
        except DATABASE_ERRORS:
            raise
        except Exception:
            log.exception("%s failed; the scheduler goes on and tries again.", duty.__qualname__)

    def _start_runs(self) -> None:
        for run_id in scheduling.tick():
            log.info("Dispatched run %s.", run_id)
