"""What the checks say of a merged run by its spec. Pure."""

from collections.abc import Mapping, Sequence
from typing import cast

from runs.checks import CheckResult, Profile, Surroundings, collect_facts, judge_run
from runs.queue.spec import RunSpec
from runs.ycsb.merged import MergedRun, Phase
from runs.ycsb.series import Series, total_rate
from runs.ycsb.summary_run import SummarisedRun


def collect_findings(
    spec: RunSpec,
    thresholds: Profile,
    merged: MergedRun | SummarisedRun,
    series: Sequence[Series],
    context: Surroundings,
    *,
    workload: Mapping[str, str] | None,
    rows: int | None = None,
    asked_s: float | None = None,
) -> list[CheckResult]:
    """All validity checks over one merged run.

    `series` is of the whole run, `workload` is checked. `asked_s` is how long the window was to be: of a run that is
    cut again, what the cut leaves of the plan.
    """
    is_measured = spec["phase"] == "measure"
    rate_ops_s = None
    if is_measured and isinstance(merged, MergedRun):
        rate_ops_s = list(map(float, total_rate(merged)))
    facts = collect_facts(
        merged,
        threads=spec["load"]["threads"] or None,
        target_ops_s=spec["load"]["target_ops_s"],
        workload=workload,
        rows_loaded=rows,
        measure_s=asked_s,
        rate_ops_s=rate_ops_s,
        series=series if is_measured else (),
        phase=cast(Phase, spec["phase"]),
        context=context,
    )
    return judge_run(facts, thresholds)
