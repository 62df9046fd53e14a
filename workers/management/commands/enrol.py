"""`manage.py enrol SITE CODE`: on a load generator, exchanges an enrolment code for a credential."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.core.generator_access import Access, get_name, write_access
from workers.generator.site_client import SiteClient, SiteRefused, SiteUnreachable


class Command(BaseCommand):
    requires_system_checks = []
    help = (
        "Exchanges an enrolment code for the credential of this load generator and writes it, with the addresses of "
        "the site and of Redis, to the file BENCHSITE_GENERATOR_FILE (generator.json below BENCHSITE_VAR, mode 0600)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("site", help="the address of the site, https://bench.example.org")
        parser.add_argument("code", help="of the page of load generators, or of manage.py enrolment_code NAME")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answer = SiteClient(options["site"], "").enrol(options["code"])
        except (SiteUnreachable, SiteRefused) as error:
            raise CommandError(str(error)) from error
        path = settings.GENERATOR_ACCESS_FILE
        access = Access(
            site_url=options["site"].rstrip("/"), credential=answer["credential"], redis_url=answer["redis_url"]
        )
        write_access(path, access)
        self.stdout.write(f"Enrolled as {get_name(access['credential'])}. Its credential is in {path}.")
