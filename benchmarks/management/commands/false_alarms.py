"""`manage.py false_alarms`: how often the statistical checks fire on made-up runs, healthy and faulty."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.simulations.checks import SEED, rates
from benchsite.core.formatting import percent


class Command(BaseCommand):
    help = "Print, as a table, how often each statistical check fires on healthy and on faulty made-up runs."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, default=2000, help="runs of each kind (2000)")
        parser.add_argument("--seed", type=int, default=SEED)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write("| check | made-up run | | fires in | stated limit |\n|---|---|---|---|---|")
        for rate in rates(options["runs"], options["seed"]):
            case = rate.case
            kind, limit = ("healthy", "at most") if case.healthy else ("faulty", "at least")
            self.stdout.write(
                f"| {case.check_id} | {case.label} | {kind} | {percent(rate.share)} | {limit} {percent(case.limit)} |"
            )
