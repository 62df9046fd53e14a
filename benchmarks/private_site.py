"""Commands that need a site of their own: no rows and no load on a site in use."""

import os
import sys
from pathlib import Path

from django.conf import settings

SITE_VARIABLES = ("DATABASE_URL", "REDIS_URL", "BENCHSITE_WORK", "BENCHSITE_TARGETS", "BENCHSITE_ARTIFACTS")


def restart_with_private_site(var: Path, **variables: str) -> None:
    """Replaces this process by the same command with `var` as its site folder; returns where that is done already.

    `variables` are added to the environment; the caller's database, Redis and folders are left out of it.
    """
    if Path(settings.VAR_DIR) == var:
        return
    environment = {name: value for name, value in os.environ.items() if name not in SITE_VARIABLES}
    installed = {"BENCHSITE_YCSB": str(settings.YCSB_DIR), "BENCHSITE_SERVERS": str(settings.SERVERS_DIR)}
    environment |= {"BENCHSITE_VAR": str(var), **installed, **variables}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)
