"""Checks of servers that a team typed, outside of the threads that answer requests.

A thread of its own waits for each check; what the server sends is read by a process with limits
(`administration.admin_client`). The server has the times of `server_checks` for its answers, to that process and to the
clients of load generators. What else takes time has limits of its own: their starts, their work, and their wait for a
processor. The progress lies in the cache, where every web process reads it; the password stays in the process
that checks.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import msgspec
from django.core.cache import cache
from django.db import connection
from redis.exceptions import RedisError

from benchsite.accounts import tenancy
from benchsite.accounts.models import Team
from runs.catalog import System
from runs.timeouts import CHECK_CLIENT_TIMEOUT_S, CHECK_PROGRAM_TIMEOUT_S, CHECK_SERVER_TIMEOUT_S
from workers.probe.check_orders import CLIENTS_TIMEOUT_S, count_connections, find_generators, run_clients
from workers.probe.server_checks import FAR_ANSWERS, MAX_LATENCY_S, Progress, TargetCheck, TargetChecks, check_target
from workers.provision.deadline import Deadline
from workers.provision.provisioner_factory import MAX_CHECKS_OF_TEAM, check_records

log = logging.getLogger(__name__)
# Beside the times for making and dropping a table.
CHECK_TIMEOUT_S: Final = (
    CHECK_PROGRAM_TIMEOUT_S
    + CHECK_SERVER_TIMEOUT_S
    + FAR_ANSWERS * MAX_LATENCY_S
    + CLIENTS_TIMEOUT_S
    + CHECK_CLIENT_TIMEOUT_S
)
MAX_CHECKS: Final = 5  # of all teams, in one web process
RESULT_TIMEOUT_S: Final = 600
# Beyond the timeout: for a process to start and to end, on a busy machine.
GRACE_S: Final = 5.0
INTERRUPTED: Final = TargetChecks((TargetCheck("interrupted", "reject"),))
FAULT: Final = TargetChecks((TargetCheck("fault", "reject"),))
_slots = threading.BoundedSemaphore(MAX_CHECKS)


class CheckRefused(Exception):
    """The check cannot start now. The message is fit for a page."""


def start_check(
    team: Team,
    check: uuid.UUID,
    system: System,
    addresses: Sequence[str],
    properties: Mapping[str, object],
    save: Callable[[TargetChecks], uuid.UUID] | None,
    cluster: str = "",
    *,
    confirmed: bool = False,
    allowed: str = "",
) -> Progress:
    """Starts a check of the servers at these host:port. `save` is called where clients can sign in, and names the row
    whose progress is the result, too. `cluster` and `confirmed` are those of `check_target`, `allowed` is that of
    `Progress`. Raises CheckRefused.
    """
    if not _slots.acquire(blocking=False):
        raise CheckRefused("This site checks other servers at the moment. Try again in a minute.")
    timeout_s = CHECK_TIMEOUT_S + 2 * system.schema_change_s + GRACE_S
    try:
        slot = _take_slot(team, timeout_s)
        record = check_records(team.pk)[slot]
        progress = Progress(until=time.time() + timeout_s, place_s=system.schema_change_s, allowed=allowed)
        _write(team, check, progress)
    except RedisError as error:
        _slots.release()
        raise CheckRefused("Redis, which keeps the progress of checks, does not answer.") from error
    except CheckRefused:
        _slots.release()
        raise

    examine = partial(
        check_target, system, addresses, properties, networks=team.external_networks, cluster=cluster,
        confirmed=confirmed, may_make_table=bool(allowed), record=record,
        connections=count_connections(len(find_generators(team, system))),
    )  # fmt: skip

    def run() -> None:
        tenancy.enter(team.pk)
        try:
            _run(team, check, progress, examine, save)
        finally:
            connection.close()
            _slots.release()
            cache.delete(_slot_key(team, slot))

    threading.Thread(target=run, name=f"check {check}", daemon=True).start()
    return progress


def _take_slot(team: Team, timeout_s: float) -> int:
    """A free slot of the team, which ends by itself where its process does. Raises CheckRefused, RedisError."""
    for number in range(MAX_CHECKS_OF_TEAM):
        if cache.add(_slot_key(team, number), 1, timeout_s):
            return number
    raise CheckRefused(f"This team has {MAX_CHECKS_OF_TEAM} checks at the moment. Try again in a minute.")


def _slot_key(team: Team, number: int) -> str:
    return f"server-check-slot:{team.pk}:{number}"


def _run(
    team: Team,
    check: uuid.UUID,
    progress: Progress,
    examine: Callable[..., TargetChecks],
    save: Callable[[TargetChecks], uuid.UUID] | None,
) -> None:
    saved = ""

    try:
        target = examine(
            deadline=Deadline(CHECK_SERVER_TIMEOUT_S),
            run_clients=partial(run_clients, team),
            note_step=lambda step: _write(team, check, replace(progress, step=step)),
        )
        if save is not None and target.is_reachable:
            row = save(target)
            saved = str(row)
            _write(team, row, replace(progress, target=target, saved=saved))
    except Exception:
        log.exception("The check of a server failed.")
        target = FAULT
    _write(team, check, replace(progress, target=target, saved=saved))


def read_check(team: Team, check: uuid.UUID) -> Progress | None:
    """The progress of a check of this team; None of one that never began or ended long ago. Raises RedisError."""
    try:
        progress = msgspec.convert(cache.get(_key(team, check)), Progress)
    except msgspec.ValidationError:  # None, or what another release wrote.
        return None
    if progress.target is None and time.time() > progress.until:
        return replace(progress, target=INTERRUPTED)
    return progress


def _write(team: Team, check: uuid.UUID, progress: Progress) -> None:
    cache.set(_key(team, check), msgspec.to_builtins(progress), RESULT_TIMEOUT_S)


def _key(team: Team, check: uuid.UUID) -> str:
    return f"server-check:{team.pk}:{check}"
