"""The path of a search as pages and programs show it."""

from typing import Any

from runs.models import Matrix, SearchDecision, Sweep
from runs.next_runs import named_load, trials_of


def search_path(sweep: Sweep) -> list[dict[str, Any]]:
    """The decisions in their order, each with what came out of the run that it ordered; none for fixed rungs.

    `outcome` is empty where the run has not ended, or there is none. Six queries.
    """
    decisions = list(sweep.decisions.select_related("run"))
    outcomes = {trial.run.pk: trial.text for trial in trials_of(sweep)} if decisions else {}
    return [
        {
            "decision": decision,
            "load": _load_of(sweep, decision),
            "low": named_load(sweep, decision.low),
            "high": named_load(sweep, decision.high),
            "outcome": outcomes.get(decision.run_id, "") if decision.run_id else "",
        }
        for decision in decisions
    ]


def _load_of(sweep: Sweep, decision: SearchDecision) -> str:
    if decision.run is None:
        return ""
    target = decision.run.target_ops_s
    return named_load(sweep, target) if target else f"{decision.run.threads} threads"


def search_rows(matrix: Matrix) -> list[dict[str, Any]]:
    """The searches of a matrix: the newest decision of each, and how many trials it has ordered.

    One query.
    """
    decisions = SearchDecision.objects.filter(sweep__matrix=matrix).select_related("sweep").order_by("sweep", "number")
    by_sweep: dict[Sweep, list[SearchDecision]] = {}
    for decision in decisions:
        by_sweep.setdefault(decision.sweep, []).append(decision)
    return [
        {
            "sweep": sweep,
            "last": steps[-1],
            "trials": sum(step.run_id is not None for step in steps),
            "low": named_load(sweep, steps[-1].low),
            "high": named_load(sweep, steps[-1].high),
        }
        for sweep, steps in by_sweep.items()
    ]
