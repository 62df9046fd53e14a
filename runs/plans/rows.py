"""A plan's sweeps and runs as rows."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from runs.builds import read_commit_time
from runs.catalog import load_catalog, secret_properties
from runs.catalog.generators import generator_key
from runs.models import Cluster, LoadGenerator, Machine, Matrix, Provisioner, Run, RunEvent, Sweep
from runs.plans.expansion import Expansion, PlannedGroup, PlannedRun, PlannedSweep
from runs.plans.faults import EXCLUDED_REASON
from runs.plans.plan import Plan, PlannedDatabase, PlannedGenerator, PlannedWorkload
from runs.plans.plan_spec import PlanColumns, PlanGroup, find_patience_ms
from runs.queue.spec import (
    SPEC_VERSION,
    ClientSpec,
    ClusterSpec,
    GeneratorSpec,
    GroupSpec,
    LoadSpec,
    MachineSpec,
    OpenLoadSpec,
    RunSpec,
    WorkloadSpec,
)
from runs.results.denormalised_columns import config_key, sweep_columns

UNKNOWN_VERSION: Final = "unknown"


def insert(matrix: Matrix, plan: Plan, expansion: Expansion, *, by: str) -> dict[int, Run]:
    """Store all rows; answers the runs by their positions. The caller holds the transaction."""
    clusters = Cluster.objects.filter(pk__in={entry.database.cluster_id for entry in plan.entries})
    cluster_specs = {
        str(cluster.pk): _build_cluster_spec(cluster) for cluster in clusters.prefetch_related("nodes__machine")
    }
    generators = LoadGenerator.objects.filter(pk__in=[generator.id for generator in plan.generators])
    generators_by_id = {str(generator.pk): generator for generator in generators.select_related("machine")}
    specs = {
        planned.position: _build_spec(plan, planned, cluster_specs, generators_by_id) for planned in expansion.runs
    }
    sweeps = {planned.key: _build_sweep(matrix, plan, planned) for planned in expansion.sweeps}
    for planned in reversed(expansion.runs):
        # The first run of a sweep is the last to say what the sweep is.
        for column, value in sweep_columns(specs[planned.position]).items():
            setattr(sweeps[planned.sweep.key], column, value)

    Sweep.objects.bulk_create(sweeps.values())
    runs: dict[int, Run] = {}
    for planned in expansion.runs:
        needs = None
        if planned.needs is not None:
            needs = runs[planned.needs]
        spec, sweep = specs[planned.position], sweeps[planned.sweep.key]
        runs[planned.position] = _build_run(matrix, planned, spec, sweep, needs)

    Run.objects.bulk_create(runs.values())
    RunEvent.objects.bulk_create(RunEvent(run=run, kind="status", new=run.status, actor=by) for run in runs.values())
    return runs


def _build_sweep(matrix: Matrix, plan: Plan, planned: PlannedSweep) -> Sweep:
    return Sweep(
        team_id=matrix.team_id,
        matrix=matrix,
        phase=planned.phase,
        name=planned.name,
        system=planned.entry.database.system,
        mode=planned.entry.mode,
        purpose=plan.purpose,
        ladder=plan.ladder,
        tags=matrix.tags,
        database_id=UUID(planned.entry.database.id),
        workload_id=UUID(planned.workload.id),
    )


def _build_run(matrix: Matrix, planned: PlannedRun, spec: RunSpec, sweep: Sweep, needs: Run | None) -> Run:
    key, excluded_reason = config_key(spec), ""
    # Histories, noise floors and baselines are of tests, and neither a trial nor a run with faults is one.
    if spec.get("faults"):
        key, excluded_reason = "", EXCLUDED_REASON
    if matrix.trial_of_id:
        key = ""
    build = planned.sweep.entry.build
    code: dict[str, Any] = {}
    if build:
        code = {
            "commit": build["commit"],
            "branch": build["branch"],
            "committed_at": read_commit_time(build["committed_at"]),
        }

    return Run(
        team_id=matrix.team_id,
        matrix=matrix,
        phase=planned.phase,
        name=planned.name,
        spec=spec,
        config_key=key,
        excluded_reason=excluded_reason,
        **code,
        system=spec["system"],
        mode=spec["mode"]["slug"],
        workload_name=planned.sweep.workload.name,
        purpose=spec["purpose"],
        threads=planned.threads,
        target_ops_s=planned.target_ops_s,
        repeat=planned.repeat,
        is_bracket=planned.is_bracket,
        position=planned.position,
        priority=matrix.priority,
        expected_s=planned.expected_s,
        tags=matrix.tags,
        sweep=sweep,
        needs=needs,
        cluster_id=UUID(planned.sweep.entry.database.cluster_id),
        generator_key=generator_key(generator.id for generator in planned.all_generators),
    )


def _build_cluster_spec(cluster: Cluster) -> ClusterSpec:
    return {
        "id": str(cluster.pk),
        "name": cluster.name,
        "provisioner": cluster.provisioner,
        "machines": [build_machine_spec(node.machine) for node in cluster.nodes.all()],
        "separates_cpus": cluster.separates_cpus
        and cluster.provisioner != Provisioner.EXTERNAL
        and not cluster.is_spread,
    }


def build_machine_spec(machine: Machine) -> MachineSpec:
    """What a spec says of a machine: as it is now."""
    return {"id": str(machine.pk), "name": machine.name, "facts": machine.facts}


def _build_generator_specs(
    planned: Iterable[PlannedGenerator], generators: Mapping[str, LoadGenerator]
) -> list[GeneratorSpec]:
    specs: list[GeneratorSpec] = []
    for generator in planned:
        machine = generators[generator.id].machine
        specs.append({"id": generator.id, "name": generator.name, "machine": build_machine_spec(machine)})
    return specs


def _build_client_spec(database: PlannedDatabase, generator: LoadGenerator) -> ClientSpec:
    """By the first load generator of a run: all of them have the same build of its binding."""
    binding = database.binding
    versions = generator.facts.get("ycsb_versions")
    if not isinstance(versions, dict):  # An earlier release stored something else.
        versions = {}
    return {
        "flavour": database.flavour,
        "binding": binding,
        "digest": generator.bindings[binding],
        "ycsb_version": versions.get(binding, UNKNOWN_VERSION),
    }


def _build_spec(
    plan: Plan,
    planned: PlannedRun,
    clusters: Mapping[str, ClusterSpec],
    generators: Mapping[str, LoadGenerator],
) -> RunSpec:
    """The immutable description of one run: everything that decides its result, as it stands now."""
    catalog = load_catalog()
    database, build, workload = planned.sweep.entry.database, planned.sweep.entry.build, planned.sweep.workload
    system = catalog.system(database.system, database.flavour, database.own_modes)
    mode = system.mode(planned.sweep.entry.mode)
    # Secrets stay with the Database: a spec is for ever, and is shown.
    secrets = secret_properties(system)
    binding_properties = {name: value for name, value in database.binding_properties.items() if name not in secrets}
    version = database.version
    if build and build["version"]:
        version = build["version"]
    spec: RunSpec = {
        "version": SPEC_VERSION,
        "phase": planned.phase,
        "purpose": plan.purpose,
        "system": system.slug,
        "system_name": system.name,
        "catalog_digest": catalog.digest,
        "database": {
            "id": database.id,
            "name": database.name,
            "version": version,
            "replication_factor": database.replication_factor,
            "settings": dict(database.settings),
            "binding_properties": binding_properties,
        },
        "mode": {
            "slug": mode.slug,
            "name": mode.name,
            "record": system.find_durability(mode, binding_properties).as_dict(),
            "server_settings": dict(mode.server_settings),
            "client_properties": dict(mode.client_properties),
        },
        "workload": _build_workload_spec(workload, planned.properties),
        "dataset": {
            "records": planned.dataset.records,
            "record_bytes": planned.dataset.record_bytes,
            "fingerprint": planned.dataset.fingerprint,
        },
        "load": {"threads": planned.threads, "target_ops_s": planned.target_ops_s, "processes": planned.processes},
        "window": {
            "warmup_s": plan.warmup_s if planned.phase == "measure" else 0,
            "min_measure_s": planned.measure_s,
            "max_measure_s": planned.max_measure_s,
            "min_operations": planned.min_operations,
        },
        "client": _build_client_spec(database, generators[planned.generators[0].id]),
        "cluster": clusters[database.cluster_id],
        "generators": _build_generator_specs(planned.generators, generators),
        "load_policy": plan.load_policy,
        "resets": dict(plan.resets),
        "priming": plan.priming_s or None,
    }
    if planned.priming_s:
        spec["primed"] = {"seconds": planned.priming_s, "reads_only": plan.priming_reads}
    if plan.settle_s and planned.phase == "measure":
        spec["window"]["settle_s"] = plan.settle_s
    # The probe of a search has no target yet: the trials are copies of it, and have one.
    if plan.arrivals and planned.phase == "measure":
        spec["load"]["open"] = _build_open_load(plan)
    if build:
        spec["build"] = build
    if planned.groups:
        spec["load"]["groups"] = [_build_group(group, generators) for group in planned.groups]
    if plan.faults and planned.phase == "measure":
        spec["faults"] = sorted(plan.faults, key=lambda fault: fault["at_s"])
    return spec


def _build_workload_spec(workload: PlannedWorkload, properties: dict[str, str]) -> WorkloadSpec:
    return {"id": workload.id, "name": workload.name, "short_name": workload.short_name, "properties": properties}


def _build_open_load(load: PlanColumns | PlanGroup) -> OpenLoadSpec:
    return {
        "arrivals": load.arrivals,
        "patience_ms": find_patience_ms(load.patience_ms),
        "profile": load.profile,
    }


def _build_group(planned: PlannedGroup, generators: Mapping[str, LoadGenerator]) -> GroupSpec:
    group = planned.group
    load: LoadSpec = {"threads": group.threads, "target_ops_s": group.target_ops_s, "processes": 1}
    if group.arrivals:
        load["open"] = _build_open_load(group)

    return {
        "name": group.name,
        "workload": _build_workload_spec(planned.workload, planned.properties),
        "load": load,
        "generators": _build_generator_specs(planned.generators, generators),
        "start_s": group.start_s,
        "length_s": group.length_s,
        "measured": group.measured,
    }
