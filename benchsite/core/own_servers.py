"""The servers of the site itself, which no cluster may be pointed at, and where servers of others may lie."""

import contextlib
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

import psutil
from django.conf import settings

from benchsite.core.addresses import (
    LOOKUP_TIMEOUT_S,
    AddressRefused,
    get_servers,
    one_machine_networks,
    refuse_address,
)
from benchsite.core.http_client import Target, parse_target

LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = (LOOPBACK, "localhost", "[::1]")
HTTP_PORTS = {"http": 80, "https": 443}


def own_servers() -> list[tuple[str, int]]:
    """Host and port of the site's PostgreSQL and Redis, where they listen on TCP, and of its web server."""
    public = urlsplit(settings.PUBLIC_URL)
    web = [(LOOPBACK, settings.WEB_PORT)]
    if public.hostname:
        web.append((public.hostname, public.port or HTTP_PORTS[public.scheme]))
    return [*get_servers((settings.DATABASE_URL, settings.REDIS_URL)), *web]


def allowed_networks(of_team: Iterable[str]) -> list[str]:
    """Networks in which external servers of a team may lie: those of all teams, and `Team.external_networks`."""
    networks = settings.EXTERNAL_NETWORKS
    # A one-machine site that nobody else reaches is used by its operator.
    if not networks and settings.EMBEDDED and not settings.PUBLIC_URL and _listens_on_loopback():
        networks = one_machine_networks()
    return [*networks, *of_team]


def _listens_on_loopback() -> bool:
    """Whether others cannot reach the site: no socket of this machine has its port on another address."""
    listening = set()
    with contextlib.suppress(psutil.AccessDenied):  # Other systems than Linux show them to root only.
        for connection in psutil.net_connections(kind="tcp"):
            is_listening = connection.status == psutil.CONN_LISTEN
            if is_listening and connection.laddr and connection.laddr.port == settings.WEB_PORT:
                listening.add(connection.laddr.ip)
    return settings.BIND in LOOPBACK_NAMES and all(ipaddress.ip_address(ip).is_loopback for ip in listening)


def check_url(url: str, networks: Iterable[str], timeout_s: float = LOOKUP_TIMEOUT_S) -> tuple[Target, str]:
    """The parts of a URL and the address to connect to, by the rules for external servers of a team with `networks`.

    Raises AddressRefused, also for what is no URL.
    """
    try:
        target = parse_target(url)
    except ValueError as error:
        raise AddressRefused(str(error)) from None
    allowed = allowed_networks(networks)
    return target, refuse_address(target.host, target.port, allowed, own_servers=own_servers(), timeout_s=timeout_s)
