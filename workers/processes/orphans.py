"""Ends a process whose parent is gone. No Django."""

import os
import threading
import time
from typing import NoReturn

CHECK_S = 0.5
ORPHANED = 70  # exit code


def exit_when_parent_is_gone(parent: int) -> None:
    """Starts a thread that ends this process at once when `parent` is no longer its parent, or was already gone.

    The processes of a prefork pool would otherwise go on after `kill -9` of their worker. What they started is under
    guardians and ends with them. A kernel's death signal would not do: it follows the thread that forked.
    """
    threading.Thread(target=_watch, args=(parent,), name="watch the parent", daemon=True).start()


def _watch(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(CHECK_S)
    os._exit(ORPHANED)
