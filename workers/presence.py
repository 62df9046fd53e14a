"""A load generator's presence: its worker writes the row when it starts and beats while it lives."""

import logging
import os
import platform
import threading

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models.functions import Now

from runs.models import LoadGenerator, Machine
from workers import pulse
from workers.facts import machine_facts
from workers.manifests import installed_bindings

log = logging.getLogger(__name__)
BEAT_S = 5.0
# The worker's environment names the generator; without it the worker is no load generator.
GENERATOR_VARIABLE = "BENCHSITE_GENERATOR"
SLOTS_VARIABLE = "BENCHSITE_GENERATOR_SLOTS"
# What tells this host from others where its files cannot: every container has a machine id and a name of its own.
MACHINE_VARIABLE = "BENCHSITE_MACHINE"


def generator_name() -> str:
    """The name of the load generator that this worker is, or nothing."""
    return os.environ.get(GENERATOR_VARIABLE, "")


def host_key() -> str:
    """What tells this host from others: what it was called, else the machine id, else the host's name."""
    if stated := os.environ.get(MACHINE_VARIABLE):
        return f"called {stated}"
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path) as file:  # noqa: PTH123 - a Path adds nothing here
                found = file.read().strip()
        except OSError:
            continue
        if found:
            return found
    return platform.node()


def register_machine() -> Machine:
    """This host as a machine, with its facts as observed now; facts that people stated stay."""
    observed = machine_facts(settings.VAR_DIR)
    with transaction.atomic():
        machine, made = Machine.objects.select_for_update().get_or_create(
            host_key=host_key(), defaults={"name": _free_name(_host_name()), "facts": observed}
        )
        if not made:
            machine.facts = {**machine.facts, **observed}
            machine.save(update_fields=["facts"])
    return machine


def _host_name() -> str:
    return os.environ.get(MACHINE_VARIABLE) or platform.node() or "this machine"


def register_generator(name: str) -> LoadGenerator:
    """This worker as a load generator, with the digests of the bindings it holds."""
    manifests = installed_bindings(settings.YCSB_DIR)
    machine = register_machine()
    generator, _ = LoadGenerator.objects.update_or_create(
        name=name,
        defaults={
            "machine": machine,
            "slots": int(os.environ.get(SLOTS_VARIABLE, "1")),
            "bindings": {binding: manifest.digest for binding, manifest in manifests.items()},
            "facts": {"pid": os.getpid(), "host": platform.node(), "python": platform.python_version()},
        },
    )
    # The moment is PostgreSQL's: liveness never compares two machines' clocks.
    LoadGenerator.objects.filter(pk=generator.pk).update(last_seen_at=Now())
    return generator


def beat_forever(name: str) -> None:
    """Start the thread that says every few seconds that this load generator lives."""
    threading.Thread(target=_beat, args=[name], name=f"presence {name}", daemon=True).start()


def _beat(name: str) -> None:
    stop = threading.Event()
    while not stop.wait(BEAT_S):
        try:
            LoadGenerator.objects.filter(name=name).update(last_seen_at=Now())
            pulse.touch()
        except DatabaseError as error:
            log.warning("%s: no sign of life (%s).", name, str(error).splitlines()[0])
            connection.close()


def _free_name(wanted: str) -> str:
    """Two hosts may have one name: the second is told apart by a number."""
    names = set(Machine.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    if wanted not in names:
        return wanted
    return next(f"{wanted}-{n}" for n in range(2, len(names) + 3) if f"{wanted}-{n}" not in names)
