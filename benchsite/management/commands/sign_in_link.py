"""`manage.py sign_in_link`: another one-time sign-in link of a one-machine site that runs."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchsite.accounts.membership import ensure_demo_team
from benchsite.accounts.sign_in_link import make_link
from benchsite.local.supervisor import running_site


class Command(BaseCommand):
    help = "Print a link that signs in once, within 15 minutes, to the site that `make up` or `make demo` started."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.EMBEDDED:
            raise CommandError("This site has accounts of its own: sign in with a password or single sign-on.")
        site = running_site()
        if site is None:
            raise CommandError("No site runs here. Start it with `make up`.")
        _, user = ensure_demo_team()
        self.stdout.write(f"{site.url}{make_link(user)}")
