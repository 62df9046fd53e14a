"""The names by which a site's machines and people are known, so that a report can leave them out."""

from collections.abc import Iterator, Mapping, Sequence
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
    names = dict.fromkeys(chain.from_iterable(people), "[person]")
    names |= _collect_machine_names(roles)
    names |= dict.fromkeys(LoadGenerator.objects.values_list("name", flat=True), "[load generator]")
    names |= dict.fromkeys(_collect_addresses(team), "[address]")
    names |= roles
    operations = {name.casefold() for name in collect_operations(curves)}
    common = operations.union(_EVERYDAY.split(), _collect_words(catalog))
    return {name: replacement for name, replacement in names.items() if name and name.casefold() not in common}


def _collect_machine_names(roles: Mapping[str, str]) -> dict[str, str]:
    """Names, keys and host names of the site's machines -> what is said instead: a side's by its role."""
    names: dict[str, str] = {}
    for name, key, host in Machine.objects.values_list("name", "host_key", "facts__host"):
        if isinstance(host, dict):
            host = host.get("value")
        for text in (name, key, host):
            if isinstance(text, str):
                names.setdefault(text, roles.get(name, "[machine]"))
    return names


def _collect_addresses(team: Team) -> Iterator[str]:
    """The addresses of the team's nodes and deployments, also without their ports."""
    addresses = Node.objects.filter(cluster__team=team).exclude(address="").values_list("address", flat=True)
    hosts = Deployment.objects.filter(cluster__team=team).exclude(host="").values_list("host", flat=True)
    for address in (*addresses.distinct(), *hosts.distinct()):
        yield address
        host, colon, port = address.rpartition(":")
        if colon and port.isdigit():
            yield host


def _collect_words(catalog: Catalog) -> frozenset[str]:
    """The systems' and modes' names, and the words in them."""
    texts: set[str] = set()
    for system in catalog.systems.values():
        texts |= {system.slug, system.name}
        for mode in system.modes.values():
            texts |= {mode.slug, mode.name}
    words = {text.casefold() for text in texts}
    return frozenset(words.union(*map(str.split, words)))
