"""The builds of one plan against each other: what a pull request is told of its code."""

from collections.abc import Sequence
from typing import Final

from reports.trends.analysis.verdict_rules import Verdict, combined
from reports.trends.queries.baselines import runs_with_sweep
from reports.trends.verdicts.serialization import BuildAnswer, BuildComparisonAnswer, BuildsAnswer
from reports.trends.verdicts.verdict import Against, compute_verdict, why_not
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

    # There are two names at least, so one is left for the side that was left empty.
    if not new:
        new = next(name for name in names if name != base)
    if not base:
        base = next(name for name in names if name != new)
    others = [name for name in names if name not in (new, base)]
    runs = list(
        runs_with_sweep()
        .filter(matrix=matrix, phase=Phase.MEASURE, is_bracket=False, source=Run.Source.SCHEDULED)
        .exclude(config_key="")
        .order_by("repeat", "pk")
    )
    ended = [run for run in runs if run.status in Status.terminal()]
    by_build: dict[str, list[Run]] = {name: [] for name in names}
    for run in ended:
        by_build.setdefault(run.spec["build"]["name"], []).append(run)
    pairs = [(new, base)]
    pairs += [(new, other) for other in others]
    pairs += [(other, base) for other in others]
    comparisons = tuple(_compare_builds(matrix, by_build, *pair) for pair in pairs)

    return BuildsAnswer(
        verdict=comparisons[0].verdict,
        pending=len(ended) < len(runs) or not matrix.submitted_at,
        builds=tuple(_describe_build(name, by_build[name]) for name in names),
        comparisons=comparisons,
    )


def _compare_builds(matrix: Matrix, by_build: dict[str, list[Run]], new: str, base: str) -> BuildComparisonAnswer:
    tests = list(dict.fromkeys(run.config_key for run in by_build[new]))[:MAX_TESTS]
    documents = []
    for test in tests:
        new_runs = [run for run in by_build[new] if run.config_key == test]
        base_runs = [run for run in by_build[base] if run.config_key == test]
        against = Against(base_runs, f"The build “{base}” of the same plan.", base)
        documents.append(compute_verdict(matrix.team, new_runs, against, tests=len(tests), order=matrix.order))
    verdict = Verdict.ERROR
    if documents:
        verdict = combined([Verdict(document.verdict) for document in documents])
    return BuildComparisonAnswer(new=new, base=base, verdict=verdict.value, tests=tuple(documents))


def _describe_build(name: str, runs: Sequence[Run]) -> BuildAnswer:
    """As its newest run says."""
    with_evidence = [run for run in runs if run.evidence.get("build")]
    if not with_evidence:
        return BuildAnswer(name=name, version="", commit="", branch="", committed_at=None, digest="", counted=0)

    newest = with_evidence[-1]
    return BuildAnswer(
        name=name,
        version=str(newest.evidence.get("server_version") or ""),
        commit=newest.commit,
        branch=newest.branch,
        committed_at=newest.committed_at,
        digest=str(newest.evidence["build"].get("digest") or ""),
        counted=sum(not why_not(run) for run in runs),
    )
