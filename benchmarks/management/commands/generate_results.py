"""`manage.py generate_results`: a database of results that nobody measured, to see how fast pages are."""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from benchmarks.synthetic_data import GenerationRefused, Wanted, generate


class Command(BaseCommand):
    help = "Fills an empty database with synthetic results, to see how fast the pages are."

    def add_arguments(self, parser: ArgumentParser) -> None:
        plain = Wanted()
        parser.add_argument("--runs", type=_positive, default=plain.runs)
        parser.add_argument("--measurements-per-run", type=_positive, default=plain.measurements_per_run)
        parser.add_argument("--with-series", type=int, default=plain.with_series, help="how many runs have series")
        parser.add_argument("--series-seconds", type=_positive, default=plain.series_seconds)
        parser.add_argument("--seed", type=int, default=plain.seed, help="another number, other results")
        parser.add_argument("--append", action="store_true", help="also into a database that holds results")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = Wanted(**{name: options[name] for name in Wanted.__dataclass_fields__})
        began = time.monotonic()
        try:
            runs = generate(wanted, lambda done: self.stdout.write(f"  {done:,} runs", ending="\n"))
        except GenerationRefused as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{runs:,} runs in {time.monotonic() - began:,.0f} s. On disk:")
        for name, size in _sizes():
            self.stdout.write(f"  {name:28} {size:>10}")


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _sizes() -> list[tuple[str, str]]:
    """The whole database, then its largest tables with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'database', pg_size_pretty(pg_database_size(current_database()))")
        whole = cursor.fetchall()
        cursor.execute(
            "SELECT relname, pg_size_pretty(pg_total_relation_size(relid)) FROM pg_statio_user_tables"
            " ORDER BY pg_total_relation_size(relid) DESC LIMIT 8"
        )
        return [*whole, *cursor.fetchall()]
