"""The builds of one plan against each other: what a pull request is told of its code."""

from collections.abc import Sequence
from typing import Final

from reports.trends.analysis.verdicts import Verdict, combined
from reports.trends.queries.baselines import runs_with_sweep
from reports.trends.verdicts.serialization import BuildAnswer, BuildComparisonAnswer, BuildsAnswer, VerdictDocument
from reports.trends.verdicts.verdict import build_side, compute_verdict, why_not
from runs.models import Matrix, Phase, Run, Status

MAX_TESTS: Final = 20


class NoSuchBuild(Exception):
    """The plan has no builds to compare, or none of this name. The message says which it has."""


def judge_builds(matrix: Matrix, new: str = "", base: str = "") -> BuildsAnswer:
    """The build `new` against `base`, then both against every other one. Left empty, the first build of the plan is the
    new one and the second the base. Raises NoSuchBuild.
    """
    names = [build["name"] for build in matrix.builds]
    if len(names) < 2:
        raise NoSuchBuild("The plan has no two builds to compare.")

    for name in (new, base):
        if name and name not in names:
            raise NoSuchBuild(f"The plan has no build “{name[:40]}”. It has: {', '.join(names)}.")

    new = new or next(name for name in names if name != base)
    base = base or next(name for name in names if name != new)
    others = [name for name in names if name not in (new, base)]
    runs = list(
        runs_with_sweep()
        .filter(matrix=matrix, phase=Phase.MEASURE, is_bracket=False, source=Run.Source.SCHEDULED)
        .exclude(config_key="")
        .order_by("repeat", "pk")
    )
    ended = [run for run in runs if run.status in Status.terminal()]
    by_build = {name: [run for run in ended if run.spec["build"]["name"] == name] for name in names}
    pairs = [(new, base), *((new, other) for other in others), *((other, base) for other in others)]
    comparisons = tuple(_compare(matrix, by_build, *pair) for pair in pairs)

    return BuildsAnswer(
        verdict=comparisons[0].verdict,
        pending=len(ended) < len(runs) or not matrix.submitted_at,
        builds=tuple(_describe(name, by_build[name]) for name in names),
        comparisons=comparisons,
    )


def _compare(matrix: Matrix, by_build: dict[str, list[Run]], new: str, base: str) -> BuildComparisonAnswer:
    tests = list(dict.fromkeys(run.config_key for run in by_build[new]))[:MAX_TESTS]
    documents = tuple(_judge(matrix, by_build, new, base, test, len(tests)) for test in tests)
    verdict = combined([Verdict(document.verdict) for document in documents]) if documents else Verdict.ERROR
    return BuildComparisonAnswer(new, base, verdict.value, documents)


def _judge(
    matrix: Matrix, by_build: dict[str, list[Run]], new: str, base: str, test: str, tests: int
) -> VerdictDocument:
    sides = [[run for run in by_build[name] if run.config_key == test] for name in (new, base)]
    side = build_side(sides[1], base, f"The build “{base}” of the same plan.")
    return compute_verdict(matrix.team, sides[0], sides[1], base=side, tests=tests, order=matrix.order)


def _describe(name: str, runs: Sequence[Run]) -> BuildAnswer:
    """As its newest run says."""
    newest = next((run for run in reversed(runs) if run.evidence.get("build")), None)
    if newest is None:
        return BuildAnswer(name, "", "", "", None, "", 0)

    return BuildAnswer(
        name,
        str(newest.evidence.get("server_version") or ""),
        newest.commit,
        newest.branch,
        newest.committed_at,
        str(newest.evidence["build"].get("digest") or ""),
        sum(not why_not(run) for run in runs),
    )
