"""`manage.py conductor`: carries out runs, reads uploads, and removes servers that nobody needs any more."""

import signal
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.queue.database_retries import retry
from runs.results.artifacts import check_storage
from workers.conductor import conductor_identity
from workers.conductor.conductor_service import ConductorService
from workers.conductor.heartbeat import stopping


class Command(BaseCommand):
    requires_system_checks = []  # They import every page, which takes two seconds of a core.
    help = (
        "Carries out dispatched runs until it is stopped. Any number of conductors work together, on one host or on "
        "several. Servers under test of kind process and docker are started by conductors of their own machine only."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--capacity",
            type=int,
            default=settings.CONDUCTOR_CAPACITY,
            help="runs at a time (BENCHSITE_CONDUCTOR_CAPACITY, %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["capacity"] < 1:
            raise CommandError(f"The capacity must be at least 1, not {options['capacity']}.")
        try:
            check_storage()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        identity = conductor_identity.take_identity()
        ConductorService(retry(lambda: conductor_identity.register(identity, options["capacity"]))).serve()
