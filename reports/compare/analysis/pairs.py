"""Whether sides may be compared: the checks of every two of them, gathered by check."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from runs.checks import CheckResult, Profile, SideFacts, judge_pair
from runs.checks.results import find_worst


def pair_findings(sides: Sequence[SideFacts], profile: Profile) -> list[dict[str, Any]]:
    """One finding for each check, in their order; none for fewer than two sides.

    What could not be assessed of one pair does not hide what is wrong with another, and is never a pass.
    """
    by_check: dict[str, list[CheckResult]] = defaultdict(list)
    for a, b in combinations(sides, 2):
        for result in judge_pair(a, b, profile):
            by_check[result.check_id].append(result)
    return [_gather(results) for _, results in sorted(by_check.items())]


def _gather(results: Sequence[CheckResult]) -> dict[str, Any]:
    """Of those pairs that the check says the worst of; `tells`: a reader has to know it before comparing."""
    severity = find_worst(result.severity for result in results)
    if severity == "pass" and any(result.severity == "not_assessed" for result in results):
        severity = "not_assessed"
    worst = [result for result in results if result.severity == severity]
    return {
        "check_id": worst[0].check_id,
        "title": worst[0].title,
        "severity": severity,
        "pairs": len(worst),
        "of": len(results),
        "messages": list(dict.fromkeys(result.message for result in worst)),
        "remedy": worst[0].remedy,
        "tells": severity not in ("pass", "not_assessed"),
    }
