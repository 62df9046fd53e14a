"""`manage.py up`: the whole site on this machine, in the background."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.sign_in_link import make_link
from benchsite.local.supervisor import Site, SiteError, in_child, running_site

UP = "UP"  # The supervisor's last word to the command that waits for it.


class Command(BaseCommand):
    requires_system_checks = []
    help = "Starts the site in the background and returns when it is ready. `manage.py down` stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--foreground", action="store_true", help="Stay until Ctrl-C.")
        parser.add_argument("--report", type=int, help="For `up` itself: the descriptor that progress is written to.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["foreground"]:
            self._stay(options["report"])
            return
        already = running_site()
        if already is not None:
            self.stdout.write(f"The site already runs at {already.url} (process {already.pid}).")
            self.stdout.write("`python manage.py sign_in_link` prints another sign-in link.")
            return
        self._start_in_background()

    def _start_in_background(self) -> None:
        log = Path(settings.VAR_DIR) / "log" / "supervisor.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        reports, reporting = os.pipe()
        argv = [sys.executable, sys.argv[0], "up", "--foreground", "--report", str(reporting)]
        with log.open("wb") as output:
            supervisor = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[reporting],
                start_new_session=True,
            )
        os.close(reporting)
        try:
            with os.fdopen(reports) as lines:
                for line in lines:
                    if line.strip() == UP:
                        return
                    self.stdout.write(line, ending="")
        except KeyboardInterrupt:
            supervisor.terminate()
            self.stdout.write("Stopping what has been started so far.")
        supervisor.wait()
        raise CommandError(f"The site did not start. {log} says:\n{log.read_text(errors='replace').strip()}")

    def _stay(self, report: int | None) -> None:
        """The supervisor itself. It reports while it starts; later nobody listens any more."""
        reporting = os.fdopen(report, "w", buffering=1) if report is not None else None

        def say(text: str) -> None:
            print(text, file=reporting if reporting and not reporting.closed else sys.stdout, flush=True)

        try:
            with Site(port=settings.WEB_PORT, command="make up", say=say) as site:
                say(f"The site is up at {site.url}. `make down` stops it.")
                if settings.EMBEDDED:
                    say(f"Sign in, once, within 15 minutes: {site.url}{in_child(first_link)}")
                if reporting is not None:
                    say(UP)
                    reporting.close()
                site.stay()
        except SiteError as error:
            raise CommandError(str(error)) from error
        except (KeyboardInterrupt, DatabaseError) as error:
            # Interrupted in the middle of a transaction, which then cannot be ended in order; the site has ended.
            if not _came_of_interrupt(error):
                raise
            self.stdout.write("Stopped.")
            # Without it, Python exits as interrupted where the interrupt hit an `exec` of source text (an import of
            # dataclasses), although it was caught.
            sys.exit(0)


def first_link() -> str:
    _, user = ensure_demo_team()
    return make_link(user)


def _came_of_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
