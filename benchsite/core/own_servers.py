"""The servers of the site itself, which no cluster may be pointed at."""

from urllib.parse import urlsplit

from django.conf import settings

from benchsite.core.addresses import get_servers

LOOPBACK = "127.0.0.1"
HTTP_PORTS = {"http": 80, "https": 443}


def own_servers() -> list[tuple[str, int]]:
    """Host and port of the site's PostgreSQL and Redis, where they listen on TCP, and of its web server."""
    public = urlsplit(settings.PUBLIC_URL)
    web = [(LOOPBACK, settings.WEB_PORT)]
    if public.hostname:
        web.append((public.hostname, public.port or HTTP_PORTS[public.scheme]))
    return [*get_servers((settings.DATABASE_URL, settings.REDIS_URL)), *web]
