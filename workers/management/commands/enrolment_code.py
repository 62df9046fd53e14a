"""`manage.py enrolment_code NAME`: makes the enrolment code of one load generator."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from workers.generator import enrolment


class Command(BaseCommand):
    requires_system_checks = []  # They import every page, which takes two seconds of a core.
    help = (
        "Prints a code with which the load generator NAME enrols, once and within an hour: manage.py enrol SITE CODE. "
        "Its earlier credential ends when the code is used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--revoke", action="store_true", help="only revoke its codes and its credential")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        validate_slug(name)
        if not options["revoke"]:
            self.stdout.write(enrolment.make_code(name, None))
        elif not enrolment.revoke(name, None):
            raise CommandError(f"The load generator {name} has no valid credential.")
