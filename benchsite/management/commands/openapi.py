"""`manage.py openapi`: writes the description of the API to docs/openapi.json, from the code."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchsite.api import api
from benchsite.rest.description import written

FILE = settings.BASE_DIR / "docs" / "openapi.json"


class Command(BaseCommand):
    help = "Writes docs/openapi.json, the description of the REST API (OpenAPI 3.1)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say whether the file is as the code has it")

    def handle(self, *args: Any, **options: Any) -> None:
        said = written(api)
        if not options["check"]:
            FILE.write_text(said, encoding="utf-8")
            self.stdout.write(f"Wrote {FILE.relative_to(settings.BASE_DIR)}.")
        elif FILE.read_text(encoding="utf-8") != said:
            raise CommandError("docs/openapi.json is not as the code has it: run `make openapi` and commit it.")
