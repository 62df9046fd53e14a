"""What a check says, and how the findings of a run become its verdict."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypedDict

Severity = Literal["pass", "info", "warn", "reject", "not_assessed"]
Verdict = Literal["pass", "warn", "reject"]

_ORDER: Final[tuple[Severity, ...]] = ("not_assessed", "pass", "info", "warn", "reject")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One finding. `measured` and `threshold` are short texts with units; `message` is one sentence in plain words."""

    check_id: str  # V01 .. V30 or E01
    severity: Severity
    title: str
    measured: str
    threshold: str
    message: str
    remedy: str = ""
    # Of two sides: what differs between them, each with its sentence, so that a comparison can ignore what it is about.
    differing: tuple[tuple[str, str], ...] = ()


def graded(value: float, warn: float, reject: float) -> Severity:
    """The severity of a value that should be small. A value that equals a limit is still good."""
    if value > reject:
        return "reject"
    if value > warn:
        return "warn"
    return "pass"


def warn_if(condition: object) -> Severity:
    if condition:
        return "warn"
    return "pass"


def at_most(severity: Severity, limit: Severity) -> Severity:
    """The milder of the two; what was not assessed stays so."""
    return min(severity, limit, key=_ORDER.index)


def find_worst(severities: Iterable[Severity]) -> Severity:
    return max(severities, key=_ORDER.index, default="pass")


class JudgedColumns(TypedDict):
    """What a run's row copies of its findings."""

    verdict: Verdict
    checks: int  # that apply to the run
    checks_assessed: int  # of them: those that had their data


def compute_verdict(severities: Iterable[Severity]) -> JudgedColumns:
    """The verdict of findings with these severities, and how many of them are more than a missing fact.

    Infos and checks without their data change nothing.
    """
    assessed = list(severities)
    severity = find_worst(assessed)
    verdict: Verdict = "pass"
    if severity in ("warn", "reject"):
        verdict = severity
    return {
        "verdict": verdict,
        "checks": len(assessed),
        "checks_assessed": len(assessed) - assessed.count("not_assessed"),
    }
