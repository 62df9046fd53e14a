"""Writing a plan down: its sweeps and runs with their immutable specs, in one transaction."""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from benchsite.teams.models import User
from runs.catalog import load_catalog, secret_properties
from runs.copies import config_key, sweep_columns
from runs.models import Cluster, LoadGenerator, Machine, Matrix, Run, RunEvent, Sweep
from runs.planning.expansion import PlannedRun, expand
from runs.planning.plan import Plan, PlanError, Problem, stored_plan
from runs.planning.preview import preview
from runs.spec import SPEC_VERSION, ClusterSpec, GeneratorSpec, MachineSpec, RunSpec

YCSB_VERSION = "0.17.0"
# The scheduler listens on this PostgreSQL channel, so that a submitted run need not wait for the next second.
QUEUE_CHANNEL = "benchsite_queue"


def submit(matrix: Matrix, user: User | None) -> None:
    """Insert the matrix's sweeps and runs. Raises PlanError; nothing is stored then."""
    with transaction.atomic():
        locked = Matrix.objects.select_for_update().get(pk=matrix.pk)
        if locked.submitted_at:
            raise PlanError([Problem("", "This matrix is already submitted: clone it to run it again.")])
        plan = stored_plan(locked)
        found = preview(plan)
        if found.problems:
            raise PlanError(found.problems)
        _insert(locked, plan, user)
        Matrix.objects.filter(pk=matrix.pk).update(submitted_at=Now())
        wake_scheduler()
    matrix.refresh_from_db()


def wake_scheduler() -> None:
    """Tell the scheduler, once this transaction commits, that the queue has changed."""
    with connection.cursor() as cursor:
        cursor.execute(f"NOTIFY {QUEUE_CHANNEL}")


def _insert(matrix: Matrix, plan: Plan, user: User | None) -> None:
    expansion = expand(plan)
    facts = _Facts(plan)
    sweeps = {
        planned.key: Sweep(
            team_id=matrix.team_id,
            matrix=matrix,
            database_id=UUID(planned.entry.database.id),
            workload_id=UUID(planned.workload.id),
            phase=planned.phase,
            name=planned.name,
            system=planned.entry.database.system,
            mode=planned.entry.mode,
            purpose=plan.purpose,
            ladder=plan.ladder,
            tags=matrix.tags,
        )
        for planned in expansion.sweeps
    }
    specs = {planned.position: spec_of(plan, planned, facts) for planned in expansion.runs}
    for planned in reversed(expansion.runs):
        # The first run of a sweep is the last to say what the sweep is.
        for column, value in sweep_columns(specs[planned.position]).items():
            setattr(sweeps[planned.sweep.key], column, value)
    Sweep.objects.bulk_create(sweeps.values())
    runs: dict[int, Run] = {}
    for planned in expansion.runs:
        runs[planned.position] = _run(matrix, planned, specs[planned.position], sweeps[planned.sweep.key], runs)
    Run.objects.bulk_create(runs.values())
    through = Run.load_generators.through
    through.objects.bulk_create(
        through(run_id=runs[planned.position].pk, loadgenerator_id=UUID(generator.id))
        for planned in expansion.runs
        for generator in planned.generators
    )
    actor = user.get_username() if user else "benchsite"
    RunEvent.objects.bulk_create(RunEvent(run=run, kind="status", new=run.status, actor=actor) for run in runs.values())


def _run(matrix: Matrix, planned: PlannedRun, spec: RunSpec, sweep: Sweep, runs: Mapping[int, Run]) -> Run:
    return Run(
        team_id=matrix.team_id,
        sweep=sweep,
        matrix=matrix,
        cluster_id=UUID(planned.sweep.entry.database.cluster_id),
        phase=planned.phase,
        name=planned.name,
        spec=spec,
        config_key=config_key(spec),
        system=sweep.system,
        mode=sweep.mode,
        workload_name=planned.sweep.workload.name,
        purpose=sweep.purpose,
        threads=planned.threads,
        target_ops_s=planned.target_ops_s,
        repeat=planned.repeat,
        is_bracket=planned.is_bracket,
        position=planned.position,
        priority=matrix.priority,
        needs=runs[planned.needs] if planned.needs is not None else None,
        expected_s=planned.expected_s,
        tags=matrix.tags,
    )


class _Facts:
    """Clusters, generators and machines as they are at submission, read once for all runs."""

    def __init__(self, plan: Plan) -> None:
        clusters = Cluster.objects.filter(pk__in={e.database.cluster_id for e in plan.entries})
        self.clusters: dict[str, ClusterSpec] = {
            str(cluster.pk): {
                "id": str(cluster.pk),
                "name": cluster.name,
                "provisioner": cluster.provisioner,
                "machines": [_machine(node.machine) for node in cluster.nodes.all()],
            }
            for cluster in clusters.prefetch_related("nodes__machine")
        }
        generators = LoadGenerator.objects.filter(pk__in=[g.id for g in plan.generators]).select_related("machine")
        self.generators: dict[str, GeneratorSpec] = {
            str(g.pk): {"id": str(g.pk), "name": g.name, "machine": _machine(g.machine)} for g in generators
        }


def _machine(machine: Machine) -> MachineSpec:
    return {"id": str(machine.pk), "name": machine.name, "facts": machine.facts}


def spec_of(plan: Plan, planned: PlannedRun, facts: _Facts) -> RunSpec:
    """The immutable description of one run: everything that decides its result, as it stands now."""
    catalog = load_catalog()
    database, workload = planned.sweep.entry.database, planned.sweep.workload
    system = catalog.system(database.system)
    mode = system.mode(planned.sweep.entry.mode)
    secrets = secret_properties(system)
    return {
        "version": SPEC_VERSION,
        "phase": planned.phase,
        "purpose": plan.purpose,
        "system": system.slug,
        "system_name": system.name,
        "catalog_digest": catalog.digest,
        "database": {
            "id": database.id,
            "name": database.name,
            "version": database.version,
            "replication_factor": database.replication_factor,
            "settings": dict(database.settings),
            # Secrets stay with the Database: a spec is for ever, and is shown.
            "binding_properties": {n: v for n, v in database.binding_properties.items() if n not in secrets},
        },
        "mode": {
            "slug": mode.slug,
            "name": mode.name,
            "record": dict(mode.durability.as_dict()),
            "server_settings": dict(mode.server_settings),
            "client_properties": dict(mode.client_properties),
        },
        "workload": {
            "id": workload.id,
            "name": workload.name,
            "short_name": workload.short_name,
            "properties": planned.properties,
        },
        "dataset": {
            "records": planned.dataset.records,
            "record_bytes": planned.dataset.record_bytes,
            "fingerprint": planned.dataset.fingerprint,
        },
        "load": {"threads": planned.threads, "target_ops_s": planned.target_ops_s, "processes": plan.processes},
        "window": {
            "warmup_s": plan.warmup_s if planned.phase == "measure" else 0,
            "min_measure_s": plan.min_measure_s,
            "max_measure_s": plan.max_measure_s,
            "min_operations": plan.min_operations,
        },
        "client": {
            "flavour": database.flavour,
            "binding": system.binding.name,
            "digest": planned.generators[0].bindings[system.binding.name],
            "ycsb_version": YCSB_VERSION,
        },
        "cluster": facts.clusters[database.cluster_id],
        "generators": [facts.generators[generator.id] for generator in planned.generators],
        "load_policy": plan.load_policy,
        "resets": dict(plan.resets),
        "priming": dict(plan.priming) if plan.priming else None,
    }
