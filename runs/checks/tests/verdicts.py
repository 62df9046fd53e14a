"""What findings come to."""

from collections.abc import Iterable

from runs.checks import CheckResult, Verdict, compute_verdict


def worst(results: Iterable[CheckResult]) -> Verdict:
    return compute_verdict(result.severity for result in results)["verdict"]
