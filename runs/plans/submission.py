"""Writing a plan down: its sweeps and runs with their immutable specs, in one transaction; and copying one."""

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from benchsite.accounts import limits
from benchsite.accounts.models import Role, User
from benchsite.accounts.permissions import has_role_in
from runs.builds import has_own_builds
from runs.catalog.generators import get_generators
from runs.models import Cluster, LoadGenerator, Machine, Matrix, Phase, Provisioner, Run, SearchDecision
from runs.plans import rows
from runs.plans.drafts import Draft
from runs.plans.expansion import PlannedRun, expand
from runs.plans.plan import Plan, PlanError, Problem, stored_plan
from runs.plans.preview import preview
from runs.queue.spec import ClusterSpec, GeneratorSpec, MachineSpec, RunSpec
from runs.queue.team_usage import refuse_full_storage, refuse_more_queued_runs
from runs.results.measures.search import Rule, State

UNKNOWN_VERSION = "unknown"
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
    machines = _MachineSpecs(plan)
    specs = {planned.position: _build_spec(plan, planned, machines) for planned in expansion.runs}
    submitter = "benchsite"
    if user:
        submitter = user.get_username()
    runs = rows.insert(matrix, plan, expansion, specs, by=submitter)
    if plan.search is not None:
        probes = {run.sweep_id: run for run in runs.values() if run.phase == Phase.MEASURE and not run.is_bracket}
        SearchDecision.objects.bulk_create(first_decision(run) for run in probes.values())

    through = Run.load_generators.through
    through.objects.bulk_create(
        through(run_id=runs[planned.position].pk, loadgenerator_id=UUID(generator.id))
        for planned in expansion.runs
        for generator in planned.all_generators
    )


class _MachineSpecs:
    """Clusters, generators and machines as they are at submission, read once for all runs."""

    def __init__(self, plan: Plan) -> None:
        self.clusters: dict[str, ClusterSpec] = {}
        clusters = Cluster.objects.filter(pk__in={entry.database.cluster_id for entry in plan.entries})
        for cluster in clusters.prefetch_related("nodes__machine"):
            self.clusters[str(cluster.pk)] = {
                "id": str(cluster.pk),
                "name": cluster.name,
                "provisioner": cluster.provisioner,
                "machines": [build_machine_spec(node.machine) for node in cluster.nodes.all()],
                "separates_cpus": cluster.separates_cpus and cluster.provisioner != Provisioner.EXTERNAL,
            }

        self.generators: dict[str, GeneratorSpec] = {}
        self.ycsb_versions: dict[str, dict[str, str]] = {}
        generators = LoadGenerator.objects.filter(pk__in=[generator.id for generator in plan.generators])
        for generator in generators.select_related("machine"):
            key, machine = str(generator.pk), build_machine_spec(generator.machine)
            self.generators[key] = {"id": key, "name": generator.name, "machine": machine}
            self.ycsb_versions[key] = _get_ycsb_versions(generator)


def _get_ycsb_versions(generator: LoadGenerator) -> dict[str, str]:
    """By binding; nothing where an earlier release stored something else."""
    versions = generator.facts.get("ycsb_versions")
    return versions if isinstance(versions, dict) else {}


def build_machine_spec(machine: Machine) -> MachineSpec:
    """What a spec says of a machine: as it is now."""
    return {"id": str(machine.pk), "name": machine.name, "facts": machine.facts}


def _build_spec(plan: Plan, planned: PlannedRun, machines: _MachineSpecs) -> RunSpec:
    database = planned.sweep.entry.database
    binding, generator = database.binding, planned.generators[0]
    return rows.build_spec(
        plan,
        planned,
        client={
            "flavour": database.flavour,
            "binding": binding,
            "digest": generator.bindings[binding],
            "ycsb_version": machines.ycsb_versions[generator.id].get(binding, UNKNOWN_VERSION),
        },
        cluster=machines.clusters[database.cluster_id],
        generators=machines.generators,
    )


# What belongs to one carrying out of a plan, and not to the plan.
OF_ONE_MATRIX = ("id", "name", "created_by", "created_at", "submitted_at", "notes", "trial_of")


def clone(matrix: Matrix, *, name: str, by: User | None, **changes: Any) -> Matrix:
    """A copy of the plan, down to its exclusions and overrides. The caller holds the transaction."""
    fields = [field.attname for field in Matrix._meta.concrete_fields if field.name not in OF_ONE_MATRIX]
    columns = {field: getattr(matrix, field) for field in fields}
    entries = [(entry.database, entry.mode) for entry in matrix.entries.select_related("database")]
    copy = Matrix(**{**columns, **changes}, name=name)
    return Draft(copy, entries, matrix.workloads.all(), matrix.load_generators.all()).store(by)
