"""Files of PEM texts, for drivers that take certificates from files only."""

import functools
import os
import re
import tempfile
from typing import IO

BLANKS = re.compile(r"\s+(?!([A-Z]+ )?(PRIVATE )?(KEY|CERTIFICATE)-)")


def pem_file(pem: str) -> str | None:
    """The path of a file that this process reads until it ends; None of an empty text."""
    if not pem:
        return None
    path, _ = _write(pem)
    return path


@functools.cache
def _write(pem: str) -> tuple[str, IO[str]]:
    """The path, and the file, which is closed when the process ends.

    Nobody deletes the files of a process that is killed, so they are in memory where the system has such files.
    """
    if hasattr(os, "memfd_create"):
        file: IO[str] = os.fdopen(os.memfd_create("pem"), "w")
        path = f"/proc/self/fd/{file.fileno()}"
    else:
        file = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115
        path = file.name
    os.fchmod(file.fileno(), 0o600)  # libpq takes no key that others may read.
    file.write(BLANKS.sub("\n", pem))  # A property has no line breaks.
    file.flush()
    return path, file
