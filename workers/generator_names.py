"""Names for load generators of one host that nobody named: the lowest that is free, held until the process ends.

A container's own name changes whenever it is made anew, and every new name would be another row that never comes back.
"""

import fcntl
import itertools
import os
from pathlib import Path


def take_name(stem: str, folder: Path) -> str:
    """`stem`-1, `stem`-2, ...: the first that no living process holds by a lock in `folder`.

    The lock outlives an exec and goes with the last process that has it. All load generators of a host share `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        name = f"{stem}-{number}"
        held = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            continue
        os.set_inheritable(held, True)
        return name
    raise AssertionError("unreachable")
