"""Networks in which the external servers of one team may lie: operators allow them."""

import ipaddress
from typing import Final

from django.db import transaction

from benchsite.accounts import audit
from benchsite.accounts.messages import NETWORK_NEVER_ALLOWED, NO_NETWORK, TOO_MANY_NETWORKS
from benchsite.accounts.models import Team, User

MAX_NETWORKS: Final = 100


class NetworkRefused(Exception):
    """The network cannot be allowed. The message says why."""


def parse_network(text: str) -> str:
    """A network or one address in its usual spelling. Raises NetworkRefused, also for those that stay refused."""
    try:
        network = ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise NetworkRefused(NO_NETWORK.format(error=error)) from None
    if network.is_link_local or network.is_multicast:
        raise NetworkRefused(NETWORK_NEVER_ALLOWED.format(network=network))
    return str(network)


@transaction.atomic
def allow(team: Team, network: str, by: User) -> None:
    """From now on, for what `parse_network` gave. Raises NetworkRefused."""
    networks = Team.objects.select_for_update().get(pk=team.pk).external_networks
    if network in networks:
        return
    if len(networks) >= MAX_NETWORKS:
        raise NetworkRefused(TOO_MANY_NETWORKS.format(limit=MAX_NETWORKS))
    _store(team, [*networks, network])
    audit.note("network_allowed", team=team, actor=by, subject=network)


@transaction.atomic
def withdraw(team: Team, network: str, by: User) -> None:
    """From the next connection on."""
    networks = Team.objects.select_for_update().get(pk=team.pk).external_networks
    if network in networks:
        _store(team, [each for each in networks if each != network])
        audit.note("network_withdrawn", team=team, actor=by, subject=network)


def _store(team: Team, networks: list[str]) -> None:
    team.external_networks = networks
    team.save(update_fields=["external_networks"])
