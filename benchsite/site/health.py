"""Whether the site can work at all, and whether it is ready for people."""

from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from runs.results.artifacts import storage_is_there

TIMEOUT_S: Final = 1.0
_migrated = False  # Once they are applied, this process has no need to look again.


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while PostgreSQL answers, else 503. Needs no sign-in and tells nothing else."""
    if not postgresql_answers():
        return HttpResponse("PostgreSQL does not answer\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when everything that pages and uploads need is there, else 503; a line for each thing, and no details."""
    status = 200
    lines = []
    for name, is_ready in CHECKS.items():
        if is_ready():
            lines.append(f"{name}: ok\n")
        else:
            lines.append(f"{name}: no\n")
            status = 503
    return HttpResponse("".join(lines), status=status, content_type="text/plain")


def postgresql_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return False
    return True


def redis_answers() -> bool:
    """Without it nothing is started and nothing is seen live, though nothing is lost either."""
    try:
        with Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=TIMEOUT_S,
            socket_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
        ) as client:
            return bool(client.ping())
    except RedisError:
        return False


def migrations_are_applied() -> bool:
    """Whether the database has what this release asks for; one migrated by a newer release has it too."""
    global _migrated
    if not _migrated:
        try:
            executor = MigrationExecutor(connection)
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except Error:
            return False
    return _migrated


CHECKS: Final[dict[str, Callable[[], bool]]] = {
    "postgresql": lambda: postgresql_answers(),
    "redis": lambda: redis_answers(),
    "migrations": lambda: migrations_are_applied(),
    "artifacts": lambda: storage_is_there(),
}
