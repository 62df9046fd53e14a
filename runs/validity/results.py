"""What a check says, and how the findings of a run become its verdict."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["pass", "info", "warn", "reject", "not_assessed"]
Verdict = Literal["pass", "warn", "reject"]

_ORDER: Final[tuple[Severity, ...]] = ("not_assessed", "pass", "info", "warn", "reject")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One finding. `measured` and `threshold` are short texts with units; `message` is one sentence in plain words."""

    check_id: str  # V01 .. V24 or E01
    severity: Severity
    title: str
    measured: str
    threshold: str
    message: str
    remedy: str = ""


def at_most(severity: Severity, limit: Severity) -> Severity:
    """The milder of the two; what was not assessed stays so."""
    return min(severity, limit, key=_ORDER.index)


def worst_of(severities: Iterable[Severity]) -> Severity:
    return max(severities, key=_ORDER.index, default="pass")


def worst(results: Iterable[CheckResult]) -> Verdict:
    """The verdict of a run. Infos and checks without their data change nothing."""
    severity = worst_of(result.severity for result in results)
    return severity if severity in ("warn", "reject") else "pass"
