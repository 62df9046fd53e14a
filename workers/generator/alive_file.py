"""A file that a component touches while it works, so that a health check costs a look at one file and no process."""

import contextlib
import time
from pathlib import Path
from typing import Final

from django.conf import settings

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
