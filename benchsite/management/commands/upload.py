"""`manage.py upload`: the single-file client `static/benchsite-upload.py`, run from here. There is no second one."""

import runpy
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

CLIENT = settings.BASE_DIR / "static" / "benchsite-upload.py"


class Command(BaseCommand):
    help = "Upload YCSB results to a Benchsite, and end as the verdict says."
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """All that follows is the client's: its options, its help, its exit codes."""
        sys.exit(runpy.run_path(str(CLIENT))["main"](argv[2:], prog="manage.py upload"))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="*", help="as for static/benchsite-upload.py")

    def handle(self, *args: Any, **options: Any) -> None:
        """For `call_command`."""
        sys.exit(runpy.run_path(str(CLIENT))["main"](list(options["words"]), prog="manage.py upload"))
