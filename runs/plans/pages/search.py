"""The path of a search as pages and programs show it."""

from typing import Any

from runs.models import Matrix, SearchDecision, Sweep
from runs.queue.next_runs import get_trials, named_load


def search_path(sweep: Sweep) -> list[dict[str, Any]]:
    """The decisions in their order, each with the outcome of the run that it ordered; none for fixed rungs.

    An outcome is empty without a run that has ended. Six queries.
    """
    decisions = list(sweep.decisions.select_related("run"))
    outcomes = {}
    if decisions:
        outcomes = {trial.run.pk: trial.text for trial in get_trials(sweep)}
    steps = []
    for decision in decisions:
        load = outcome = ""
        if decision.run is not None:
            outcome = outcomes.get(decision.run.pk, "")
            load = f"{decision.run.threads} threads"
            if decision.run.target_ops_s:
                load = named_load(sweep, decision.run.target_ops_s)
        low, high = named_load(sweep, decision.low), named_load(sweep, decision.high)
        steps.append({"decision": decision, "load": load, "low": low, "high": high, "outcome": outcome})

    return steps


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
