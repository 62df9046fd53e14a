"""`manage.py faults NAME --tries N`: causes one fault N times on a site of its own and counts what each try cost."""

import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmarks.faults.outcome import append, current_commit, row
from benchmarks.faults.registry import FAULTS
from benchmarks.faults.site import FaultSite, SiteTimeout
from benchmarks.faults.trial import run_tries
from benchmarks.private_site import restart_with_private_site
from benchsite.core.paths import places
from benchsite.local.embedded import EmbeddedError
from benchsite.local.supervisor import STOP_SIGNALS, interrupt
from workers.provision.ports import free_port

FOLDER = settings.BASE_DIR / "var" / "faults"
TABLE = settings.BASE_DIR / "docs" / "evidence" / "faults.md"


class Command(BaseCommand):
    requires_system_checks = []
    help = (
        "Causes real faults on a private site and appends a row for each to docs/evidence/faults.md. "
        "Exit code 1: not all well."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="+", choices=["all", *FAULTS], help="which faults")
        parser.add_argument("--tries", type=int, default=1, help="how often")
        parser.add_argument("--table", type=Path, default=TABLE, help="the file that gets the rows")

    def handle(self, *args: Any, **options: Any) -> None:
        restart_with_private_site(
            FOLDER / "site",
            DATABASE_URL=places(FOLDER / "postgresql").database_url,
            REDIS_URL=places(FOLDER / "redis").redis_url,
            BENCHSITE_SECRET_KEY="of a site that holds nothing but the results of fault injection",
            PORT=str(free_port()),
        )
        for number in STOP_SIGNALS:
            signal.signal(number, interrupt)  # Everything that was started ends with this command.
        names = list(FAULTS) if "all" in options["names"] else options["names"]
        commit, failed = current_commit(settings.BASE_DIR), []
        try:
            with FaultSite(FOLDER) as site:
                for name in names:
                    outcomes = run_tries(site, FAULTS[name], options["tries"], self._say)
                    append(options["table"], row(FAULTS[name], commit, outcomes))
                    failed += [name] if any(outcome.failed for outcome in outcomes) else []
        except (EmbeddedError, SiteTimeout) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("Stopped.") from None
        if failed:
            raise CommandError(f"Lost, doubled or stuck is not 0: {', '.join(failed)}.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
