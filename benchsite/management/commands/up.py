"""`manage.py up`: the whole site on this machine, in the background."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchsite.local.__main__ import UP
from benchsite.local.supervisor import running_site

SUPERVISOR = [sys.executable, "-m", "benchsite.local"]


class Command(BaseCommand):
    requires_system_checks = []
    help = "Starts the site in the background and returns when it is ready. `manage.py down` stops it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--foreground", action="store_true", help="Stay until Ctrl-C.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["foreground"]:
            os.chdir(settings.BASE_DIR)
            os.execv(SUPERVISOR[0], SUPERVISOR)
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
        with log.open("wb") as output:
            supervisor = subprocess.Popen(
                [*SUPERVISOR, str(reporting)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=settings.BASE_DIR,
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
