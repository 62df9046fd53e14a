"""The server's own codes of failed operations, as Benchsite's client counts them on standard error."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

MAX_CODES: Final = 50  # of one client
MAX_CODE_LENGTH: Final = 100
_LINE: Final = re.compile(rf"BENCHSITE CODES (\w+) (\w+) (\S{{1,{MAX_CODE_LENGTH}}}) (\d{{1,18}})")


class ServerCode(NamedTuple):
    """How often operations failed with one code of the server; `status` is what YCSB counts them as."""

    operation: str
    status: str
    code: str
    times: int


def read_server_codes(lines: Iterable[str]) -> list[ServerCode]:
    """The first MAX_CODES of a client's standard error."""
    codes = []
    for line in lines:
        match = _LINE.fullmatch(line.strip())
        if match:
            operation, status, code, times = match.groups()
            codes.append(ServerCode(operation, status, code, int(times)))
    return codes[:MAX_CODES]
