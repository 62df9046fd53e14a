"""`manage.py bound_coverage`: how often the upper bounds of percentiles hold on made-up latencies."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.simulations.bounds import CASES, PERCENTILES, coverage
from benchsite.core.formatting import exact, grouped, percent


class Command(BaseCommand):
    help = "Print, as a table, how often the upper bounds (99 %) of percentiles are exceeded, and how wide they are."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, default=1000, help="runs of each case (1000; a tenth at 1,000,000)")
        parser.add_argument("--seed", type=int, default=1)

    def handle(self, *args: Any, **options: Any) -> None:
        names = " | ".join(f"p{exact(percentile)} stated | exceeded | width" for percentile in PERCENTILES)
        self.stdout.write(f"| values | correlation | {names} |\n|{'---|' * (2 + 3 * len(PERCENTILES))}")
        for case in CASES:
            runs = max(options["runs"] // (10 if case.values == 1_000_000 else 1), 1)
            result = coverage(case, runs, options["seed"])
            cells = [
                f"{percent(result.stated[percentile])} | {percent(result.exceeded[percentile])} | "
                + (percent(result.width[percentile]) if result.stated[percentile] else "-")
                for percentile in PERCENTILES
            ]
            self.stdout.write(f"| {grouped(case.values)} | {exact(case.correlation)} | {' | '.join(cells)} |")
            self.stdout.flush()
