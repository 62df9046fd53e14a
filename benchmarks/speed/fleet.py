"""What thousands of load generators cost PostgreSQL: as many simulated ones beat here for a while.

Each is a row, and every five seconds the very statement of a real one's sign of life; meanwhile the scheduler's look
at the queue and the page of load generators are timed. What is not simulated: the connections (a real one holds two),
Redis, and runs.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Final

import psycopg
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from benchsite.teams.models import Team
from runs.models import LoadGenerator, Machine
from runs.views.pagination import PER_PAGE
from workers import scheduling
from workers.fleet import bindings_of, fleet_of, health, shown
from workers.presence import BEAT_S

PREFIX: Final = "simulated-"
CONNECTIONS: Final = 16


@dataclass
class Fleet:
    """What was seen."""

    generators: int
    seconds: float
    beats_s: list[float] = field(default_factory=list)  # how long each took
    late_s: float = 0.0  # by how much the latest came too late
    ticks_s: list[float] = field(default_factory=list)
    pages_s: list[float] = field(default_factory=list)
    written_bytes: int = 0  # of write-ahead log

    def lines(self) -> list[str]:
        rate = len(self.beats_s) / self.seconds
        return [
            f"{self.generators:,} load generators for {self.seconds:.0f} s, {CONNECTIONS} connections:",
            f"  signs of life      {rate:8.0f} /s   {_spread(self.beats_s)}   latest {self.late_s:.1f} s late",
            f"  look at the queue  {len(self.ticks_s):8} x    {_spread(self.ticks_s)}",
            f"  page of generators {len(self.pages_s):8} x    {_spread(self.pages_s)}",
            f"  write-ahead log    {self.written_bytes / self.seconds / 1024:8.0f} KiB/s",
        ]


def _spread(times_s: list[float]) -> str:
    ordered = sorted(times_s) or [0.0]
    median, p99 = ordered[len(ordered) // 2], ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)]
    return f"median {median * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms"


def simulate(count: int, seconds: float) -> Fleet:
    """Makes the rows, beats, and removes them again."""
    fleet = Fleet(count, seconds)
    names = [f"{PREFIX}{number}" for number in range(count)]
    team = Team.objects.order_by("pk").first() or Team(name="nobody")
    _forget()
    machines = Machine.objects.bulk_create(Machine(name=name, host_key=name) for name in names)
    made = [LoadGenerator(name=name, machine=machine) for name, machine in zip(names, machines, strict=True)]
    LoadGenerator.objects.bulk_create(made)
    LoadGenerator.objects.filter(name__startswith=PREFIX).update(last_seen_at=Now())
    try:
        before = _log_position()
        end = time.monotonic() + seconds
        threads = [
            threading.Thread(target=_beat, args=[names[number::CONNECTIONS], end, fleet])
            for number in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        _look(team, end, fleet)
        for thread in threads:
            thread.join()
        fleet.written_bytes = _log_position() - before
    finally:
        _forget()
    return fleet


def _beat(names: list[str], end: float, fleet: Fleet) -> None:
    """One connection's share: each name once in five seconds, spread as chance has it."""
    started = time.monotonic()
    due = sorted((started + random.uniform(0, BEAT_S), name) for name in names)
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as database:
        while due and due[0][0] < end:
            at, name = due.pop(0)
            time.sleep(max(at - time.monotonic(), 0))
            began = time.monotonic()
            database.execute("UPDATE runs_loadgenerator SET last_seen_at = now() WHERE name = %s", [name])
            fleet.beats_s.append(time.monotonic() - began)
            fleet.late_s = max(fleet.late_s, began - at)
            due.append((at + BEAT_S, name))


def _look(team: Team, end: float, fleet: Fleet) -> None:
    """What the scheduler and a person do meanwhile, once a second each."""
    while time.monotonic() < end:
        began = time.monotonic()
        scheduling.tick()
        ticked = time.monotonic()
        _page(team)
        fleet.ticks_s.append(ticked - began)
        fleet.pages_s.append(time.monotonic() - ticked)
        time.sleep(max(1 - (time.monotonic() - began), 0))


def _page(team: Team) -> None:
    """What the page of load generators asks for."""
    fleet = fleet_of(team)
    health(fleet)
    bindings_of(fleet)
    shown(team, fleet[:PER_PAGE])


def _log_position() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")
        [(position,)] = cursor.fetchall()
    return int(position)


def _forget() -> None:
    LoadGenerator.objects.filter(name__startswith=PREFIX).delete()
    Machine.objects.filter(name__startswith=PREFIX).delete()
