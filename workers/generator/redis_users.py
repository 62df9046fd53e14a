"""Redis users of load generators: each reaches the messages of its own queue and nothing else.

The credential of a load generator is also the password of its Redis user. Redis is given its SHA-256 only, as the site
keeps it. Redis may lose its users (it writes nothing to disk), so the scheduler restores them. Redis limits no user's
memory, so the scheduler revokes a load generator whose keys hold too much of it.
"""

import logging
from collections.abc import Iterable
from functools import cache
from typing import Final

from django.conf import settings
from django.db.models import F, Q
from django.db.models.functions import Now
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError, ResponseError
from redis.lock import Lock

from benchsite.accounts import audit
from benchsite.core.generator_access import AccessRefused, redis_user, unacked_keys, without_user
from workers.generator.messages import COMMANDS_LACKING
from workers.models import GeneratorCredential

log = logging.getLogger(__name__)
TIMEOUT_S: Final = 3.0
USERS_NOT_UPDATED: Final = "The users of load generators in Redis could not be updated (%s)."
# What Celery's transport sends for one queue, and what the client library sends when it connects.
COMMANDS: Final = (
    "auth", "hello", "ping", "select", "quit", "client|setname",
    "brpop", "rpop", "lpush", "rpush", "llen", "sadd", "srem", "smembers", "sismember",
    "hset", "hget", "hdel", "zadd", "zrem", "zscore", "zrange", "zrevrangebyscore", "evalsha",
    "multi", "exec", "discard", "watch", "unwatch",
    "set", "get", "del", "expire", "exists",
)  # fmt: skip
# Redis before 7.0 answers QUIT before it looks at a user's rules, in which it does not know the word.
ALLOWED_WHERE_UNKNOWN: Final = frozenset({"quit"})
PRIORITIES: Final = "\x06\x16"  # between a queue's name and a priority, in Celery's transport
PRIORITY_STEPS: Final = (3, 6, 9)  # of Celery's transport, beside the queue itself
MAX_QUEUE_BYTES: Final = 8 << 20  # thousands of messages
_restored: Final = set[str]()  # users whose rules this process has stated, which may be those of an earlier release


@cache
def connection() -> Redis:
    """This process's connection as the site's own user."""
    return Redis.from_url(
        settings.REDIS_URL, decode_responses=True, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
    )


def keys(name: str) -> list[str]:
    """Every key that the load generator `name` can write."""
    queue = f"load.{name}"
    bindings = (f"_kombu.binding.{queue}", f"_kombu.binding_permanent.{queue}")
    by_priority = (f"{queue}{PRIORITIES}{step}" for step in PRIORITY_STEPS)
    return [queue, *by_priority, *bindings, *unacked_keys(name).values()]


def rules(name: str, secret_sha256: str, commands: Iterable[str] = COMMANDS) -> list[str]:
    """The rules of `ACL SETUSER` for the load generator `name`, from none on."""
    patterns = (f"~{key}" for key in keys(name))
    granted = (f"+{command}" for command in commands)
    return ["reset", "on", f"#{secret_sha256}", *patterns, *granted]


def server_commands(names: Iterable[str]) -> set[str]:
    """The commands among these that the server has. Before Redis 7.0 it describes no subcommands."""
    answer = connection().execute_command("COMMAND INFO", *names)  # type: ignore[no-untyped-call]
    return {entry[0] for entry in answer if entry}


def grantable_commands() -> list[str]:
    """COMMANDS as this server's rules can name them. Raises AccessRefused where it lacks one that is needed."""
    containers = {}
    for command in COMMANDS:
        containers[command], _, _ = command.partition("|")
    present = server_commands(sorted(set(containers.values())))
    unknown = {command for command, container in containers.items() if container not in present}
    lacking = sorted(unknown - ALLOWED_WHERE_UNKNOWN)
    if lacking:
        raise AccessRefused(
            COMMANDS_LACKING.format(redis=without_user(settings.REDIS_URL), commands=", ".join(lacking))
        )
    return [command for command in COMMANDS if command not in unknown]


def create_user(name: str, secret_sha256: str) -> None:
    """Create the user of a valid credential. Raises AccessRefused with the server's words where it refuses the rules.

    A Redis that does not answer, or whose users an operator makes, costs a line in the log: the scheduler tries again.
    """
    user = redis_user(name, secret_sha256)
    try:
        if not server_commands(["acl"]):
            log.warning(USERS_NOT_UPDATED, "it has no command ACL")
            return
        granted = rules(name, secret_sha256, grantable_commands())
        connection().execute_command("ACL", "SETUSER", user, *granted)  # type: ignore[no-untyped-call]
        _restored.add(user)
    except NoPermissionError as error:
        log.warning(USERS_NOT_UPDATED, error)
    except ResponseError as error:
        raise AccessRefused(
            f"Redis at {without_user(settings.REDIS_URL)} refuses the user of the load generator {name}: {error}"
        ) from error
    except RedisError as error:
        log.warning(USERS_NOT_UPDATED, error)


def synchronise() -> None:
    """Create the users of valid credentials that Redis lacks; delete those of revoked ones, with their connections and
    the keys of load generators that have no other credential. Load generators that hold too much are revoked first.

    Users of other sites are left as they are. Raises AccessRefused as `create_user` does.
    """
    try:
        # Celery's transport releases a lock by this script. Load generators can execute loaded scripts and load none.
        connection().script_load(Lock.LUA_RELEASE_SCRIPT)
        _revoke_excessive()
        users = {str(user) for user in connection().acl_users()}
        valid = set(GeneratorCredential.objects.filter(revoked_at=None).values_list("generator", flat=True))
        rows = GeneratorCredential.objects.filter(Q(revoked_at=None) | Q(generator__in=_parse_names(users)))
        # The revoked come first: whatever the creation of others meets, these lose their access.
        for name, secret_sha256, revoked_at in rows.order_by(F("revoked_at").asc(nulls_last=True)).values_list(
            "generator", "secret_sha256", "revoked_at"
        ):
            user = redis_user(name, secret_sha256)
            if revoked_at is not None and user in users:
                connection().acl_deluser(user)
                if name not in valid:
                    connection().unlink(*keys(name))
            elif revoked_at is None and user not in users & _restored:
                create_user(name, secret_sha256)
    except RedisError as error:
        log.warning(USERS_NOT_UPDATED, error)


def _revoke_excessive() -> None:
    """Revoke the credentials of load generators whose keys hold more than MAX_QUEUE_BYTES, and delete these keys."""
    names = list(GeneratorCredential.objects.filter(revoked_at=None).values_list("generator", flat=True))
    pipeline = connection().pipeline(transaction=False)
    for name in names:
        for key in keys(name):
            pipeline.memory_usage(key, samples=0)  # all elements: a few small ones could hide a large one

    sizes = pipeline.execute()
    for name in names:
        # The answers are in the order of the questions.
        count = len(keys(name))
        queue_bytes = sum(size or 0 for size in sizes[:count])
        del sizes[:count]
        if queue_bytes <= MAX_QUEUE_BYTES:
            continue
        text = f"Its keys in Redis held {queue_bytes >> 20} MiB, more than {MAX_QUEUE_BYTES >> 20}."
        log.error("The credential of %s is revoked. %s Enrol it again once it is trusted.", name, text)
        GeneratorCredential.objects.filter(generator=name, revoked_at=None).update(revoked_at=Now())
        audit.note("generator_credential_revoked", team=None, actor=None, subject=name, text=text)
        connection().unlink(*keys(name))


def _parse_names(users: set[str]) -> list[str]:
    """The load generators whose users these are, as `redis_user` names them."""
    names = []
    for user in users:
        if user.startswith("generator-"):
            name, _, _ = user.removeprefix("generator-").rpartition("-")
            names.append(name)
    return names
