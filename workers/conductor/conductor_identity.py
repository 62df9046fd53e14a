"""Which conductor this process is, and what the processes of earlier conductors of this host left behind.

Each process holds the lock of one file below `var/conductors`, whose content is its id. The kernel gives the lock back
with the process, so a file without a lock belongs to a process that is gone: its runs can be ended at once.
"""

import contextlib
import fcntl
import logging
import os
import platform
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from runs.catalog import generators
from runs.models import Cluster, Conductor, Deployment, Machine, Provisioner, Run, Status
from runs.queue import lifecycle
from runs.queue.conductor_slots import LOCAL, find_conductors
from workers.conductor import deployment, scheduling
from workers.conductor.run_faults import host_faults
from workers.generator.host_identity import host_key
from workers.processes.process_registry import end_earlier_lives
from workers.provision.provisioner_factory import own_builds

log = logging.getLogger(__name__)
MAX_CONDUCTORS = 64  # processes on one host


@dataclass(frozen=True, slots=True)
class Identity:
    """An id of this host, held by this process until `lock` is closed."""

    id: uuid.UUID
    number: int  # on this host, from 1
    lock: int

    def release(self) -> None:
        os.close(self.lock)


def take_identity() -> Identity:
    """The lowest one that no process holds; a new one where all are held."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, MAX_CONDUCTORS + 1):
        if identity := _take(folder / str(number)):
            return identity
    raise RuntimeError(f"{MAX_CONDUCTORS} conductors run on this host already: stop one of them.")


def register(identity: Identity, capacity: int) -> Conductor:
    """Write the row of this process, and end what its earlier life left."""
    conductor, _ = Conductor.objects.update_or_create(
        pk=identity.id,
        defaults={
            "name": f"{platform.node()}-{identity.number}",
            "host_key": host_key(),
            "capacity": capacity,
            "started_at": Now(),
            "last_seen_at": Now(),
        },
    )
    end_life(conductor.pk)
    return conductor


def end_lives_of_others() -> None:
    """Ends what conductors of this host left whose processes are gone."""
    for path in sorted(_folder().glob("[0-9]*")):
        identity = _take(path)
        if identity is None:
            continue
        try:
            if Conductor.objects.filter(pk=identity.id).exists():
                end_life(identity.id)
                # Once: a process that takes this identity later writes the row anew.
                Conductor.objects.filter(pk=identity.id).delete()
        finally:
            identity.release()


def end_life(conductor_id: uuid.UUID) -> None:
    """End the processes, forget the servers and end the claims of a conductor whose process is gone."""
    end_earlier_lives(settings.GUARDED_DIR)
    deployment.forget_conductor_servers(conductor_id)
    for run_id in scheduling.end_conductor_claims(conductor_id):
        log.warning("Run %s was going on when its conductor ended; it is ended now.", run_id)


def note_host_facts() -> bool:
    """Update what previews of plans ask of this host's machine: what is free for data folders, which faults it can
    apply, and which own builds it starts. False where the site has no such machine yet.
    """
    machines = Machine.objects.filter(host_key=host_key())
    if not machines.exists():
        return False

    # Before the first server there is no folder of theirs.
    folder = settings.VAR_DIR
    if Path(settings.TARGETS_DIR).exists():
        folder = settings.TARGETS_DIR
    usage = shutil.disk_usage(folder)
    # As `df`, without what is reserved for root.
    sizes = {"data_disk_free_bytes": usage.free, "data_disk_total_bytes": usage.used + usage.free}
    values = sizes | host_faults() | own_builds().list_facts()
    observed = {name: {"value": value, "how": "observed"} for name, value in values.items()}
    with transaction.atomic():
        for machine in machines.select_for_update():
            machine.facts |= observed
            machine.save(update_fields=["facts"])

    return True


def claim_run(conductor: Conductor) -> tuple[uuid.UUID, uuid.UUID] | None:
    """Claim a dispatched run that this conductor may carry out: the run's id and the claim, or None.

    Which those are says `runs.queue.conductor_slots.find_conductors`.
    """
    clusters = Run.objects.filter(status=Status.DISPATCHED).order_by().values_list("cluster", flat=True).distinct()
    allowed = [cluster for cluster, some in find_conductors(list(clusters)).items() if conductor.pk in some]
    if not allowed:
        return None
    # A run that was dispatched while the site was stopped must not fail because its load generators are still starting.
    runs = Run.objects.filter(cluster__in=allowed).exclude(load_generators__in=generators.unusable())
    return lifecycle.claim_first(runs, f"conductor@{platform.node()}", conductor)


def deployments_to_tidy(conductor: Conductor) -> list[uuid.UUID]:
    """Those that no run will need again and that are not up in another living process: on machines of this conductor,
    and those that any conductor may tidy, where servers have addresses.
    """
    is_on_this_host = Q(provisioner__in=LOCAL, nodes__machine__host_key=conductor.host_key)
    is_anywhere = Q(provisioner=Provisioner.EXTERNAL) | Q(nodes__address__gt="")
    clusters = Cluster.objects.filter(is_on_this_host | is_anywhere)
    rows = Deployment.objects.filter(pk__in=scheduling.tidy_deployments(), cluster__in=clusters)
    rows = rows.exclude(conductor__in=Conductor.living().exclude(pk=conductor.pk))
    return list(rows.values_list("pk", flat=True))


def _take(path: Path) -> Identity | None:
    """The identity of this file, or None where a process holds it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None

    # A copied disk must not make two hosts one conductor.
    id_text, _, key = os.pread(lock, 200, 0).decode().strip().partition(" ")
    with contextlib.suppress(ValueError):
        if key == host_key():
            return Identity(uuid.UUID(id_text), int(path.name), lock)

    identity = Identity(uuid.uuid4(), int(path.name), lock)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{identity.id} {host_key()}\n".encode(), 0)
    return identity


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "conductors"
