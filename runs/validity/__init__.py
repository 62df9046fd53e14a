"""The checks that decide whether a run's numbers may be believed. Pure: facts in, findings out."""

from runs.validity.facts import ClientFacts, OperationFacts, RunFacts, facts_of
from runs.validity.profile import Profile, profile
from runs.validity.results import CheckResult, Severity, Verdict, worst

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


def judge_run(facts: RunFacts, profile: Profile) -> list[CheckResult]:
    """Every check that applies to the run, in the order of their ids."""
    raise NotImplementedError
