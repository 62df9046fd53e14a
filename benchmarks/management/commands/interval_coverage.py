"""`manage.py interval_coverage`: how often intervals, verdicts and estimates are right, on made-up ladders."""

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser

from benchmarks.simulations import blocks, comparisons, levels, pairs, repeats, session_limit, sessions
from benchmarks.simulations.ladders import LADDERS, SEED, TABLES as LADDER_TABLES

SIMULATIONS: Final[dict[str, Any]] = {
    "repeats": repeats,
    "ladders": pairs,
    "blocks": blocks,
    "sessions": sessions,
    "levels": levels,
}
TABLES: Final[dict[str, Any]] = {
    **LADDER_TABLES,
    "looks": blocks.look_rows,
    "session-limit": session_limit.limit_rows,
    "weeks": levels.week_rows,
    **comparisons.TABLES,
}


class Command(BaseCommand):
    help = "Print, as a table, how often the 95 % interval of a ratio holds the true one, or what else is named."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("of", nargs="?", choices=(*SIMULATIONS, *TABLES), default="repeats")
        parser.add_argument(
            "--pairs",
            type=int,
            help="pairs of sides of each kind (20000 of repeats, 6000 of ladders, 1500 of blocks), tables, ladders and "
            "matrices (1000), commits (400)",
        )
        parser.add_argument("--seed", type=int, help="of the generator of random numbers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["of"] in TABLES:
            for row in TABLES[options["of"]](options["pairs"] or LADDERS, options["seed"] or SEED):
                self.stdout.write(row)
            return
        simulation = SIMULATIONS[options["of"]]
        self.stdout.write(simulation.HEADER)
        for row in simulation.rows(options["pairs"] or simulation.PAIRS, options["seed"] or simulation.SEED):
            self.stdout.write(row)
