"""Failed operations that a client states elsewhere than among its operations: as a total, or in a sentence."""

import re
from collections.abc import Mapping
from typing import Final

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|%")
_FAILURES: Final = frozenset((
    "failed", "failure", "failures", "fails", "error", "errors", "exception", "exceptions", "unsuccessful", "aborted",
    "timeouts", "dropped", "rejected",
))  # fmt: skip
_SUCCESSES: Final = frozenset(("success", "successful", "succeeded"))
_SHARES: Final = frozenset(("rate", "ratio", "percent", "percentage", "%"))
# With one of these the number counts no operations.
_OTHERS: Final = frozenset((
    "latency", "us", "ms", "ns", "sec", "seconds", "time", "average", "avg", "min", "max", "percentile", "retries",
    "code",
))  # fmt: skip
_FAILURE: Final = "(?:total |number of )?(?:failed|failure|error|exception)"
_DONE: Final = r"(?:of )?(?:operation|op|request|transaction)s? (?:have |had )?(?:failed|timed out)"
BEGINNING: Final = re.compile(  # of such a line without its digits
    rf"\W{{0,160}}(?:{_FAILURE}|{_DONE})".encode(), re.IGNORECASE
)
_NUMBER: Final = r"(\d{1,3}(?:,\d{3})+|\d{1,18})"
_SENTENCE: Final = re.compile(
    rf"\W{{0,40}}({_FAILURE}s?"
    r"(?: (?:operation|op|request|transaction|count)s?)?)"
    rf"\s{{0,20}}[:=]\s{{0,20}}{_NUMBER}(?:\s{{0,20}}\(.{{0,20}}\))?\s{{0,80}}",
    re.IGNORECASE | re.ASCII,
)
_COUNTED: Final = re.compile(
    rf"\W{{0,40}}{_NUMBER} (?:of [\d,]{{1,24}} )?((?:failed|failure|error|exception)s?"
    rf"(?: (?:operation|op|request|transaction)s?)?|{_DONE})\W{{0,80}}",
    re.IGNORECASE | re.ASCII,
)


def read_sentence(line: str) -> tuple[str, float] | None:
    """Name and count in a line that states nothing else."""
    sentence = _SENTENCE.fullmatch(line)
    if sentence:
        return (sentence[1], float(sentence[2].replace(",", "")))
    counted = _COUNTED.fullmatch(line)
    if counted:
        return (counted[2].replace("timed out", "timeouts"), float(counted[1].replace(",", "")))
    return None


def count_failures(totals: Mapping[str, float], operations: int) -> int:
    """The highest number of failed operations that one of the totals states; a share is one of the operations."""
    return max((_count(key, value, operations) for key, value in totals.items()), default=0)


def _count(key: str, value: float, operations: int) -> int:
    words = {word.lower() for word in _WORD.findall(key)}
    is_share = bool(words & _SHARES)
    if words & _OTHERS or value < 0 or not (words & _FAILURES or (is_share and words & _SUCCESSES)):
        return 0
    if not is_share:
        return round(value)
    is_percent = bool(words & {"percent", "percentage", "%"}) or value > 1
    share = value / (100 if is_percent else 1)
    if not words & _FAILURES:
        share = max(1 - share, 0.0)
    return round(share * operations)
