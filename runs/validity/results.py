"""What a check says, and how the findings of a run become its verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypedDict

Severity = Literal["pass", "info", "warn", "reject", "not_assessed"]
Verdict = Literal["pass", "warn", "reject"]

# What each check is called.
TITLES: Final[Mapping[str, str]] = {
    "E01": "Evidence of success",
    "V01": "Threads accounted for",
    "V02": "Threads for the target",
    "V03": "Client CPU",
    "V04": "Number of clients",
    "V05": "Duration",
    "V06": "Set-up and clean-up",
    "V07": "Errors",
    "V08": "Mix of operations",
    "V09": "Target",
    "V10": "Backlog",
    "V11": "Steady state",
    "V12": "Stability",
    "V13": "Stalls",
    "V14": "Clients together",
    "V15": "Clients balanced",
    "V16": "Clocks",
    "V17": "Data set and memory",
    "V18": "Hit ratio",
    "V19": "Key space",
    "V20": "Durability",
    "V21": "Physically possible",
    "V22": "Latencies",
    "V23": "Arithmetic",
    "V24": "Environment",
    "V25": "Interference",
    "V26": "Shape of the ladder",
    "V27": "Clients distinct",
    "V28": "Clients alike",
    "V29": "Client messages",
    "V30": "Data set size",
}
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


def not_assessed(check_id: str, title: str, threshold: str, missing: str, measured: str = "") -> CheckResult:
    """The finding of a check without its data; `missing` is a sentence that names them."""
    return CheckResult(check_id, "not_assessed", title, measured, threshold, missing)


def graded(value: float, warn: float, reject: float) -> Severity:
    """The severity of a value that should be small. A value that equals a limit is still good."""
    if value > reject:
        return "reject"
    return "warn" if value > warn else "pass"


def at_most(severity: Severity, limit: Severity) -> Severity:
    """The milder of the two; what was not assessed stays so."""
    return min(severity, limit, key=_ORDER.index)


def worst_of(severities: Iterable[Severity]) -> Severity:
    return max(severities, key=_ORDER.index, default="pass")


def worst(results: Iterable[CheckResult]) -> Verdict:
    """The verdict of a run. Infos and checks without their data change nothing."""
    return verdict_of(result.severity for result in results)["verdict"]


class JudgedColumns(TypedDict):
    """What a run's row copies of its findings."""

    verdict: Verdict
    checks: int  # that apply to the run
    checks_assessed: int  # of them: those that had their data


def verdict_of(severities: Iterable[Severity]) -> JudgedColumns:
    """The verdict of findings with these severities, and how many of them are more than a missing fact."""
    known = list(severities)
    severity = worst_of(known)
    return {
        "verdict": severity if severity in ("warn", "reject") else "pass",
        "checks": len(known),
        "checks_assessed": len(known) - known.count("not_assessed"),
    }
