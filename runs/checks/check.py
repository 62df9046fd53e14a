"""A check as an object: its id, its title, its limits, the runs that it says something about, and its explanation.

A new check is one decorated function and its test. Its docstring says what it asks, and after that line by line its
formula, what warns, what rejects and without what it is not assessed: docs/evidence/checks.md is made of that.
Thresholds stand in limits and explanations by their names in braces, `{errors_warn}`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import getdoc
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from runs.checks.results import CheckResult, Severity

if TYPE_CHECKING:
    from runs.checks.default_thresholds import Profile

Judge = Callable[..., "Outcome | None"]  # of the facts of a run, or of two sides, and a profile; None: does not apply
MAX_MEASURED_CHARACTERS: Final = 120
ROUNDING: Final = 1e-9  # What subtracting two shares leaves of their last digits: a share at its limit is still good.
PARTS: Final = ("Formula", "Warns", "Rejects", "Not assessed without")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check says of some facts. `measured` is a short text with units; `message` is one sentence.

    What passes has no remedy, and says `good` where there is one.
    """

    severity: Severity
    measured: str
    message: str
    remedy: str = ""
    # Of two sides: what differs between them, each with its sentence, so that a comparison can ignore what it is about.
    differing: tuple[tuple[str, str], ...] = ()
    limits: str = ""  # in the place of the check's own
    good: str = ""  # in the place of the message


def not_assessed(missing: str, measured: str = "") -> Outcome:
    """The outcome of a check without its data; `missing` is a sentence that names them."""
    return Outcome("not_assessed", measured, missing)


def sentence(parts: Iterable[str], between: str = "; ") -> str:
    """The parts as one sentence without its full stop."""
    text = between.join(parts)
    return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class Check:
    id: str  # V01 .. V33 or E01
    title: str
    limits: str | Callable[..., str]  # or, where they depend on the facts, what makes them of the arguments of `judge`
    judge: Judge
    loads: bool = False  # it says something about a load too
    untrusted: bool = False  # where it rejects, throughput itself is not to be trusted: a ceiling does without the run

    def result(self, *facts: Any, profile: "Profile") -> CheckResult | None:
        """The finding, as severe as the profile allows; None where the check does not apply."""
        outcome = self.judge(*facts, profile)
        if outcome is None:
            return None
        limits = self.limits
        if not isinstance(limits, str):
            limits = limits(*facts, profile)
        return self.finding(outcome, outcome.limits or limits, profile)

    def finding(self, outcome: Outcome, limits: str, profile: "Profile") -> CheckResult:
        """The finding of an outcome, as severe as the profile allows."""
        message, remedy = outcome.message, outcome.remedy
        if outcome.severity == "pass":
            message, remedy = outcome.good or message, ""
        result = CheckResult(
            check_id=self.id,
            severity=outcome.severity,
            title=self.title,
            measured=outcome.measured[:MAX_MEASURED_CHARACTERS],
            threshold=profile.filled(limits),
            message=message,
            remedy=remedy,
            differing=outcome.differing,
        )
        return profile.applied(result)

    def explained(self, profile: "Profile") -> list[str]:
        """The parts of the explanation, in the order of `PARTS`; a part that the check has not is empty."""
        text = getdoc(self.judge) or ""
        next_part = "|".join(f"^{part}: " for part in PARTS)
        explanations = []
        for part in PARTS:
            match = re.search(rf"^{part}: (.*?)(?={next_part}|\Z)", text, re.MULTILINE | re.DOTALL)
            explanation = match[1] if match else ""
            explanations.append(profile.filled(" ".join(explanation.split())))
        return explanations


RUN_CHECKS: Final[list[Check]] = []
PAIR_CHECKS: Final[list[Check]] = []


def check(
    check_id: str,
    title: str,
    limits: str | Callable[..., str],
    *,
    among: list[Check] = RUN_CHECKS,
    loads: bool = False,
    untrusted: bool = False,
) -> Callable[[Judge], Judge]:
    """Makes a function one of the checks of a run, or `among` the checks of two sides."""

    def register(judge: Judge) -> Judge:
        among.append(Check(check_id, title, limits, judge, loads, untrusted))
        among.sort(key=attrgetter("id"))
        return judge

    return register
