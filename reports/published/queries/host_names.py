"""The names by which a site's machines and people are known, so that a report can leave them out."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from benchsite.accounts.models import Membership, Team
from reports.compare.curves import Curve, collect_operations
from runs.catalog import Catalog
from runs.models import Deployment, LoadGenerator, Machine, Node

# What people call their machines and what everybody's report says anyway.
_EVERYDAY: Final = (
    "localhost 127.0.0.1 0.0.0.0 node nodes server servers client clients machine machines host hosts database cluster "
    "load generator generators one two test tests demo local main master primary replica read update insert scan "
    "delete throughput latency mode modes workload threads target median mean"
)


def names_of_places(team: Team, curves: Sequence[Curve], roles: Mapping[str, str], catalog: Catalog) -> dict[str, str]:
    """Every name of a machine, a load generator, an address or a member -> what is said instead. Five queries.

    `roles` are those of the sides' own machines. The words of the catalog and of everyday stay: a machine called
    "redis" tells nobody anything.
    """
    people = Membership.objects.filter(team=team).values_list("user__username", "user__email")
    names = {**dict.fromkeys(chain.from_iterable(people), "[person]"), **_elsewhere(team, roles), **roles}
    common = frozenset(_EVERYDAY.split()) | _words(catalog) | {name.casefold() for name in collect_operations(curves)}
    return {name: role for name, role in names.items() if name and name.casefold() not in common}


def _elsewhere(team: Team, known: Mapping[str, str]) -> dict[str, str]:
    """Names that no side's specification has: of the site's other machines, and what stands in addresses."""
    roles: dict[str, str] = {}
    for name, key, host in Machine.objects.values_list("name", "host_key", "facts__host"):
        role = known.get(name, "[machine]")
        for text in (name, key, host.get("value") if isinstance(host, dict) else host):
            if isinstance(text, str):
                roles.setdefault(text, role)

    roles |= dict.fromkeys(LoadGenerator.objects.values_list("name", flat=True), "[load generator]")
    addresses = Node.objects.filter(cluster__team=team).exclude(address="").values_list("address", flat=True)
    hosts = Deployment.objects.filter(cluster__team=team).exclude(host="").values_list("host", flat=True)
    for address in (*addresses.distinct(), *hosts.distinct()):
        roles |= dict.fromkeys(_parts(address), "[address]")

    return roles


def _parts(address: str) -> Iterable[str]:
    """The address, and its host without the port."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit():
        return (address, host)
    return (address,)


def _words(catalog: Catalog) -> frozenset[str]:
    """The systems' and modes' names, and the words in them."""
    texts: set[str] = set()
    for system in catalog.systems.values():
        texts |= {system.slug, system.name}
        for mode in system.modes.values():
            texts |= {mode.slug, mode.name}
    words = {text.casefold() for text in texts}
    return frozenset(words.union(*map(str.split, words)))
