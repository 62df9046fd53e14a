"""Load generators register with the site: whose name it is, on which machine, with which bindings."""

from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Subquery, Value
from django.db.models.functions import Now

from runs.catalog.generators import silent_before
from runs.models import LoadGenerator, Machine
from runs.timeouts import HEARTBEAT_INTERVAL_S
from workers.models import GeneratorCredential, Lease

# Of all load generators together: a sign of life costs the site 6 ms of a core.
MAX_BEATS_PER_S: Final = 4.0


class NameTaken(Exception):
    """Another host has this load generator's name."""


def register_generator(
    name: str,
    *,
    slots: int,
    bindings: dict[str, str],
    facts: dict[str, Any],
    host_key: str,
    host_name: str,
    machine_facts: dict[str, Any],
) -> LoadGenerator:
    """A worker as a load generator that runs up to `slots` clients at once, with the digests of its bindings, and its
    host as a machine with its facts as observed now; facts that people stated stay. A machine that another load
    generator registered keeps the facts that this one observed. Raises NameTaken.
    """
    with transaction.atomic():
        machine, is_new = Machine.objects.select_for_update().get_or_create(
            host_key=host_key, defaults={"name": _free_name(host_name), "facts": machine_facts}
        )
        if not is_new and _find_owner(machine) in (None, name):
            machine.facts = {**machine.facts, **machine_facts}
            machine.save(update_fields=["facts"])

        holder = LoadGenerator.objects.select_for_update(of=("self",)).filter(name=name, may_move=False)
        other = holder.exclude(machine=machine).select_related("machine").first()
        if other is not None and other.machine.host_key:
            raise NameTaken(
                f"The load generator {name} belongs to the machine {other.machine.name}, and this is {machine.name}. "
                "Choose another name (BENCHSITE_GENERATOR). If the load generator has moved, an operator presses "
                '"Allow another host" on the page of load generators.'
            )

        generator, _ = LoadGenerator.objects.update_or_create(
            name=name,
            defaults={"machine": machine, "slots": slots, "bindings": bindings, "facts": facts, "may_move": False},
        )
        note_presence(name)
    return generator


def _find_owner(machine: Machine) -> str | None:
    """The load generator whose facts of the machine count: of those with a credential the first to register there."""
    valid = GeneratorCredential.objects.filter(revoked_at=None).values("generator")
    owners = machine.load_generators.filter(name__in=valid).order_by("created_at", "pk")
    return owners.values_list("name", flat=True).first()


def note_presence(name: str) -> tuple[bool, bool, float]:
    """Store a sign of life: whether the load generator is in quarantine, whether it is to be calibrated, and after how
    many seconds the next sign of life is due.

    The moment is PostgreSQL's: liveness never compares two machines' clocks.
    """
    rows = LoadGenerator.objects.filter(name=name)
    heard = LoadGenerator.objects.filter(last_seen_at__gte=silent_before()).order_by()
    fleet_size = heard.annotate(group=Value(1)).values("group").annotate(number=Count("pk")).values("number")
    is_leased = Exists(Lease.objects.filter(load_generator=OuterRef("pk")))
    row = rows.values_list("quarantined_at", is_leased, Subquery(fleet_size)).first()
    quarantined_at, is_calibrated, size = row or (None, False, 0)
    beat_s = max(HEARTBEAT_INTERVAL_S, (size or 0) / MAX_BEATS_PER_S)
    extra_silence_s = 2 * (beat_s - HEARTBEAT_INTERVAL_S)
    rows.update(last_seen_at=Now(), extra_silence=timedelta(seconds=extra_silence_s))
    return quarantined_at is not None, is_calibrated, beat_s


def _free_name(host_name: str) -> str:
    """Two hosts may have one name: the second is told apart by a number."""
    names = set(Machine.objects.filter(name__startswith=host_name).values_list("name", flat=True))
    name, number = host_name, 1
    while name in names:
        number += 1
        name = f"{host_name}-{number}"
    return name
