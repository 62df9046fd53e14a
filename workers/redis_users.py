"""Redis users of load generators: each reaches the messages of its own queue and nothing else.

The credential of a load generator is also the password of its Redis user. Redis is given its SHA-256 only, as the site
keeps it. Redis may lose its users (it writes nothing to disk), so the scheduler restores them.
"""

import logging
from functools import cache
from typing import Final

from django.conf import settings
from django.db.models import Q
from redis import Redis
from redis.exceptions import RedisError
from redis.lock import Lock

from benchsite.core.generator_access import redis_user, unacked_keys
from workers.models import GeneratorCredential

log = logging.getLogger(__name__)
TIMEOUT_S: Final = 3.0
# What Celery's transport sends for one queue, and what the client library sends when it connects.
COMMANDS: Final = (
    "auth", "hello", "ping", "select", "quit", "client|setname",
    "brpop", "rpop", "lpush", "rpush", "llen", "sadd", "srem", "smembers", "sismember",
    "hset", "hget", "hdel", "zadd", "zrem", "zscore", "zrange", "zrevrangebyscore", "evalsha",
    "multi", "exec", "discard", "watch", "unwatch",
    "set", "get", "del", "expire", "exists",
)  # fmt: skip
PRIORITIES: Final = "\x06\x16"  # between a queue's name and a priority, in Celery's transport


@cache
def connection() -> Redis:
    """This process's connection as the site's own user."""
    return Redis.from_url(
        settings.REDIS_URL, decode_responses=True, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
    )


def rules(name: str, secret_sha256: str) -> list[str]:
    """The rules of `ACL SETUSER` for the load generator `name`, from none on."""
    queue = f"load.{name}"
    bindings = (f"_kombu.binding.{queue}", f"_kombu.binding_permanent.{queue}")
    keys = (queue, f"{queue}{PRIORITIES}*", *bindings, *unacked_keys(name).values())
    commands = [f"+{command}" for command in COMMANDS]
    return ["reset", "on", f"#{secret_sha256}", *(f"~{key}" for key in keys), *commands]


def synchronise() -> None:
    """Create the users of valid credentials that Redis lacks; delete those of revoked ones, with their connections.

    Users of other sites are left as they are. A Redis that does not answer or forbids it costs a line in the log.
    """
    try:
        # Celery's transport releases a lock by this script. Load generators can execute loaded scripts and load none.
        connection().script_load(Lock.LUA_RELEASE_SCRIPT)
        users = {str(user) for user in connection().acl_users()}
        rows = GeneratorCredential.objects.filter(Q(revoked_at=None) | Q(generator__in=_names(users)))
        for name, secret_sha256, revoked_at in rows.values_list("generator", "secret_sha256", "revoked_at"):
            user = redis_user(name, secret_sha256)
            if revoked_at is None and user not in users:
                connection().execute_command("ACL", "SETUSER", user, *rules(name, secret_sha256))  # type: ignore[no-untyped-call]
            elif revoked_at is not None and user in users:
                connection().acl_deluser(user)
    except RedisError as error:
        log.warning("The users of load generators in Redis could not be updated (%s).", error)


def _names(users: set[str]) -> list[str]:
    """The load generators whose users these are, as `redis_user` names them."""
    return [user.removeprefix("generator-").rpartition("-")[0] for user in users if user.startswith("generator-")]
