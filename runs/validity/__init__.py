"""The checks that decide whether a run's numbers may be believed. Pure: facts in, findings out."""

from collections.abc import Callable
from typing import Final

from runs.validity import arithmetic, clients, concurrency, duration, environment, evidence, load, steadiness
from runs.validity.facts import ClientFacts, ClientProbe, ClusterFacts, OperationFacts, OverTime, RunFacts
from runs.validity.gathering import Surroundings, facts_of
from runs.validity.ladder import judge_ladder
from runs.validity.pairs import SideFacts, judge_pair
from runs.validity.profile import THRESHOLDS, Profile, profile
from runs.validity.results import CheckResult, Severity, Verdict, verdict_of, worst

__all__ = [
    "THRESHOLDS",
    "CheckResult",
    "ClientFacts",
    "ClientProbe",
    "ClusterFacts",
    "OperationFacts",
    "OverTime",
    "Profile",
    "RunFacts",
    "Severity",
    "SideFacts",
    "Surroundings",
    "Verdict",
    "facts_of",
    "judge_ladder",
    "judge_pair",
    "judge_run",
    "profile",
    "verdict_of",
    "worst",
]

Check = Callable[[RunFacts, Profile], CheckResult | None]

_MEASURE: Final[tuple[Check, ...]] = (
    evidence.evidence_of_success,
    concurrency.little,
    concurrency.thread_limit,
    clients.client_cpu,
    clients.client_count,
    duration.duration,
    duration.set_up,
    evidence.errors,
    load.mix,
    load.target,
    steadiness.backlog,
    steadiness.warm_up,
    steadiness.instability,
    steadiness.stalls,
    clients.start_skew,
    clients.balance,
    clients.clocks,
    evidence.key_space,
    environment.durability,
    environment.plausibility,
    arithmetic.measurement,
    arithmetic.arithmetic,
    environment.environment,
    environment.interference,
    clients.distinct,
    clients.alike,
    clients.messages,
    environment.data_set_size,
)
# A load is as long as its records take, has one kind of operation and no window to be cut: the rest says nothing.
_LOAD: Final[tuple[Check, ...]] = (
    evidence.evidence_of_success,
    concurrency.little,
    clients.client_cpu,
    duration.set_up,
    evidence.errors,
    clients.clocks,
    evidence.key_space,
    environment.durability,
    arithmetic.measurement,
    arithmetic.arithmetic,
    environment.environment,
    environment.interference,
    clients.distinct,
    clients.messages,
)


def judge_run(facts: RunFacts, profile: Profile) -> list[CheckResult]:
    """Every check that applies to the run, in the order of their ids. What two runs differ in is `judge_pair`'s."""
    results = [check(facts, profile) for check in (_LOAD if facts.phase == "load" else _MEASURE)]
    return [profile.applied(result) for result in results if result is not None]
