"""`python -m benchsite.local [DESCRIPTOR]`: the supervisor of a one-machine site, until Ctrl-C.

A program of its own, since Django's command line loads every model: the supervisor needs none, and lives as long as the
site. Its progress goes to the descriptor until the site is up (`manage.py up`), else to the standard output.
"""

import os
import sys

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from benchsite.local.supervisor import Site, SiteError, in_child

UP = "UP"  # The last word to `manage.py up`, which waits for it.


def main(report: int | None = None) -> None:
    """Start the site and stay. Exits with an explanation where that is not possible."""
    reporting = None
    if report is not None:
        reporting = os.fdopen(report, "w", buffering=1)

    def say(text: str) -> None:
        print(text, file=reporting if reporting and not reporting.closed else sys.stdout, flush=True)

    try:
        with Site(port=settings.WEB_PORT, command="make up", say=say) as site:
            say(f"The site is up at {site.url}. `make down` stops it.")
            if settings.EMBEDDED:
                say(f"Sign in, once, within 15 minutes: {site.url}{in_child('first_link')}")
            if reporting is not None:
                say(UP)
                reporting.close()
            site.stay()
    except (SiteError, CommandError, DatabaseError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("Stopped.")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    main(*map(int, sys.argv[1:]))
