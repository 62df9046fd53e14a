"""`manage.py interval_coverage`: how often the interval of a ratio holds the true one, on made-up repeats."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reports.analysis.coverage import HEADER, PAIRS, SEED, coverages, row


class Command(BaseCommand):
    help = "Print, as a table, how often the 95 % interval of a ratio holds the true one."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs of sides of each kind ({PAIRS})")
        parser.add_argument("--seed", type=int, default=SEED)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(HEADER)
        for found in coverages(options["pairs"], options["seed"]):
            self.stdout.write(row(found))
