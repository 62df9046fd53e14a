"""The checks that decide whether a run's numbers may be believed. Pure: facts in, findings out."""

from dataclasses import replace
from typing import Final

# Each registers its checks.
from runs.checks import (
    arithmetic,
    arrivals,
    clients,
    concurrency,
    duration,
    environment,
    evidence,
    groups,
    load,
    steadiness,
)
from runs.checks.check import RUN_CHECKS, Check
from runs.checks.default_thresholds import THRESHOLDS, Profile, profile
from runs.checks.fact_collection import Surroundings, collect_facts
from runs.checks.facts import (
    ClientFacts,
    ClientProbe,
    ClusterFacts,
    InsertedRecords,
    OperationFacts,
    OverTime,
    RunFacts,
)
from runs.checks.ladder import judge_ladder
from runs.checks.pairs import SideFacts, judge_pair
from runs.checks.results import CheckResult, Severity, Verdict, compute_verdict

# The checks that say that the clients were at their limit, not the database.
CLIENT_LIMITS: Final = frozenset({"V02", "V03"})

# They judge a throughput that nothing disturbs, so they say nothing of a run with planned faults.
UNDISTURBED: Final = frozenset({"V01", "V07", "V09", "V10", "V11", "V12", "V13", "V15", "V29", "V31", "V39"})
OF_FAULTS: Final = "The run has planned faults, which disturb its throughput: see its table of faults and recovery."

# They judge a throughput that is steady, so they say nothing of a load that follows a profile.
STEADY: Final = frozenset({"V10", "V11", "V12", "V13", "V30"})
OF_PROFILE: Final = "The load follows a profile, so its throughput is not steady."


def judge_run(facts: RunFacts, thresholds: Profile) -> list[CheckResult]:
    """Every check that applies to the run, in the order of their ids. What two runs differ in is `judge_pair`'s.

    A load is as long as its records take, has one kind of operation and no window to be cut: the checks that are not
    of `loads` say nothing about it. Of a run with planned faults those of `UNDISTURBED` are not assessed.
    """
    checks = [check for check in RUN_CHECKS if check.loads or facts.phase != "load"]
    results = [check.result(facts, profile=thresholds) for check in checks]
    judged = [result for result in results if result is not None]
    if facts.has_faults:
        judged = _leave_out(judged, UNDISTURBED, OF_FAULTS)
    if facts.open_load and facts.open_load["profile"]:
        judged = _leave_out(judged, STEADY, OF_PROFILE)
    return judged


def _leave_out(results: list[CheckResult], ids: frozenset[str], reason: str) -> list[CheckResult]:
    """The results, those of the checks with these ids as not assessed, with the reason."""
    judged = []
    for result in results:
        if result.check_id in ids:
            result = replace(result, severity="not_assessed", measured="", message=reason, remedy="")
        judged.append(result)
    return judged
