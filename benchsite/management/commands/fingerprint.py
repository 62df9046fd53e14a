"""`manage.py fingerprint`: one hash for each table that a restored site must have as it was."""

from typing import Any

from django.core.management.base import BaseCommand

from benchsite.site.backup import fingerprints


class Command(BaseCommand):
    help = "Prints a SHA-256 of each table of results and reports: the same before a backup and after restoring it."

    def handle(self, *args: Any, **options: Any) -> None:
        for table, digest in fingerprints():
            self.stdout.write(f"{digest}  {table}")
