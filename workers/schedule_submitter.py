"""A thread that submits the matrices of due schedules: thousands of runs take seconds, and dispatch does not wait."""

import logging
import threading
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

from runs.schedules import due_schedules

log = logging.getLogger(__name__)
TICK_INTERVAL_S: Final = 5.0


class ScheduleSubmitter:
    """What it was submitting when its process ended is rolled back: the time stays due."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="schedule submitter", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more. What is under way ends with the process."""
        self._stopping.set()

    def _serve(self) -> None:
        while not self._stopping.wait(TICK_INTERVAL_S):
            try:
                for occasion in due_schedules.tick():
                    log.info("%s. %s", occasion, occasion.reason)
            except (DatabaseError, InterfaceError) as error:
                log.warning("No schedule is submitted (%s); trying again.", str(error).partition("\n")[0])
            except Exception:
                log.exception("Schedules could not be submitted; trying again.")
            finally:
                connection.close()
