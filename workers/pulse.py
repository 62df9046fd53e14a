"""A file that a component touches while it works, so that a health check costs a look at one file and no process."""

import contextlib
import logging
import threading
import time
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import DatabaseError, connection

log = logging.getLogger(__name__)
EVERY_S: Final = 10.0
_touched_at = -EVERY_S


def file() -> Path:
    return Path(settings.VAR_DIR) / "alive"


def touch() -> None:
    """This component lives; written at most every ten seconds, however often it is called."""
    global _touched_at
    if time.monotonic() - _touched_at < EVERY_S:
        return
    _touched_at = time.monotonic()
    with contextlib.suppress(OSError):
        file().touch()


def beat_forever() -> None:
    """Start the thread of a worker that only waits for messages: it lives while it reaches the database."""
    threading.Thread(target=_beat, name="pulse", daemon=True).start()


def _beat() -> None:
    while True:
        try:
            connection.ensure_connection()
            touch()
        except DatabaseError as error:
            log.warning("The database does not answer (%s).", str(error).splitlines()[0])
        finally:
            # One short connection in ten seconds costs less than one that is held for ever.
            connection.close()
        time.sleep(EVERY_S)
