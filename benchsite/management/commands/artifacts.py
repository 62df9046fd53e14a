"""`manage.py artifacts copy FOLDER | restore FOLDER | check`: the files beside the database."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.core.progress import Step
from benchsite.site.backup import DatabaseNotRestored, copy_from, copy_to, wrong_content


class Command(BaseCommand):
    help = "Copies artifacts into a folder, after pg_dump; puts them back, after pg_restore; or reads and checks each."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, says in (("copy", "copy what the folder lacks"), ("restore", "put back what the storage lacks")):
            actions.add_parser(name, help=says).add_argument("folder", type=Path)
        actions.add_parser("check", help="read everything and name what is missing or damaged")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["action"]:
            case "copy":
                with Step("Copying artifacts", self._say) as step:
                    counts = copy_to(options["folder"], step.tick)
                self._state("copied", *counts)
            case "restore":
                try:
                    with Step("Putting artifacts back", self._say) as step:
                        counts = copy_from(options["folder"], step.tick)
                    self._state("put back", *counts)
                except DatabaseNotRestored:
                    raise CommandError("The database names no content: restore it from its dump first.") from None
            case _:
                with Step("Reading artifacts", self._say) as step:
                    wrong = list(wrong_content(step.tick))
                for digest, reason in wrong:
                    self.stderr.write(f"{digest}: {reason}")
                if wrong:
                    raise CommandError(f"{len(wrong)} contents are missing or damaged.")
                self.stdout.write("Every artifact is there and is what was stored.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _state(self, done: str, count: int, lost: int) -> None:
        self.stdout.write(f"{count} contents {done}.")
        if lost:
            raise CommandError(f"{lost} contents that the database names are missing.")
