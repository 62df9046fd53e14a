"""Rows for tests, valid by the models and by `runs.queue.spec`: plain functions, every argument optional.

    team = make_team()
    sweep = make_sweep(team=team, system="redis", mode="always")
    for threads, throughput in ((2, 1200), (4, 2100)):
        make_run(sweep, threads=threads, throughput=throughput)
    make_run(sweep, threads=8, status="failed", reason="client_failed")

A succeeded run gets a measurement set with READ and UPDATE, whose latencies follow Little's law from threads and
throughput; `measurements=[...]` replaces them, `measurements=[]` leaves the set without any.
"""

import datetime as dt
import hashlib
import itertools
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import Membership, Role, Team, User
from runs.catalog.generators import generator_key
from runs.models import (
    ClientRun,
    Cluster,
    Conductor,
    Database,
    Finding,
    LoadGenerator,
    Machine,
    Matrix,
    MatrixEntry,
    Measurement,
    MeasurementSet,
    Node,
    Run,
    Schedule,
    Sweep,
    Workload,
)
from runs.models.run import Phase, Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.queue.spec import SPEC_VERSION, GeneratorSpec, MachineSpec, RunSpec
from runs.results.denormalised_columns import config_key, durability_class

_numbers = itertools.count(1)

SYSTEM_NAMES = {"redis": "Redis", "postgresql": "PostgreSQL", "memcached": "memcached", "mongodb": "MongoDB"}

WORKLOAD_A = {
    "recordcount": "10000",
    "fieldcount": "10",
    "fieldlength": "100",
    "readproportion": "0.5",
    "updateproportion": "0.5",
    "requestdistribution": "zipfian",
}

# What the modes of the quick study promise, in the shape of `runs.catalog.Durability.as_dict()`.
_DISK = {
    "ack": "disk",
    "replicas_acked": 0,
    "replica_ack": "none",
    "reads": "primary",
    "loss_window_s": 0.0,
    "worst_loss_window_s": None,
}
_MEMORY = {
    "ack": "memory",
    "replicas_acked": 0,
    "replica_ack": "none",
    "reads": "primary",
    "loss_window_s": None,
    "worst_loss_window_s": None,
}
RECORDS: dict[tuple[str, str], dict[str, object]] = {
    ("redis", "off"): _MEMORY,
    ("redis", "everysec"): {**_MEMORY, "ack": "os_buffer", "loss_window_s": 1.0},
    ("redis", "always"): _DISK,
    ("postgresql", "off"): {**_MEMORY, "loss_window_s": 0.6},
    ("postgresql", "on"): _DISK,
}

# Percentiles as multiples of the mean: the shape of an unremarkable service-time distribution.
LATENCY_SHAPE = {
    "min_us": 0.3,
    "p50_us": 0.85,
    "p90_us": 1.6,
    "p95_us": 2.0,
    "p99_us": 3.4,
    "p999_us": 7.0,
    "p9999_us": 14.0,
    "max_us": 25.0,
}


def make_user(*, team: Team | None = None, role: str = Role.RUNNER, **fields: Any) -> User:
    """A person with the password "correct horse", a member of `team` where one is given."""
    number = next(_numbers)
    user = User.objects.create_user(username=fields.pop("username", f"person{number}"), **fields)
    user.set_password("correct horse")
    user.save()
    if team is not None:
        Membership.objects.create(user=user, team=team, role=role)
    return user


def make_team(*, name: str = "", **fields: Any) -> Team:
    number = next(_numbers)
    return Team.objects.create(name=name or f"Team {number}", slug=fields.pop("slug", f"team-{number}"), **fields)


def make_machine(*, name: str = "", cores: int = 2, **fields: Any) -> Machine:
    number = next(_numbers)
    facts = fields.pop("facts", {"cores": {"value": cores, "how": "observed"}})
    return Machine.objects.create(
        name=name or f"machine-{number}", host_key=fields.pop("host_key", f"host-{number}"), facts=facts, **fields
    )


def make_cluster(
    *, team: Team | None = None, machines: Sequence[Machine] | None = None, name: str = "", **fields: Any
) -> Cluster:
    """A cluster of one node on a machine of its own, or of one node per given machine."""
    cluster = Cluster.objects.create(
        team=team or make_team(),
        name=name or f"cluster {next(_numbers)}",
        provisioner=fields.pop("provisioner", "process"),
        **fields,
    )
    for position, machine in enumerate(machines if machines is not None else [make_machine()]):
        Node.objects.create(cluster=cluster, machine=machine, position=position)
    return cluster


def make_conductor(host_key: str = "", **fields: Any) -> Conductor:
    """A living one; without `host_key` on a host of its own, where it carries out runs of external servers only."""
    number = next(_numbers)
    host_key = host_key or f"conductor-host-{number}"
    return Conductor.objects.create(
        id=uuid.UUID(int=number),
        name=fields.pop("name", f"{host_key}-1"),
        host_key=host_key,
        last_seen_at=fields.pop("last_seen_at", Now()),
        **fields,
    )


def make_conductors() -> None:
    """A living conductor with room for many runs on each host that has a machine and no conductor."""
    machines = Machine.objects.exclude(host_key=None).exclude(host_key__in=Conductor.objects.values("host_key"))
    for machine in machines:
        make_conductor(str(machine.host_key), capacity=99)


def make_load_generator(*, name: str = "", machine: Machine | None = None, **fields: Any) -> LoadGenerator:
    return LoadGenerator.objects.create(
        name=name or f"generator-{next(_numbers)}",
        machine=machine or make_machine(),
        bindings=fields.pop("bindings", {"redis": "digest-redis", "jdbc": "digest-jdbc"}),
        last_seen_at=fields.pop("last_seen_at", timezone.now()),
        **fields,
    )


def make_database(
    *,
    team: Team | None = None,
    cluster: Cluster | None = None,
    name: str = "",
    system: str = "redis",
    version: str = "",
    **fields: Any,
) -> Database:
    team = team or (cluster.team if cluster else make_team())
    return Database.objects.create(
        team=team,
        cluster=cluster or make_cluster(team=team),
        name=name or f"{SYSTEM_NAMES.get(system, system)} {next(_numbers)}",
        system=system,
        version=version or {"redis": "7.0", "postgresql": "15"}.get(system, "1.0"),
        **fields,
    )


def make_workload(*, team: Team | None = None, name: str = "", short_name: str = "A", **fields: Any) -> Workload:
    return Workload.objects.create(
        team=team or make_team(),
        name=name or f"Workload A {next(_numbers)}",
        short_name=short_name,
        properties=fields.pop("properties", WORKLOAD_A),
        **fields,
    )


def make_matrix(
    *,
    team: Team | None = None,
    name: str = "",
    entries: Iterable[tuple[Database, str]] = (),
    workloads: Iterable[Workload] = (),
    load_generators: Iterable[LoadGenerator] = (),
    **fields: Any,
) -> Matrix:
    """A submitted matrix of the quick study's shape; `submitted_at=None` makes one that still waits."""
    matrix = Matrix.objects.create(
        team=team or make_team(),
        name=name or f"matrix {next(_numbers)}",
        purpose=fields.pop("purpose", "demo"),
        rungs=fields.pop("rungs", [2, 4, 16, 32]),
        warmup_s=fields.pop("warmup_s", 2),
        min_measure_s=fields.pop("min_measure_s", 10),
        max_measure_s=fields.pop("max_measure_s", 10),
        submitted_at=fields.pop("submitted_at", timezone.now()),
        **fields,
    )
    matrix.workloads.set(workloads)
    matrix.load_generators.set(load_generators)
    for position, (database, mode) in enumerate(entries):
        MatrixEntry.objects.create(matrix=matrix, database=database, mode=mode, position=position)
    return matrix


def make_schedule(team: Team, matrix: Matrix | None = None, **fields: Any) -> Schedule:
    """One that is paused, unless `is_active` and `next_at` say otherwise."""
    values = {"name": f"schedule {next(_numbers)}", "at": dt.time(3, 0), "is_active": False, **fields}
    return Schedule.objects.create(team=team, matrix=matrix or make_matrix(team=team), **values)


def make_sweep(
    *,
    team: Team | None = None,
    matrix: Matrix | None = None,
    database: Database | None = None,
    workload: Workload | None = None,
    system: str = "",
    mode: str = "",
    name: str = "",
    phase: str = Phase.MEASURE,
    purpose: str = "",
    **fields: Any,
) -> Sweep:
    """A sweep with every parent it needs, all of one team."""
    parent = database or workload or matrix
    team = team or (parent.team if parent else make_team())
    database = database or make_database(team=team, system=system or "redis")
    workload = workload or make_workload(team=team)
    if matrix is None:
        matrix = make_matrix(team=team, entries=[], workloads=[workload], purpose=purpose or "demo")
    mode = mode or {"postgresql": "on"}.get(database.system, "always")
    return Sweep.objects.create(
        team=team,
        matrix=matrix,
        database=database,
        workload=workload,
        phase=phase,
        name=name or f"{database.system} {mode} {workload.short_name}",
        system=database.system,
        mode=mode,
        purpose=purpose or matrix.purpose,
        ladder=fields.pop("ladder", matrix.ladder),
        **{**_columns(database, workload, mode), **fields},
    )


def _columns(database: Database, workload: Workload, mode: str) -> dict[str, Any]:
    """What `runs.results.denormalised_columns.sweep_columns` would copy of the spec of the sweep's runs."""
    return {
        "database_name": database.name,
        "version": database.version,
        "workload_name": workload.name,
        "cluster_name": database.cluster.name,
        "nodes": database.cluster.nodes.count() or None,
        "durability_class": durability_class(RECORDS.get((database.system, mode), _MEMORY)),
    }


def machine_spec(machine: Machine) -> MachineSpec:
    return {"id": str(machine.pk), "name": machine.name, "facts": machine.facts}


def generator_spec(generator: LoadGenerator) -> GeneratorSpec:
    return {"id": str(generator.pk), "name": generator.name, "machine": machine_spec(generator.machine)}


def make_spec(
    sweep: Sweep,
    *,
    threads: int = 2,
    target_ops_s: int | None = None,
    generators: Sequence[LoadGenerator] = (),
    **changes: Any,
) -> RunSpec:
    """What a run of this sweep submits; `changes` replace whole top-level entries. Without generators two stand on
    the cluster's first machine, as in the demo."""
    database, workload, matrix = sweep.database, sweep.workload, sweep.matrix
    assert database and workload and matrix
    machines = [machine_spec(node.machine) for node in database.cluster.nodes.select_related("machine")]
    load_generators: list[GeneratorSpec] = [generator_spec(generator) for generator in generators] or [
        {"id": str(uuid.UUID(int=number)), "name": f"load-{number}", "machine": machines[0]} for number in (1, 2)
    ]
    properties = dict(workload.properties)
    records = int(properties.get("recordcount", "1000"))
    record_bytes = int(properties.get("fieldcount", "10")) * int(properties.get("fieldlength", "100"))
    spec: RunSpec = {
        "version": SPEC_VERSION,
        "phase": sweep.phase,
        "purpose": sweep.purpose,
        "system": sweep.system,
        "system_name": SYSTEM_NAMES.get(sweep.system, sweep.system),
        "catalog_digest": "catalog-digest",
        "database": {
            "id": str(database.pk),
            "name": database.name,
            "version": database.version,
            "replication_factor": database.replication_factor,
            "settings": database.settings,
            "binding_properties": database.binding_properties,
        },
        "mode": {
            "slug": sweep.mode,
            "name": sweep.mode,
            "record": RECORDS.get((sweep.system, sweep.mode), _MEMORY),
            "server_settings": {"appendfsync": sweep.mode} if sweep.system == "redis" else {},
            "client_properties": {},
        },
        "workload": {
            "id": str(workload.pk),
            "name": workload.name,
            "short_name": workload.short_name,
            "properties": properties,
        },
        "dataset": {
            "records": records,
            "record_bytes": record_bytes,
            "fingerprint": hashlib.sha256(f"{records} {record_bytes}".encode()).hexdigest(),
        },
        "load": {"threads": threads, "target_ops_s": target_ops_s, "processes": matrix.processes_per_generator},
        "window": {
            "warmup_s": matrix.warmup_s,
            "min_measure_s": matrix.min_measure_s,
            "max_measure_s": matrix.max_measure_s,
            "min_operations": matrix.min_operations,
        },
        "client": {
            "flavour": database.flavour,
            "binding": "redis" if sweep.system == "redis" else "jdbc",
            "digest": "digest",
            "ycsb_version": "0.17.0",
        },
        "cluster": {
            "id": str(database.cluster_id),
            "name": database.cluster.name,
            "provisioner": database.cluster.provisioner,
            "machines": machines,
        },
        "generators": load_generators,
        "load_policy": matrix.load_policy,
        "resets": matrix.resets,
        "priming": matrix.priming_s or None,
    }
    spec.update(changes)  # type: ignore[typeddict-item]
    return spec


def make_run(
    sweep: Sweep | None = None,
    *,
    status: str = Status.SUCCEEDED,
    threads: int = 2,
    target_ops_s: int | None = None,
    repeat: int = 1,
    throughput: float = 1000.0,
    measurements: Sequence[Mapping[str, Any]] | None = None,
    findings: Sequence[Mapping[str, Any]] = (),
    verdict: str = "",
    generators: Sequence[LoadGenerator] = (),
    clients: int = 2,
    clients_merged: int | None = None,
    spec: RunSpec | None = None,
    **fields: Any,
) -> Run:
    """One run in any status, with what the constraints ask of that status; a succeeded one is measured and judged."""
    sweep = sweep or make_sweep()
    assert sweep.database and sweep.workload
    finished = status in Status.terminal()
    succeeded = status == Status.SUCCEEDED
    started_at = fields.pop("started_at", timezone.now() - dt.timedelta(minutes=5))
    defaults: dict[str, Any] = {
        "team": sweep.team,
        "matrix": sweep.matrix,
        "cluster": sweep.database.cluster,
        "phase": sweep.phase,
        "name": f"{sweep.name} {threads}t r{repeat}",
        "system": sweep.system,
        "mode": sweep.mode,
        "workload_name": sweep.workload.name,
        "purpose": sweep.purpose,
        "expected_s": 17,
        "generator_key": generator_key(generator.pk for generator in generators),
        "reason": Reason.CLIENT_FAILED if status == Status.FAILED else "",
        "claim": uuid.uuid4() if status == Status.RUNNING else None,
        "heartbeat_at": timezone.now() if status == Status.RUNNING else None,
        "dispatched_at": started_at if status != Status.QUEUED else None,
        "started_at": started_at if status not in (Status.QUEUED, Status.DISPATCHED) else None,
        "starts_at": started_at if succeeded or status == Status.RUNNING else None,
        "finished_at": started_at + dt.timedelta(seconds=17) if finished else None,
        "stage": {Status.RUNNING: "measuring", Status.SUCCEEDED: "done"}.get(Status(status), ""),
        "verdict": (verdict or "pass") if succeeded else verdict,
        "throughput_ops_s": throughput if succeeded else None,
        "evidence": mode_evidence(sweep.mode) if succeeded else {},
    }
    if status == Status.CANCELLED:
        defaults["reason"] = Reason.CANCELLED_BY_USER
    spec = spec or make_spec(sweep, threads=threads, target_ops_s=target_ops_s, generators=generators)
    run = Run.objects.create(
        sweep=sweep,
        status=status,
        threads=threads,
        target_ops_s=target_ops_s,
        repeat=repeat,
        spec=spec,
        config_key=config_key(spec),
        **{**defaults, **fields},
    )
    run.load_generators.set(generators)
    if succeeded:
        make_measurement_set(
            run,
            measurements=measurements,
            findings=findings,
            clients_merged=clients if clients_merged is None else clients_merged,
            clients_expected=clients,
        )
    return run


def mode_evidence(mode: str) -> dict[str, Any]:
    """`Run.evidence` of a run whose mode was read back before and after."""
    found = {"in_force": True, "found": {"appendfsync": mode}}
    return {"before": found, "after": found, "server_version": "7.0.15"}


def make_measurement_set(
    run: Run,
    *,
    number: int = 1,
    measurements: Sequence[Mapping[str, Any]] | None = None,
    findings: Sequence[Mapping[str, Any]] = (),
    clients_merged: int = 2,
    clients_expected: int = 2,
    window_s: float = 10.0,
    **fields: Any,
) -> MeasurementSet:
    """The current cut of a run: ten seconds after two of warm-up."""
    throughput = run.throughput_ops_s or 0.0
    starts_at = run.starts_at or timezone.now()
    warmup_s = fields.pop("warmup_s", 2.0)
    cut = MeasurementSet.objects.create(
        run=run,
        number=number,
        warmup_s=warmup_s,
        window_s=window_s,
        window_from=starts_at + dt.timedelta(seconds=warmup_s),
        window_to=starts_at + dt.timedelta(seconds=warmup_s + window_s),
        clients_merged=clients_merged,
        clients_expected=clients_expected,
        operations=fields.pop("operations", round(throughput * window_s)),
        failed=fields.pop("failed", 0),
        throughput_ops_s=throughput,
        throughput_sum_ops_s=throughput,
        throughput_wall_ops_s=throughput,
        overlap=fields.pop("overlap", 1.0),
        **fields,
    )
    if measurements is None:
        mean_us = run.threads / throughput * 1e6 if throughput else 0.0
        measurements = [
            measurement("READ", mean_us * 0.8, count=round(throughput * window_s / 2)),
            measurement("UPDATE", mean_us * 1.2, count=round(throughput * window_s / 2)),
        ]
    Measurement.objects.bulk_create(Measurement(measurement_set=cut, **measurement) for measurement in measurements)
    Finding.objects.bulk_create(Finding(measurement_set=cut, **finding(**judged)) for judged in findings)
    return cut


def measurement(
    operation: str, mean_us: float, *, kind: str = "service", count: int = 1000, **fields: Any
) -> dict[str, Any]:
    """The columns of one Measurement, every percentile in a fixed proportion to the mean."""
    return {
        "operation": operation,
        "latency_kind": kind,
        "count": count,
        "ok": count - fields.get("failed", 0),
        "failed": 0,
        "mean_us": mean_us,
        **{name: mean_us * factor for name, factor in LATENCY_SHAPE.items()},
        **fields,
    }


def finding(check_id: str = "V05", severity: str = "warn", **fields: Any) -> dict[str, Any]:
    return {
        "check_id": check_id,
        "severity": severity,
        "title": "Duration",
        "message": "The measured window is short.",
        **fields,
    }


def make_client_run(run: Run, *, number: int = 0, generator: LoadGenerator | None = None, **fields: Any) -> ClientRun:
    finished = fields.get("state", "waiting") in ("finished", "failed")
    return ClientRun.objects.create(
        run=run,
        number=number,
        load_generator=generator or make_load_generator(),
        order=fields.pop("order", {}),
        finished_at=fields.pop("finished_at", timezone.now() if finished else None),
        **fields,
    )


def claim_run(run_id: uuid.UUID, actor: str) -> uuid.UUID | None:
    """Claim this dispatched run as a conductor does; None where another was first."""
    claimed = lifecycle.claim_first(Run.objects.filter(pk=run_id), actor)
    return claimed[1] if claimed else None
