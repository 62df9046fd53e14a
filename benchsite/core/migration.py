"""Migrates the database, and says which migration of how many is being applied."""

from collections.abc import Callable

from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import DatabaseError, connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor


class _Command(migrate.Command):
    """Django's command. It notes each migration instead of writing about it."""

    def __init__(self, note: Callable[[str], None], count: int) -> None:
        super().__init__()
        self.note = note
        self.count = count
        self.number = 0
        self.at = ""

    def migration_progress_callback(self, action: str, migration: Migration | None = None, fake: bool = False) -> None:
        if action == "apply_start":
            self.number += 1
            self.at = f"{self.number} of {self.count}: {migration}"
            self.note(self.at)
        if action == "apply_success":
            self.at = ""


def migrate_database(note: Callable[[str], None]) -> int:
    """Applies all migrations that the database lacks; their number. `note` takes the one that is applied.

    An error of the database names the migration.
    """
    executor = MigrationExecutor(connection)
    count = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    command = _Command(note, count)
    try:
        call_command(command, interactive=False, verbosity=0)
    except DatabaseError as error:
        if not command.at:
            raise
        raise type(error)(f"Migration {command.at}: {error}") from error
    return count
