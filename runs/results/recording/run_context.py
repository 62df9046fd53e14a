"""What is known of a scheduled run beside its clients' output: its machines, its clocks, and other runs of its kind."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from django.db.models import Count, Prefetch, Q

from runs.catalog import GO_FLAVOUR
from runs.checks import ClientProbe, InsertedRecords, OperationFacts, Profile, Surroundings
from runs.checks.concurrency import mean_service_us
from runs.checks.spec_facts import cluster_facts, shared_machine
from runs.models import ClientRun, LatencyKind, Measurement, MeasurementSet, Phase, Run, Status, Verdict
from runs.queue.spec import RunSpec, is_open_ended, list_groups
from runs.results import artifacts
from runs.results.recording.server_samples import get_sample_artifacts, read_host_samples
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.errors import YcsbError
from runs.ycsb.operation import COMPOSITE
from runs.ycsb.properties import inserts
from runs.ycsb.summary import Summary, parse_summary

_COLLECTING = "TOTAL_GC_TIME_% "
# Measured runs that others may be compared with.
USABLE: Final = Q(phase=Phase.MEASURE, status=Status.SUCCEEDED) & ~Q(verdict=Verdict.REJECT)

# The lowest rung of a sweep over targets, by its first repeat: its target, and the mean service time in µs.
LowestRung = tuple[int, float | None]


def build_run_context(run: Run, spec: RunSpec, clients: Sequence[ClientRun], profile: Profile) -> Surroundings:
    """Read from the rows of the run; `clients` are with their generators' machines and their artifacts."""
    machines: dict[int, str] = {}
    cores: dict[int, int] = {}
    gc_shares: dict[int, float] = {}
    for client in clients:
        if client.load_generator:
            machine = client.load_generator.machine
            machines[client.number] = machine.name
            usable_cpus = len(client.order.get("cpus", ()))
            core_count = usable_cpus or int(machine.facts.get("cores", {}).get("value", 0))
            if core_count:
                cores[client.number] = core_count
        gc_share = _get_gc_share(read_summary(client))
        if gc_share is not None:
            gc_shares[client.number] = gc_share

    lowest_us = open_load = None
    if run.sweep_id and run.target_ops_s:
        lowest_us = low_latency_us(run, lowest_rungs([run.sweep_id]))
    if spec["load"]["target_ops_s"]:
        open_load = spec["load"].get("open")

    operations_asked = 0
    if is_open_ended(spec["window"]):
        operations_asked = spec["window"]["min_operations"]

    return Surroundings(
        client_on_database_host=shared_machine(spec),
        divided_cpus=_count_divided_cpus(run),
        machines=machines,
        cores=cores,
        cpu_percent={client.number: client.cpu_percent for client in clients if client.cpu_percent is not None},
        clock_offsets_s={
            client.number: client.clock_offset_s for client in clients if client.clock_offset_s is not None
        },
        gc_shares=gc_shares,
        low_latency_us=lowest_us,
        probe=_find_probe(run, len(clients), profile),
        cluster=cluster_facts(spec),
        durability=spec["mode"]["record"],
        open_load=open_load,
        mode_stated=bool(run.evidence.get("mode_stated")),
        background_work=run.evidence.get("settled", {}).get("pending", {}),
        has_faults=bool(spec.get("faults")),
        made_elsewhere=run.source == Run.Source.UPLOADED,
        without_codes=spec["client"]["flavour"] == GO_FLAVOUR,
        hosts=read_host_samples(run, get_sample_artifacts(run)),
        inserted_records=_count_inserted(run),
        operations_asked=operations_asked,
        groups_insert=any(inserts(group["workload"]["properties"]) for group in list_groups(spec)),
    )


def _count_inserted(run: Run) -> InsertedRecords | None:
    """By all clients, those of groups among them."""
    present = run.evidence.get("inserted_records")
    if present is None:
        return None
    totals: Counter[str] = Counter()
    for client in run.client_runs.all():
        for name in ("inserted", "inserts", "deleted", "deletes"):
            totals[name] += int(client.facts.get(name, 0))
    return InsertedRecords(
        inserted=(totals["inserted"], totals["inserts"]),
        deleted=(totals["deleted"], totals["deletes"]),
        present=present,
    )


def _count_divided_cpus(run: Run) -> tuple[int, int] | None:
    """How many CPUs of one machine servers and clients had each; None where they were not divided."""
    cpus = run.evidence.get("cpus")
    return (len(cpus["servers"]), len(cpus["clients"])) if cpus else None


def read_summary(client: ClientRun) -> Summary | None:
    """The client's summary; None where there is none that can be read."""
    for artifact in client.artifacts.all():
        if artifact.kind == "summary":
            try:
                return parse_summary(artifacts.open_artifact(artifact).decode("utf-8", errors="replace"))
            except YcsbError:
                return None
    return None


def read_clock_steps(client: ClientRun) -> tuple[float, list[ClockStep]]:
    """By how much the client's clock was stepped between the measurement of its offset and its start, and its steps
    since then, on its clock at its start.
    """
    started_s = client.facts.get("started_epoch_s") or 0.0
    steps = [ClockStep(*step) for step in client.facts.get("clock_steps", ())]
    stepped_s = sum(step.by_s for step in steps if step.at_s < started_s)
    return stepped_s, [ClockStep(step.at_s + stepped_s, step.by_s) for step in steps if step.at_s >= started_s]


def _get_gc_share(summary: Summary | None) -> float | None:
    """The part of its run time that a client's JVM collected garbage."""
    if summary is None:
        return None
    return next((percent / 100 for name, percent in summary.process.items() if name.startswith(_COLLECTING)), None)


def low_latency_us(run: Run, lowest: Mapping[UUID | None, LowestRung]) -> float | None:
    """The mean service time on the lowest rung of the run's sweep, where that is another one."""
    target_ops_s, mean_us = lowest.get(run.sweep_id, (0, None))
    if run.target_ops_s and target_ops_s < run.target_ops_s:
        return mean_us
    return None


def lowest_rungs(sweeps: Iterable[UUID]) -> dict[UUID | None, LowestRung]:
    """By sweep its lowest rung that may be compared with; three queries."""
    current = MeasurementSet.objects.filter(is_current=True).prefetch_related("measurements")
    runs = Run.objects.filter(USABLE, sweep__in=sweeps, target_ops_s__isnull=False)
    lowest = runs.order_by("sweep_id", "target_ops_s", "repeat").distinct("sweep_id").only("sweep", "target_ops_s")
    rungs: dict[UUID | None, LowestRung] = {}
    for run in lowest.prefetch_related(Prefetch("measurement_sets", current)):
        for measurement_set in run.measurement_sets.all():
            mean_us = mean_service_us(get_service_times(measurement_set.measurements.all()))
            rungs[run.sweep_id] = run.target_ops_s or 0, mean_us
    return rungs


def get_service_times(measurements: Iterable[Measurement]) -> list[OperationFacts]:
    """Stored service times, as the checks see them."""
    times = []
    for row in measurements:
        if row.latency_kind != LatencyKind.SERVICE or row.operation == COMPOSITE:
            continue
        p99_us = row.p99_us
        if p99_us is None and "p99" in row.bounds:
            p99_us, _ = row.bounds["p99"]
        times.append(OperationFacts(row.operation, ok=row.ok, mean_us=row.mean_us, percentiles_us={99.0: p99_us}))
    return times


def _find_probe(run: Run, clients: int, profile: Profile) -> ClientProbe | None:
    """The newest run of the same load on the same threads with so many more clients that it tests them."""
    sweep = run.sweep
    if run.target_ops_s or run.phase != Phase.MEASURE or sweep is None or sweep.database_id is None:
        return None
    if run.spec["load"].get("groups"):
        return None

    same_load = Run.objects.exclude(spec__load__has_key="groups").filter(
        USABLE,
        team=run.team_id,
        sweep__database=sweep.database_id,
        sweep__workload=sweep.workload_id,
        mode=run.mode,
        threads=run.threads,
        target_ops_s=None,
        throughput_ops_s__isnull=False,
    )
    others = same_load.exclude(pk=run.pk).annotate(clients=Count("client_runs"))
    larger = others.filter(clients__gte=math.ceil(profile.probe_clients * clients))
    probe = larger.order_by("-finished_at").first()
    if probe is None:
        return None
    return ClientProbe(probe.clients, probe.throughput_ops_s or 0.0)
