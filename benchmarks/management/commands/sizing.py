"""`manage.py sizing`: what a fleet of load generators costs here, and how large the tables of many runs get.

Each simulated generator is a row, and every five seconds the very statement of a real one's sign of life; meanwhile the
scheduler's look at the queue and the page of load generators are timed. Not simulated: the connections (a real one
holds two), Redis, and runs.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from django.db.models.functions import Now

from benchsite.accounts.models import Team
from runs.models import LoadGenerator, Machine
from runs.results.pages.lists import PER_PAGE
from workers.conductor import scheduling
from workers.generator.fleet import get_fleet, health, list_bindings, shown
from workers.generator.presence import BEAT_S

PREFIX: Final = "simulated-"
CONNECTIONS: Final = 16
# The tables that grow with runs; what their size is shared out over.
GROWING = (
    ("runs_run", "run"),
    ("runs_measurementset", "run"),
    ("runs_measurement", "measurement"),
    ("runs_finding", "run"),
    ("runs_runevent", "run"),
    ("runs_series", "series"),
    ("runs_artifact", "run"),
)


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
        while time.monotonic() < end:
            began = time.monotonic()
            scheduling.tick()
            ticked = time.monotonic()
            _page(team)
            fleet.ticks_s.append(ticked - began)
            fleet.pages_s.append(time.monotonic() - ticked)
            time.sleep(max(1 - (time.monotonic() - began), 0))
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


def _page(team: Team) -> None:
    """What the page of load generators asks for."""
    fleet = get_fleet(team)
    health(fleet)
    list_bindings(fleet)
    shown(team, fleet[:PER_PAGE])


def _log_position() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')")
        [(position,)] = cursor.fetchall()
    return int(position)


def _forget() -> None:
    LoadGenerator.objects.filter(name__startswith=PREFIX).delete()
    Machine.objects.filter(name__startswith=PREFIX).delete()


class Command(BaseCommand):
    help = (
        "Simulates load generators that give signs of life, and tells the bytes of each run and measurement in this"
        " database (`manage.py generate_results` fills an empty one)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--generators", type=int, default=2000, help="0: none")
        parser.add_argument("--seconds", type=int, default=60)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["generators"]:
            self.stdout.write("\n".join(simulate(options["generators"], options["seconds"]).lines()))
        runs, measurements = self._count("runs_run"), self._count("runs_measurement")
        self.stdout.write(f"{runs:,} runs, {measurements:,} measurements:")
        total = 0
        for table, _ in GROWING:
            size = self._number("SELECT pg_total_relation_size(%s::regclass)", table)
            heap = self._number("SELECT pg_table_size(%s::regclass)", table)
            total += size
            rows = self._count(table)
            each = f"{size / rows:7.0f} bytes a row" if rows else ""
            self.stdout.write(f"  {table:22} {size / 1e6:10,.1f} MB ({heap / 1e6:,.1f} without indexes) {each}")
        if measurements and runs:
            self.stdout.write(
                f"  together {total / 1e6:,.1f} MB: {total / runs:,.0f} bytes a run. A billion measurements at"
                f" {measurements / runs:.1f} a run: {total / measurements * 1e9 / 1e12:.2f} TB (extrapolated)."
            )

    def _count(self, table: str) -> int:
        return self._number(f'SELECT count(*) FROM "{table}"')

    def _number(self, sql: str, *parameters: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            [(number,)] = cursor.fetchall()
        return int(number)
