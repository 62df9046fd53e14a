"""Failed operations that a client states elsewhere than among its operations: as a total, or in a sentence."""

import re
from collections.abc import Mapping
from typing import Final

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|%")
_FAILURES: Final = frozenset((
    "failed", "failure", "failures", "fails", "error", "errors", "exception", "exceptions", "unsuccessful",
))  # fmt: skip
_SHARES: Final = frozenset(("rate", "ratio", "percent", "percentage", "%"))
# With one of these the number counts no operations.
_OTHERS: Final = frozenset((
    "latency", "us", "ms", "ns", "sec", "seconds", "time", "average", "avg", "min", "max", "percentile", "retries",
    "code",
))  # fmt: skip
_FAILURE: Final = "(?:total |number of )?(?:failed|failure|error|exception)"
BEGINNING: Final = re.compile(rf"\W{{0,160}}{_FAILURE}".encode(), re.IGNORECASE)  # of such a line without its digits
_SENTENCE: Final = re.compile(
    rf"\W{{0,40}}({_FAILURE}s?"
    r"(?: (?:operation|op|request|transaction|count)s?)?)"
    r"\s{0,20}[:=]\s{0,20}(\d{1,3}(?:,\d{3})+|\d{1,18})(?:\s{0,20}\(.{0,20}\))?\s{0,80}",
    re.IGNORECASE | re.ASCII,
)


def read_sentence(line: str) -> tuple[str, float] | None:
    """Name and count in a line that states nothing else."""
    sentence = _SENTENCE.fullmatch(line)
    if sentence:
        return (sentence[1], float(sentence[2].replace(",", "")))
    return None


def count_failures(totals: Mapping[str, float], operations: int) -> int:
    """The highest number of failed operations that one of the totals states; a share is one of the operations."""
    return max((_count(key, value, operations) for key, value in totals.items()), default=0)


def _count(key: str, value: float, operations: int) -> int:
    words = {word.lower() for word in _WORD.findall(key)}
    if not words & _FAILURES or words & _OTHERS or value < 0:
        return 0
    if not words & _SHARES:
        return round(value)
    is_percent = bool(words & {"percent", "percentage", "%"}) or value > 1
    return round(value * operations / (100 if is_percent else 1))
