"""`manage.py generator_credential NAME`: makes the credential of one load generator."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from workers import credentials


class Command(BaseCommand):
    requires_system_checks = []  # They import every page, which takes two seconds of a core.
    help = (
        "Prints a new credential for the load generator NAME, to be set there as BENCHSITE_GENERATOR_TOKEN. It is not "
        "shown again. An earlier credential of that load generator serves no more."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--revoke", action="store_true", help="only revoke the credential")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        validate_slug(name)
        if not options["revoke"]:
            self.stdout.write(credentials.make(name, None))
        elif not credentials.revoke(name, None):
            raise CommandError(f"The load generator {name} has no valid credential.")
