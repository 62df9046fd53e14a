"""Writing a plan down: its sweeps and runs with their immutable specs, in one transaction; and copying one."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from benchsite.accounts import limits
from benchsite.accounts.models import Role, User
from benchsite.accounts.permissions import has_role_in
from runs.builds import has_own_builds
from runs.catalog.generators import get_generators
from runs.models import Matrix, Phase, Run, SearchDecision
from runs.plans import rows
from runs.plans.drafts import read_stored, stored_plan
from runs.plans.expansion import expand
from runs.plans.plan import Plan, PlanError, Problem
from runs.plans.preview import preview
from runs.queue.team_usage import refuse_full_storage, refuse_more_queued_runs
from runs.results.measures.search import Rule, State

NO_BUILDER = "Servers of own builds are started by members with the role builder or admin: ask one of them."
# The scheduler listens on this PostgreSQL channel, so that a submitted run need not wait for the next second.
QUEUE_CHANNEL = "benchsite_queue"
# Conductors listen on this one, for runs that were dispatched.
CONDUCTOR_CHANNEL = "benchsite_conductor"


def submit(matrix: Matrix, user: User | None) -> None:
    """Insert the matrix's sweeps and runs. Raises PlanError and LimitReached; nothing is stored then."""
    with transaction.atomic():
        locked = Matrix.objects.select_for_update().get(pk=matrix.pk)
        if locked.submitted_at:
            raise PlanError([Problem("", "This matrix is already submitted: clone it to run it again.")])

        # The builder offers only generators that the team may use; that may have changed since.
        own = get_generators(locked.team).values("pk")
        others = locked.load_generators.exclude(pk__in=own).values_list("name", flat=True)
        if others:
            raise PlanError([Problem("load_generators", f"Your team may not use {', '.join(others)} any more.")])
        if has_own_builds(locked.builds) and not has_role_in(locked.team, user, Role.BUILDER):
            raise PlanError([Problem("builds", NO_BUILDER)])

        plan = stored_plan(locked)
        outcome = preview(plan)
        if outcome.problems:
            raise PlanError(outcome.problems)

        limits.lock(locked.team)
        refuse_full_storage(locked.team)
        _insert(locked, plan, user)
        refuse_more_queued_runs(locked.team)
        Matrix.objects.filter(pk=matrix.pk).update(submitted_at=Now())
        wake_scheduler()
    matrix.refresh_from_db()


def first_decision(run: Run) -> SearchDecision:
    """The step of a search that ordered its first trial."""
    rule, sentence = Rule.START, f"Measure what {run.threads} threads reach."
    if run.sweep is not None and run.sweep.ladder == Matrix.Ladder.TARGET:
        rule, sentence = Rule.PROBE, f"Measure what {run.threads} threads reach without a target."
    return SearchDecision(sweep=run.sweep, number=1, run=run, rule=rule, state=State.SEARCHING, sentence=sentence)


def wake_scheduler() -> None:
    """Tell the scheduler, once this transaction commits, that the queue has changed."""
    with connection.cursor() as cursor:
        cursor.execute(f"NOTIFY {QUEUE_CHANNEL}")


def _insert(matrix: Matrix, plan: Plan, user: User | None) -> None:
    expansion = expand(plan)
    submitter = "benchsite"
    if user:
        submitter = user.get_username()
    runs = rows.insert(matrix, plan, expansion, by=submitter)
    if plan.search is not None:
        probes = {run.sweep_id: run for run in runs.values() if run.phase == Phase.MEASURE and not run.is_bracket}
        SearchDecision.objects.bulk_create(first_decision(run) for run in probes.values())

    through = Run.load_generators.through
    through.objects.bulk_create(
        through(run_id=runs[planned.position].pk, loadgenerator_id=UUID(generator.id))
        for planned in expansion.runs
        for generator in planned.all_generators
    )


# What belongs to one carrying out of a plan, and not to the plan.
OF_ONE_MATRIX = ("id", "name", "created_by", "created_at", "submitted_at", "notes", "trial_of")


def clone(matrix: Matrix, *, name: str, by: User | None, **changes: Any) -> Matrix:
    """A copy of the plan, down to its exclusions and overrides. The caller holds the transaction."""
    fields = [field.attname for field in Matrix._meta.concrete_fields if field.name not in OF_ONE_MATRIX]
    columns = {field: getattr(matrix, field) for field in fields}
    copy = Matrix(**{**columns, **changes}, name=name)
    return replace(read_stored(matrix), matrix=copy).store(by)
