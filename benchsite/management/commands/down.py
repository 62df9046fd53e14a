"""`manage.py down`: stops the site that `up` or `demo` started."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from benchsite.local.supervisor import stop_running_site


class Command(BaseCommand):
    requires_system_checks = []
    help = "Stops the site of this folder, and returns when every process of it is gone."

    def handle(self, *args: Any, **options: Any) -> None:
        site = stop_running_site()
        if site is None:
            self.stdout.write(f"No site runs in {settings.VAR_DIR}.")
        else:
            self.stdout.write(f"Stopped the site at {site.url}.")
