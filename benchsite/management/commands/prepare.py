"""`manage.py prepare`: everything that must have happened before the parts of a site start."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from benchsite.teams.models import User
from runs.artifacts import mark_storage


class Command(BaseCommand):
    help = "Migrates the database and marks the artifact storage as this site's. Doing it again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=1, stdout=self.stdout)
        mark_storage()
        self.stdout.write("The database is migrated, and the artifact storage is this site's.")
        if not User.objects.filter(is_superuser=True, is_active=True).exists():
            self.stdout.write("This site has no operator yet: `manage.py createsuperuser` creates one.")
