"""The servers of the site itself, which no cluster may be pointed at, and URLs of others."""

from urllib.parse import urlsplit

from django.conf import settings

from benchsite.core.addresses import LOOKUP_TIMEOUT_S, AddressRefused, get_servers, refuse_address
from benchsite.core.http_client import Target, parse_target

LOOPBACK = "127.0.0.1"
HTTP_PORTS = {"http": 80, "https": 443}


def own_servers() -> list[tuple[str, int]]:
    """Host and port of the site's PostgreSQL and Redis, where they listen on TCP, and of its web server."""
    public = urlsplit(settings.PUBLIC_URL)
    web = [(LOOPBACK, settings.WEB_PORT)]
    if public.hostname:
        web.append((public.hostname, public.port or HTTP_PORTS[public.scheme]))
    return [*get_servers((settings.DATABASE_URL, settings.REDIS_URL)), *web]


def check_url(url: str, timeout_s: float = LOOKUP_TIMEOUT_S) -> tuple[Target, str]:
    """The parts of a URL and the address to connect to, by the rules for external servers.

    Raises AddressRefused, also for what is no URL.
    """
    try:
        target = parse_target(url)
    except ValueError as error:
        raise AddressRefused(str(error)) from None
    networks = settings.EXTERNAL_NETWORKS
    return target, refuse_address(target.host, target.port, networks, own_servers=own_servers(), timeout_s=timeout_s)
