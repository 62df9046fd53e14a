"""Load generators: sets of them, which can get no run, which runs wait for them in vain, and what they can generate."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from benchsite.accounts.models import Team
from runs.models import ClientRun, LoadGenerator, Machine, Matrix, Run
from runs.queue.bindings import Capacity
from runs.queue.reasons import Reason
from runs.timeouts import CLIENT_SILENT_AFTER, CLIENT_UNCLAIMED_AFTER, GENERATOR_SILENT_AFTER

# Why clients fail that would fail there again.
UNFIT: Final = (Reason.CLIENT_NOT_STARTED, Reason.GENERATOR_UNFIT)
# Runs with less CPU time of their clients per second say little about the CPU time of an operation.
MIN_CLIENT_CORES: Final = 0.25


class CalibrationRefused(Exception):
    """The load generator cannot be calibrated now; the message says why and what to do."""


def generator_key(generator_ids: Iterable[UUID | str]) -> str:
    """A digest of a set of load generators: runs with the same key need the same ones."""
    return hashlib.md5(",".join(sorted(map(str, generator_ids))).encode(), usedforsecurity=False).hexdigest()


def silent_before(prefix: str = "") -> CombinedExpression:
    """A load generator whose last sign of life is earlier is silent; `prefix` leads to it in a lookup."""
    return Now() - GENERATOR_SILENT_AFTER - F(f"{prefix}extra_silence")


def unusable() -> QuerySet[LoadGenerator]:
    """Those that are silent, quarantined, were never seen, or are switched off: no run starts on them.

    By PostgreSQL's clock alone, as liveness always is.
    """
    return LoadGenerator.objects.filter(
        Q(enabled=False) | Q(quarantined_at__isnull=False) | Q(last_seen_at=None) | Q(last_seen_at__lt=silent_before())
    )


def get_generators(team: Team) -> QuerySet[LoadGenerator]:
    """Those that a team may use: neither they nor their machines are restricted to other teams."""
    # Sets that stand by themselves: asked row by row they would be estimated to cost so much that PostgreSQL compiles
    # the query, which takes ten times as long as answering it.
    generators, machines = LoadGenerator.teams.through.objects.all(), Machine.teams.through.objects.all()
    return LoadGenerator.objects.filter(
        ~Q(pk__in=generators.values("loadgenerator")) | Q(pk__in=generators.filter(team=team).values("loadgenerator")),
        ~Q(machine__in=machines.values("machine")) | Q(machine__in=machines.filter(team=team).values("machine")),
    )


def find_elsewhere(matrix: Matrix) -> QuerySet[LoadGenerator]:
    """Usable load generators on machines without servers or clients of the plan."""
    servers = Q(nodes__cluster__databases__in=matrix.entries.values("database"))
    clients = Q(load_generators__in=matrix.load_generators.all())
    busy = Machine.objects.filter(servers | clients)
    return get_generators(matrix.team).exclude(Q(machine__in=busy) | Q(pk__in=unusable()))


def waited_for_in_vain(runs: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Run -> the names of its load generators that are unusable, or no more for the run's team. One query."""
    of_generator = LoadGenerator.teams.through.objects.filter(loadgenerator=OuterRef("loadgenerator"))
    of_machine = Machine.teams.through.objects.filter(machine=OuterRef("loadgenerator__machine"))
    forbidden = Q()
    for restriction in (of_generator, of_machine):
        forbidden |= Q(Exists(restriction), ~Exists(restriction.filter(team=OuterRef("run__team"))))
    links = Run.load_generators.through.objects.filter(Q(loadgenerator__in=unusable()) | forbidden, run__in=list(runs))
    names: dict[UUID, list[str]] = {}
    for run, name in links.order_by("loadgenerator__name").values_list("run_id", "loadgenerator__name"):
        names.setdefault(run, []).append(name)
    return names


def quarantine(client_run: ClientRun) -> None:
    """The load generator of this client run could not carry it out, or fell silent with it: it gets no run for now."""
    client = f"Client {client_run.number} of {client_run.run.name}"
    if client_run.state == ClientRun.State.FAILED:
        verb = "started" if client_run.reason == Reason.CLIENT_NOT_STARTED else "finished"
        reason = f"{client} could not be {verb}: {client_run.reason_detail}"
    elif client_run.state == ClientRun.State.WAITING:
        reason = f"{client} was not started within {CLIENT_UNCLAIMED_AFTER.seconds} s."
    else:
        reason = f"{client} gave no sign of life for {CLIENT_SILENT_AFTER.seconds} s."

    LoadGenerator.objects.filter(client_runs=client_run).update(
        quarantined_at=Coalesce("quarantined_at", Now()), quarantine_reason=reason
    )


def release(name: str) -> bool:
    """End the quarantine of this load generator; False where it is in none."""
    rows = LoadGenerator.objects.filter(name=name, quarantined_at__isnull=False)
    return bool(rows.update(quarantined_at=None, quarantine_reason=""))


def allow_move(name: str) -> bool:
    """Let the next host that registers this name have it; False where there is no such load generator."""
    return bool(LoadGenerator.objects.filter(name=name).update(may_move=True))


def request_calibration(name: str) -> None:
    """Have a load generator measure what it can generate, when no run holds its machine.

    Raises LoadGenerator.DoesNotExist and CalibrationRefused.
    """
    generator = LoadGenerator.objects.get(name=name)
    if not generator.bindings:
        raise CalibrationRefused(f"{name} has no binding: run `make bindings` there and restart it.")
    if unusable().filter(pk=generator.pk).exists():
        raise CalibrationRefused(
            f"{name} gives no sign of life, is in quarantine or is switched off: start its worker, then request the "
            "calibration again."
        )
    LoadGenerator.objects.filter(pk=generator.pk).update(
        calibration_requested_at=Coalesce("calibration_requested_at", Now()), calibration_error=""
    )


@transaction.atomic
def end_calibration(pk: UUID, capacities: Mapping[str, Capacity], error: str = "") -> None:
    """Store what a load generator measured, by binding, or why it did not."""
    generator = LoadGenerator.objects.select_for_update(of=("self",)).get(pk=pk)
    generator.calibration_requested_at, generator.calibration_error = None, error
    for binding, capacity in capacities.items():
        _update(generator, binding, {**capacity, "measured_at": timezone.now().isoformat(timespec="seconds")})
    generator.save(update_fields=["capacity", "calibration_requested_at", "calibration_error"])


def note_core_rate(clients: Sequence[ClientRun], throughput_ops_s: float) -> None:
    """Raise `core_ops_s` of the load generators of a run whose clients did more per second of CPU time than in earlier
    runs.
    """
    cores = sum((client.cpu_percent or 0.0) / 100 for client in clients)
    if cores < MIN_CLIENT_CORES or any(client.cpu_percent is None for client in clients):
        return

    binding, digest = clients[0].order["binding"], clients[0].order["digest"]
    fields = Capacity(digest=digest, core_ops_s=throughput_ops_s / cores, run=str(clients[0].run_id))

    def is_higher(generator: LoadGenerator) -> bool:
        return fields["core_ops_s"] > get_capacity(generator.capacity, binding, digest).get("core_ops_s", 0.0)

    pks = {client.load_generator.pk for client in clients if client.load_generator and is_higher(client.load_generator)}
    if not pks:
        return

    for generator in LoadGenerator.objects.select_for_update(of=("self",)).filter(pk__in=pks).order_by("pk"):
        if is_higher(generator):
            _update(generator, binding, fields)
            generator.save(update_fields=["capacity"])


def get_capacity(capacities: Mapping[str, Any], binding: str, digest: str | None) -> Capacity:
    """The calibrated capacity of this build of the binding; empty where it is unknown."""
    capacity: Capacity = capacities.get(binding, {})
    return capacity if capacity.get("digest") == digest else {}


def _update(generator: LoadGenerator, binding: str, fields: Capacity) -> None:
    """Add to what is known of the same build."""
    generator.capacity[binding] = {**get_capacity(generator.capacity, binding, fields["digest"]), **fields}
