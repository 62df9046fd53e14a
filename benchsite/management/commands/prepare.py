"""`manage.py prepare`: everything that must have happened before the parts of a site start."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.accounts.models import User
from benchsite.core.env import env_path, env_str
from benchsite.core.generator_access import Access, AccessRefused, without_user, write_access
from benchsite.core.migration import migrate_database
from benchsite.core.progress import Step
from runs.results.artifacts import mark_storage
from workers.generator import enrolment
from workers.generator.host_identity import MACHINE_VARIABLE


class Command(BaseCommand):
    help = "Migrates the database and marks the artifact storage as this site's. Doing it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--generators",
            type=int,
            default=0,
            help="also enrol so many load generators of this host, BENCHSITE_MACHINE-1, -2, ..., into the folder "
            "BENCHSITE_CREDENTIALS; a file that is there stays as it is",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with Step("Migrations", self._say) as step, step.keep_ticking() as note:
            count = migrate_database(note)

        with Step("Artifact storage", self._say):
            mark_storage()

        self._say(f"The database is migrated ({count} new migrations), and the artifact storage is this site's.")
        if not User.objects.filter(is_superuser=True, is_active=True).exists():
            self.stdout.write("This site has no operator yet: `manage.py createsuperuser` creates one.")
        if options["generators"]:
            machine = env_str(MACHINE_VARIABLE, "")
            if not machine or not settings.GENERATOR_SITE_URL:
                raise CommandError(f"--generators needs {MACHINE_VARIABLE} and BENCHSITE_SITE_URL.")

            folder = env_path("BENCHSITE_CREDENTIALS", Path(settings.VAR_DIR) / "credentials")
            for name in (f"{machine}-{number}" for number in range(1, options["generators"] + 1)):
                path = folder / f"{name}.json"
                if path.exists():
                    continue

                try:
                    with Step(f"Credential of {name}", self._say):
                        credential = enrolment.make(name)
                except AccessRefused as error:
                    raise CommandError(str(error)) from error

                access = Access(
                    site_url=settings.GENERATOR_SITE_URL,
                    credential=credential,
                    redis_url=without_user(settings.REDIS_URL),  # of this host: other hosts may need another address
                )
                write_access(path, access)
                self.stdout.write(f"Enrolled {name}. Its credential is in {path}.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
