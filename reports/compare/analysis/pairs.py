"""Whether sides may be compared: the checks of every two of them, gathered by check."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from runs.checks import CheckResult, Profile, Severity, SideFacts, judge_pair
from runs.checks.results import find_worst


@dataclass(frozen=True, slots=True)
class PairFinding:
    """What one check says of a comparison: of those pairs that it says the worst of."""

    check_id: str
    title: str
    severity: Severity
    pairs: int  # that are so
    of: int
    messages: tuple[str, ...]  # each once, in the order of the sides
    remedy: str

    @property
    def tells(self) -> bool:
        """Whether a reader has to know it before comparing."""
        return self.severity not in ("pass", "not_assessed")


def pair_findings(sides: Sequence[SideFacts], profile: Profile) -> list[PairFinding]:
    """One finding for each check, in their order; none for fewer than two sides.

    What could not be assessed of one pair does not hide what is wrong with another, and is never a pass.
    """
    by_check: dict[str, list[CheckResult]] = defaultdict(list)
    for a, b in combinations(sides, 2):
        for result in judge_pair(a, b, profile):
            by_check[result.check_id].append(result)
    return [_gathered(results) for _, results in sorted(by_check.items())]


def _gathered(results: Sequence[CheckResult]) -> PairFinding:
    severity = find_worst(result.severity for result in results)
    if severity == "pass" and any(result.severity == "not_assessed" for result in results):
        severity = "not_assessed"
    same = [result for result in results if result.severity == severity]

    return PairFinding(
        check_id=same[0].check_id,
        title=same[0].title,
        severity=severity,
        pairs=len(same),
        of=len(results),
        messages=tuple(dict.fromkeys(result.message for result in same)),
        remedy=same[0].remedy,
    )
