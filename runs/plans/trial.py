"""A trial run: every cell of a plan for seconds over a small data set of its own, before hours are spent on the plan.

It is a matrix like any other, and its runs end at the same guards and checks.
"""

from collections.abc import Iterator
from typing import Any

from django.db import transaction

from benchsite.accounts.models import User
from runs.catalog import load_catalog
from runs.models import Matrix, Provisioner, Purpose, Status
from runs.plans.messages import TRIAL_REPLACES_DATA
from runs.plans.plan import PlanError, Problem
from runs.plans.plan_spec import CLOSED, MIN_OPERATIONS
from runs.plans.submission import clone, submit
from runs.ycsb.properties import WORKLOAD_PROPERTIES

TAG = "trial"
RECORDS = 1_000
MEASURE_S = 10
NOT_OVERRIDDEN = ("recordcount", "table", MIN_OPERATIONS)  # of which a trial has its own
TRIAL: dict[str, Any] = {
    "purpose": Purpose.SMOKE, "repeats": 1, "looks": [], "bracket": False, "search": None, "stops_early": False,
    "faults": [], "load_policy": Matrix.LoadPolicy.LOAD, "warmup_s": 0, "min_measure_s": MEASURE_S,
    "max_measure_s": MEASURE_S, "min_operations": 0, "settle_s": 0,
}  # fmt: skip


@transaction.atomic
def start_trial(matrix: Matrix, user: User) -> Matrix:
    """Submits a trial run of a plan that is not submitted yet. Raises PlanError; nothing is stored then."""
    locked = Matrix.objects.select_for_update().get(pk=matrix.pk)
    if locked.submitted_at:
        raise PlanError([Problem("", "Only a plan that is not submitted yet can be tried: clone this matrix first.")])
    if locked.trials.filter(runs__status__in=Status.unfinished()).exists():
        raise PlanError([Problem("", "A trial run of this plan is running: wait until it ends, or cancel it.")])

    columns = {**TRIAL, "rungs": _select_ends(locked.rungs)}
    # The first trial of a search over targets has no target either.
    if locked.search is not None and locked.ladder == Matrix.Ladder.TARGET:
        columns |= {"ladder": Matrix.Ladder.THREADS, "rungs": [locked.threads or 1], "arrivals": CLOSED}
    trial = clone(
        locked,
        name=f"{locked.name[:110]} (trial)",
        by=user,
        trial_of=locked,
        exclusions=[*locked.exclusions, *_exclude_external(locked)],
        overrides=list(_shrink_overrides(locked)),
        tags=list(dict.fromkeys([*locked.tags, TAG])),
        groups=[{**group, "start_s": None, "length_s": None} for group in locked.groups],
        **columns,
    )
    submit(trial, user)
    return trial


def _select_ends(rungs: list[int]) -> list[int]:
    """The first and the last rung of a ladder."""
    return list(dict.fromkeys([*rungs[:1], *rungs[-1:]]))


def _exclude_external(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """Exclusions of external servers whose system has no tables: a trial would replace the data set that they hold."""
    for entry in matrix.entries.select_related("database__cluster"):
        system = load_catalog().system(entry.database.system, entry.database.flavour)
        if entry.database.cluster.provisioner == Provisioner.EXTERNAL and "{table}" not in system.binding.target:
            yield {
                "match": {"database": str(entry.database_id)},
                "reason": TRIAL_REPLACES_DATA.format(system=system.name),
            }


def _shrink_overrides(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """The plan's overrides with the ends of their ladders, and for every workload a small data set of its own."""
    for rule in matrix.overrides:
        changes = {name: value for name, value in rule["set"].items() if name not in NOT_OVERRIDDEN}
        if "rungs" in changes:
            changes["rungs"] = _select_ends(changes["rungs"])
        if changes:
            yield {"match": rule["match"], "set": changes}
    for workload in matrix.workloads.all():
        table = workload.properties.get("table") or WORKLOAD_PROPERTIES["table"].default
        yield {
            "match": {"workload": str(workload.pk)},
            "set": {"recordcount": RECORDS, "table": f"{table}_{TAG}"},
        }
