"""`manage.py sizing`: what a fleet of load generators costs here, and how large the tables of many runs get."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from benchmarks.speed.fleet import simulate

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
        self._sizes()

    def _sizes(self) -> None:
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
