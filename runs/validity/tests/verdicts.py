"""What findings come to."""

from collections.abc import Iterable

from runs.validity import CheckResult, Verdict, verdict_of


def worst(results: Iterable[CheckResult]) -> Verdict:
    return verdict_of(result.severity for result in results)["verdict"]
