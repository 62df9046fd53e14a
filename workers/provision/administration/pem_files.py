"""Files of PEM texts, for drivers that take certificates from files only."""

import functools
import re
import tempfile

BLANKS = re.compile(r"\s+(?!([A-Z]+ )?(PRIVATE )?(KEY|CERTIFICATE)-)")


def pem_file(pem: str) -> str | None:
    """A file that this user alone reads, deleted when the process ends; None of an empty text."""
    return _write(pem).name if pem else None


@functools.cache
def _write(pem: str) -> "tempfile._TemporaryFileWrapper[str]":
    file = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115
    file.write(BLANKS.sub("\n", pem))  # A property has no line breaks.
    file.flush()
    return file
