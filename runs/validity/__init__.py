"""The checks that decide whether a run's numbers may be believed. Pure: facts in, findings out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runs.validity import arithmetic, clients, duration, evidence
from runs.validity.facts import ClientFacts, OperationFacts, RunFacts, facts_of
from runs.validity.profile import Profile, profile
from runs.validity.results import CheckResult, Severity, Verdict, at_most, worst

__all__ = [
    "CheckResult",
    "ClientFacts",
    "OperationFacts",
    "Profile",
    "RunFacts",
    "Severity",
    "Verdict",
    "facts_of",
    "judge_run",
    "profile",
    "worst",
]

Check = Callable[[RunFacts, Profile], CheckResult | None]

_MEASURE: Final[tuple[Check, ...]] = (
    evidence.evidence_of_success,
    clients.little,
    clients.client_cpu,
    duration.duration,
    duration.set_up,
    evidence.errors,
    clients.mix,
    clients.target,
    duration.instability,
    duration.start_skew,
    clients.balance,
    evidence.key_space,
    arithmetic.measurement,
    arithmetic.arithmetic,
    clients.environment,
)
# A load is as long as its records take, has one kind of operation and no window to be cut: the rest says nothing.
_LOAD: Final[tuple[Check, ...]] = (
    evidence.evidence_of_success,
    clients.little,
    clients.client_cpu,
    evidence.errors,
    evidence.key_space,
    arithmetic.measurement,
    arithmetic.arithmetic,
    clients.environment,
)


def judge_run(facts: RunFacts, profile: Profile) -> list[CheckResult]:
    """Every check that applies to the run, in the order of their ids."""
    results = [check(facts, profile) for check in (_LOAD if facts.phase == "load" else _MEASURE)]
    return [_capped(result, profile) for result in results if result is not None]


def _capped(result: CheckResult, profile: Profile) -> CheckResult:
    """No finding is more severe than its purpose allows. Errors of the arithmetic have no such limit."""
    limit = profile.at_most.get(result.check_id)
    return result if limit is None else replace(result, severity=at_most(result.severity, limit))
