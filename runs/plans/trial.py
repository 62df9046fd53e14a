"""A trial run: every cell of a plan for seconds over a small data set of its own, before hours are spent on the plan.

It is a matrix like any other, and its runs end at the same guards and checks.
"""

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from benchsite.accounts.models import User
from runs.catalog import load_catalog
from runs.models import Matrix
from runs.models.plan import Provisioner, Purpose
from runs.models.run import Status
from runs.plans.plan import PlanError, Problem
from runs.plans.submission import clone, submit
from runs.ycsb.properties import WORKLOAD_PROPERTIES

TAG = "trial"
RECORDS = 1_000
MEASURE_S = 10


@transaction.atomic
def start_trial(matrix: Matrix, user: User) -> Matrix:
    """Submits a trial run of a plan that is not submitted yet. Raises PlanError; nothing is stored then."""
    locked = Matrix.objects.select_for_update().get(pk=matrix.pk)
    if locked.submitted_at:
        raise PlanError([Problem("", "Only a plan that is not submitted yet can be tried: clone this matrix first.")])
    if locked.trials.filter(runs__status__in=Status.unfinished()).exists():
        raise PlanError([Problem("", "A trial run of this plan is running: wait until it ends, or cancel it.")])
    trial = clone(locked, name=f"{locked.name[:110]} (trial)", by=user)
    changes: dict[str, Any] = {
        "trial_of": locked, "purpose": Purpose.SMOKE, "tags": [*dict.fromkeys([*locked.tags, TAG])],
        "rungs": _ends(locked.rungs), "repeats": 1, "bracket": False, "load_policy": Matrix.LoadPolicy.LOAD,
        "warmup_s": 0, "min_measure_s": MEASURE_S, "max_measure_s": MEASURE_S, "min_operations": 0,
        "exclusions": [*locked.exclusions, *_untouchable(locked)], "overrides": list(_overrides(locked)),
    }  # fmt: skip
    changes |= {"search": None, "stops_early": False, "looks": [], "faults": []}
    if locked.search is not None and locked.ladder == Matrix.Ladder.TARGET:  # Its first trial has no target either.
        changes |= {"ladder": Matrix.Ladder.THREADS, "rungs": [locked.threads or 1]}
    for name, value in changes.items():
        setattr(trial, name, value)
    trial.save(update_fields=list(changes))
    submit(trial, user)
    return trial


def _ends(rungs: list[int]) -> list[int]:
    """The first and the last rung of a ladder."""
    return [*dict.fromkeys([rungs[0], rungs[-1]])] if rungs else []


def _untouchable(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """Exclusions of external servers whose system has no tables: a trial would replace the data set that they hold."""
    for entry in matrix.entries.select_related("database__cluster"):
        system = load_catalog().system(entry.database.system, entry.database.flavour)
        if entry.database.cluster.provisioner == Provisioner.EXTERNAL and "{table}" not in system.binding.target:
            yield {
                "match": {"database": str(entry.database_id)},
                "reason": f"{system.name} has no tables: a trial would replace the data set of the external server.",
            }


def _overrides(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """The plan's overrides with the ends of their ladders, and for every workload a small data set of its own."""
    for rule in matrix.overrides:
        changes = {name: value for name, value in rule["set"].items() if name not in ("recordcount", "table")}
        if "rungs" in changes:
            changes["rungs"] = _ends(changes["rungs"])
        if changes:
            yield {"match": rule["match"], "set": changes}
    for workload in matrix.workloads.all():
        table = workload.properties.get("table") or WORKLOAD_PROPERTIES["table"].default
        yield {
            "match": {"workload": str(workload.pk)},
            "set": {"recordcount": RECORDS, "table": f"{table}_{TAG}"},
        }
