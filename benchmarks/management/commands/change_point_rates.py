"""`manage.py change_point_rates`: how often change points are reported on made-up series, flat and falling."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.simulations.change_points import HEADER, SEED, SERIES, rates, row


class Command(BaseCommand):
    help = "Print, as a table, how often change points are reported on flat and on dropping made-up series."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--series", type=int, default=SERIES, help=f"series of each kind ({SERIES})")
        parser.add_argument("--seed", type=int, default=SEED)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(HEADER)
        for rate in rates(options["series"], options["seed"]):
            self.stdout.write(row(rate))
