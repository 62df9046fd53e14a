"""What pages show of load generators, however many there are: states by the database, a page of rows at a time."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from django import forms
from django.db import connection
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    Q,
    QuerySet,
    Value as V,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Now

from benchsite.accounts.models import Team
from runs.catalog.generators import get_capacity, get_generators, silent_before
from runs.models import ClientRun, LoadGenerator, Machine
from runs.queue.bindings import Capacity
from runs.queue.client_lifecycle import ACTIVE
from runs.results.pages.lists import ListFilter, Menu, search_field
from workers.models import Lease

# What a person looks for first stands first; the tones are those of badges.
TONES: Final = {
    "quarantined": "reject",
    "silent": "reject",
    "never seen": "warn",
    "busy": "running",
    "up": "pass",
    "off": "none",
}
STATES: Final = tuple(TONES)
ALIVE: Final = ("busy", "up")
MAX_BINDINGS: Final = 60  # of the menu
DIGEST_CHARACTERS: Final = 12
Rows = QuerySet[Any]  # load generators, with what `get_fleet` adds


class FleetFilter(ListFilter):
    noun, plural = "load generator", "load generators"
    q = search_field("name or machine")
    binding = Menu("Binding")  # "redis", or "redis:" and the beginning of its digest
    whose = Menu("For", choices=[("everybody", "everybody"), ("some", "some teams only")])
    state = Menu("State", "state", STATES, widget=forms.HiddenInput)

    def apply(self, rows: Rows) -> Rows:
        """Without the state, of which the numbers beside the others are wanted too."""
        search, binding, whose = self.values["q"], self.values["binding"], self.values["whose"]
        if search:
            rows = rows.filter(Q(name__icontains=search) | Q(machine__name__icontains=search))
        if binding:
            name, _, digest = binding.partition(":")
            rows = rows.alias(build=KeyTextTransform(name, "bindings")).filter(build__startswith=digest)
        if whose:
            rows = rows.filter(restricted=whose == "some")
        return rows


def get_fleet(team: Team) -> Rows:
    """The load generators that the team may use, by name, each with its `state`.

    Silence is measured by PostgreSQL's clock, which is also the one that a sign of life is written with.
    """
    some = LoadGenerator.teams.through.objects.values("loadgenerator")
    machines = Machine.teams.through.objects.values("machine")
    going = ClientRun.objects.filter(load_generator__isnull=False, state__in=ACTIVE).values("load_generator")
    state = Case(
        When(enabled=False, then=V("off")),
        When(quarantined_at__isnull=False, then=V("quarantined")),
        When(last_seen_at=None, then=V("never seen")),
        When(last_seen_at__lt=silent_before(), then=V("silent")),
        When(pk__in=going, then=V("busy")),
        default=V("up"),
        output_field=CharField(),
    )
    rows: Rows = get_generators(team)
    silence = ExpressionWrapper(Now() - F("last_seen_at"), output_field=DurationField())
    restricted = ExpressionWrapper(Q(pk__in=some) | Q(machine__in=machines), output_field=BooleanField())
    rows = rows.annotate(state=state, restricted=restricted, silence=silence)
    return rows.select_related("machine").order_by("name")


def health(rows: Rows) -> dict[str, Any]:
    """All load generators in one line: how many are in which state; one query."""
    by_state = rows.order_by().values("state").annotate(number=Count("pk"))
    numbers: dict[str, int] = dict(by_state.values_list("state", "number"))
    total = sum(numbers.values())
    up = sum(numbers.get(state, 0) for state in ALIVE)
    return {
        "up": up,
        "total": total,
        "good": total > 0 and up == total,
        "states": [(state, numbers[state]) for state in STATES if numbers.get(state)],
    }


def troubled_first(rows: Rows) -> Rows:
    """For where only a few of them have room."""
    unheard = Q(quarantined_at__isnull=False) | Q(last_seen_at=None) | Q(last_seen_at__lt=silent_before())
    return rows.order_by(Case(When(enabled=False, then=V(2)), When(unheard, then=V(0)), default=V(1)), "name")


def add_activity(team: Team, generators: Iterable[Any]) -> list[Any]:
    """The load generators of a page with their present clients, leases and builds. Three queries.

    `tone` is the badge, `silent_s` the time since the last sign of life (None: there was none). `busy_with` and
    `held_by` are a client's and a lease's run where it is the team's own. `builds`: name, digest, and what clients of
    the binding can generate; those that were calibrated together stand together.
    """
    rows = list(generators)
    clients = ClientRun.objects.filter(load_generator__in=[row.pk for row in rows], state__in=ACTIVE)
    clients = clients.select_related("run").defer("run__spec", "run__evidence", "order", "command")
    client_of_generator: dict[UUID | None, ClientRun] = {client.load_generator_id: client for client in clients}
    leases = Lease.objects.filter(machine__in={row.machine_id for row in rows})
    leases = leases.select_related("run").defer("run__spec", "run__evidence")
    lease_of_machine = {lease.machine_id: lease for lease in leases}
    for row in rows:
        client = client_of_generator.get(row.pk)
        lease = lease_of_machine.get(row.machine_id)
        row.tone = TONES[row.state]
        row.silent_s = row.busy_with = row.held_by = None
        if row.silence is not None:
            row.silent_s = max(row.silence.total_seconds(), 0.0)
        row.is_busy = client is not None
        if client and client.run.team_id == team.pk:
            row.busy_with = client
        if lease and lease.run and lease.run.team_id == team.pk:
            row.held_by = lease.run
        row.is_calibrated = lease is not None and lease.load_generator_id == row.pk
        row.builds = _list_builds(row)

    return rows


def _list_builds(generator: LoadGenerator) -> list[tuple[str, str, Capacity]]:
    """Name, digest and capacity of each binding's build, by the operations per second that it can do."""

    def weigh(build: tuple[str, str, Capacity]) -> tuple[float, str]:
        name, _, capacity = build
        return capacity.get("ops_s", 0.0), name

    builds = [
        (name, digest, get_capacity(generator.capacity, name, digest)) for name, digest in generator.bindings.items()
    ]
    return sorted(builds, key=weigh)


def list_bindings(rows: Rows) -> list[tuple[str, str]]:
    """The builds of bindings that they hold, for a menu: the value of the filter, and words. One query."""
    inner, parameters = rows.order_by().values("bindings").query.sql_with_params()
    sql = (
        f"SELECT b.key, left(b.value, %s), count(*) FROM ({inner}) held, jsonb_each_text(held.bindings) b"
        " GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2 LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [DIGEST_CHARACTERS, *parameters, MAX_BINDINGS])
        return [(f"{name}:{digest}", f"{name} {digest} ({number:,})") for name, digest, number in cursor.fetchall()]
