"""Secrets taken out of a whole file, block by block, at the speed of reading it. Pure.

Almost no line of an output can hold a secret: rows of histograms are numbers, and any other line needs one of a few
words first. Only what has them is looked at closely by `runs.ycsb.redact`.
"""

import re
from itertools import groupby
from typing import Final

from runs.ycsb.redact import TOKENS, TOOLS, redact, redact_keys

# Without one of these nothing is a secret to `redact`; a test holds both together.
CUES: Final = (
    b"pass", b"pw", b"secret", b"token", b"key", b"credential", b"requirepass", b"masterauth", b"bearer", b"basic",
    b"://", b"string", b"signature", b"sas", b"pat", b"-----begin", b"jdbc:oracle", b"user", b"auth", b"login",
    *(word.encode() for word in (*TOKENS, *TOOLS)),
)  # fmt: skip
# Left as it is even where the code happens to spell a word: taken for a secret, it would be no histogram any more.
_HISTOGRAM: Final = re.compile(rb"(?:Tag=[\w.-]{1,60},)?(?:[-+0-9.eE]{1,40},){3}HIST[A-Za-z0-9+/]+={0,2}\n?")


def without_secrets(data: bytes) -> tuple[bytes, int]:
    """Whole lines without their secrets, and how many of them held one."""
    if b",HIST" not in data:
        return _looked_at(data)
    redacted, hidden = [], 0
    for is_histogram, lines in groupby(data.splitlines(keepends=True), lambda line: bool(_HISTOGRAM.fullmatch(line))):
        part = b"".join(lines)
        part, secrets = (part, 0) if is_histogram else _looked_at(part)
        redacted.append(part)
        hidden += secrets
    return b"".join(redacted), hidden


def _looked_at(data: bytes) -> tuple[bytes, int]:
    if not _has_cue(data):
        return data, 0

    data, hidden_keys = _without_keys(data)
    lines = data.split(b"\n")
    # A value may stand on the line below its name.
    cued = [_has_cue(line) for line in lines]
    close = [here or above for here, above in zip(cued, [False, *cued], strict=False)]
    redacted: list[bytes] = []
    hidden = hidden_keys
    for is_close, numbered in groupby(zip(close, lines, strict=True), lambda pair: pair[0]):
        part = [line for _, line in numbered]
        if is_close:
            before = b"\n".join(part).decode("utf-8", errors="replace").split("\n")
            after = redact("\n".join(before)).split("\n")
            hidden += sum(old != new for old, new in zip(before, after, strict=True))
            part = [line.encode() for line in after]
        redacted += part

    return b"\n".join(redacted), hidden


def _without_keys(data: bytes) -> tuple[bytes, int]:
    """Without the lines of private keys, which hold no cue."""
    if b"-----BEGIN" not in data:
        return data, 0
    redacted = redact_keys(data.decode("utf-8", errors="replace")).encode()
    return redacted, sum(old != new for old, new in zip(data.split(b"\n"), redacted.split(b"\n"), strict=True))


def _has_cue(data: bytes) -> bool:
    small = data.lower()
    return any(cue in small for cue in CUES)
