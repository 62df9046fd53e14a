"""What 300 idle load generators cost their site: processor time of its parts, and connections to PostgreSQL.

Each has its own credential and its own user of Redis, gives signs of life as often as the site wants them, fetches from
its own queue as Celery does, and sends itself the two probes of every ten seconds.
"""

import random
import statistics
import threading
import time
from contextlib import closing
from typing import Final

import psutil
from django.conf import settings
from django.db import connection
from redis import Redis

from benchmarks.speed.report import BenchmarkFailed, Report
from benchsite.core.generator_access import own_redis_url, unacked_keys
from benchsite.local.supervisor import Site
from workers.generator import enrolment, registration
from workers.generator.pool_probe import PROBE_INTERVAL_S
from workers.generator.redis_users import PRIORITIES
from workers.generator.site_client import SiteClient

GENERATORS: Final = 300
SETTLE_S: Final = 85.0  # the first sign of life of each comes within these
MEASURE_S: Final = 60.0
MAX_SHARE: Final = 0.05  # of one core
PROBES: Final = 2
MESSAGE: Final = "x" * 700  # as long as Celery's


def measure(site: Site) -> Report:
    """The difference to the same site with its two load generators alone."""
    names = [f"idle-{number:03d}" for number in range(GENERATORS)]
    held = {name: _enrol(name) for name in names}
    before = _shares(site)
    stop, failures, beats_s = threading.Event(), list[str](), list[float]()
    threads = [
        *(threading.Thread(target=_beat, args=[site.url, held[name], stop, failures, beats_s]) for name in names),
        *(threading.Thread(target=_fetch, args=[name, held[name], stop, failures]) for name in names),
    ]
    try:
        for thread in threads:
            thread.start()
        time.sleep(SETTLE_S)
        beats_s.clear()
        after = _shares(site)
        connections = _connections()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for name in names:
            enrolment.revoke(name, None)
    if failures:
        raise BenchmarkFailed(f"{len(failures)} requests of idle load generators failed: {failures[0]}")
    more = {part: after[part] - before[part] for part in before}
    figure = sum(more.values())
    return Report(
        name="idle-generators",
        title=f"A site with {GENERATORS} idle load generators, in shares of one core",
        columns=("part", "without", "with", "difference"),
        rows=[[part, before[part], after[part], more[part]] for part in before],
        figure=figure,
        unit="ratio",
        statistic="sum",
        wanted=f"under {MAX_SHARE:g}",
        met=figure < MAX_SHARE,
        notes=f"{connections} connections to PostgreSQL; {len(beats_s) / MEASURE_S:.1f} signs of life a second, "
        f"median {statistics.median(beats_s) * 1000:.0f} ms.",
    )


def _enrol(name: str) -> str:
    credential = enrolment.make(name)
    registration.register_generator(
        name, slots=PROBES, bindings={}, facts={}, host_key=name, host_name=name, machine_facts={}
    )
    return credential


def _beat(url: str, credential: str, stop: threading.Event, failures: list[str], beats_s: list[float]) -> None:
    with closing(SiteClient(url, credential)) as client:
        due_s = random.uniform(0, SETTLE_S - 10)
        while not stop.wait(due_s):
            began = time.monotonic()
            try:
                due_s = client.note_presence(probed=True)["beat_s"]
            except Exception as error:
                failures.append(str(error))
            beats_s.append(time.monotonic() - began)


def _fetch(name: str, credential: str, stop: threading.Event, failures: list[str]) -> None:
    """The commands of Celery's transport: wait in the queue for a second, store a message until it is acknowledged."""
    queue, keys = f"load.{name}", unacked_keys(name)
    queues = [queue, *(f"{queue}{PRIORITIES}{priority}" for priority in (3, 6, 9))]
    probe_at = time.monotonic() + random.uniform(0, PROBE_INTERVAL_S)
    with Redis.from_url(own_redis_url(settings.GENERATOR_REDIS_URL, credential)) as redis:
        while not stop.is_set():
            try:
                if time.monotonic() > probe_at:
                    probe_at = time.monotonic() + PROBE_INTERVAL_S
                    for _ in range(PROBES):
                        redis.lpush(queue, MESSAGE)
                if redis.brpop(queues, 1):
                    with redis.pipeline() as stored:
                        stored.zadd(keys["unacked_index_key"], {"tag": 1}).hset(keys["unacked_key"], "tag", MESSAGE)
                        stored.execute()
                    with redis.pipeline() as removed:
                        removed.zrem(keys["unacked_index_key"], "tag").hdel(keys["unacked_key"], "tag").execute()
            except Exception as error:
                failures.append(str(error))
                return


def _shares(site: Site) -> dict[str, float]:
    """The processor time of each part over a minute, per second."""
    assert site.embedded is not None
    guarded = {part.name: part.guarded for part in site.components if part.name not in site.generators}
    guarded |= {"postgresql": site.embedded.postgresql, "redis": site.embedded.redis}
    roots = {part: psutil.Process(process.pid) for part, process in guarded.items() if process is not None}
    before = {part: _cpu_s(root) for part, root in roots.items()}
    time.sleep(MEASURE_S)
    return {part: (_cpu_s(root) - before[part]) / MEASURE_S for part, root in roots.items()}


def _cpu_s(root: psutil.Process) -> float:
    """Of a process and all its living descendants, and of those that it has waited for."""
    times = [process.cpu_times() for process in (root, *root.children(recursive=True))]
    return sum(time.user + time.system for time in times) + times[0].children_user + times[0].children_system


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
