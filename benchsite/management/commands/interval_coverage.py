"""`manage.py interval_coverage`: how often intervals, verdicts and estimates are right, on made-up ladders."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reports import simulated_ladders
from reports.analysis import coverage
from reports.analysis.ladder_rates import LADDERS, SEED, TABLES


class Command(BaseCommand):
    help = "Print, as a table, how often the 95 % interval of a ratio holds the true one, or what else is named."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("of", nargs="?", choices=("repeats", "ladders", *TABLES), default="repeats")
        parser.add_argument("--pairs", type=int, help="simulations of each kind (20000 of repeats, 400 of ladders)")
        parser.add_argument("--seed", type=int, help="of the generator of random numbers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["of"] in TABLES:
            for row in TABLES[options["of"]](options["pairs"] or LADDERS, options["seed"] or SEED):
                self.stdout.write(row)
            return
        simulation = coverage if options["of"] == "repeats" else simulated_ladders
        self.stdout.write(simulation.HEADER)
        for row in simulation.rows(options["pairs"] or simulation.PAIRS, options["seed"] or simulation.SEED):
            self.stdout.write(row)
