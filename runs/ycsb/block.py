"""The lines of a file on their way to a reader, and what is said about them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file: UTF-8, ended by \\n, without byte order mark, escape sequences and carriage returns.

    Only the last block of a file may be `unterminated`: then the file does not end its last line, which may have been
    cut in the middle; the \\n is added here all the same.
    """

    data: bytes
    first_line: int  # from 1
    unterminated: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A warning about a file or a run, in plain words; or a line of the file that is no measurement."""

    text: str
    line: int | None = None  # from 1
