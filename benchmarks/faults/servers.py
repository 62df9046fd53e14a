"""The site's own PostgreSQL and Redis: killed, restarted, hung, emptied, and connections that PostgreSQL ends."""

import os
import signal
import time
from collections.abc import Iterator

import redis
from django.conf import settings
from django.db import connection

from benchmarks.faults.fault import MEASURING, Moment, fault
from benchmarks.faults.site import FaultSite
from benchsite.local.embedded import EmbeddedServers
from runs.models.run import Phase, Stage
from workers.processes.guarded_process import Guarded

RESTART_S = 5.0
HANG_S = 40.0
PREPARING = Moment(Phase.MEASURE, Stage.PREPARING)


def _process(server: Guarded | None) -> Guarded:
    assert server is not None
    return server


def _restart(server: EmbeddedServers) -> None:
    server.stop()
    server.start()


@fault("redis-killed", moment=PREPARING, outage_s=RESTART_S)
def _(site: FaultSite) -> Iterator[None]:
    os.kill(_process(site.redis.redis).pid, signal.SIGKILL)
    yield
    _restart(site.redis)


@fault("redis-hung", moment=MEASURING, outage_s=HANG_S)
def _(site: FaultSite) -> Iterator[None]:
    pid = _process(site.redis.redis).pid
    os.kill(pid, signal.SIGSTOP)
    yield
    os.kill(pid, signal.SIGCONT)


@fault("redis-emptied", moment=PREPARING)
def _(site: FaultSite) -> Iterator[None]:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushall()
    yield


@fault("postgresql-restarted", moment=MEASURING, outage_s=RESTART_S)
def _(site: FaultSite) -> Iterator[None]:
    connection.close()
    _process(site.postgresql.postgresql).stop()
    yield
    _restart(site.postgresql)


@fault("postgresql-killed", moment=MEASURING, outage_s=RESTART_S)
def _(site: FaultSite) -> Iterator[None]:
    connection.close()
    os.kill(_process(site.postgresql.postgresql).pid, signal.SIGKILL)
    yield
    _restart(site.postgresql)


def terminate_connections() -> int:
    """Ends every connection of the site to its database but this one, and returns their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchall()[0][0])


def _register_termination(moment: Moment, name: str) -> None:
    @fault(f"connections-{name}", moment=moment)
    def _(site: FaultSite) -> Iterator[None]:
        terminate_connections()
        yield


_register_termination(Moment(Phase.LOAD, Stage.PROVISIONING), "provisioning")
_register_termination(Moment(Phase.LOAD, Stage.LOADING, 1.0), "loading")
_register_termination(PREPARING, "preparing")
_register_termination(MEASURING, "measuring")
_register_termination(Moment(Phase.MEASURE, Stage.COLLECTING), "collecting")
_register_termination(Moment(Phase.MEASURE, Stage.JUDGING), "judging")


@fault("connections-repeatedly", moment=PREPARING)
def _(site: FaultSite) -> Iterator[None]:
    """Every two seconds through one whole run."""
    for _ in range(5):
        terminate_connections()
        time.sleep(2)
    yield
