"""Threads that outlive their test: they would meet the database of the next one."""

import threading
import time
from collections.abc import Collection


def left_since(before: Collection[threading.Thread], patience_s: float) -> list[str]:
    """The names of the threads that began since `before` and have not ended, though they had this long to do so."""
    patience_ends = time.monotonic() + patience_s
    begun = [thread for thread in threading.enumerate() if thread not in before]
    for thread in begun:
        thread.join(max(0.0, patience_ends - time.monotonic()))
    return [thread.name for thread in begun if thread.is_alive()]
