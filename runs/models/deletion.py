"""What was deleted, as long as it can be restored."""

from datetime import datetime, timedelta
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Value

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager

RESTORABLE_FOR: Final = timedelta(days=30)


class Deletion(Row):
    """Rows that were deleted together. They lie in the artifact storage; `runs.results.deletion` writes and reads them.

    Their contents stay in the storage until the deletion is forgotten.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="deletions")
    name = models.CharField(max_length=200)  # "Nightly", or "redis always A 16t r1 and 11 more"
    kind = models.CharField(max_length=40)  # verbose name of the model that was asked for
    runs = models.PositiveIntegerField(default=0)
    sha256 = models.CharField(max_length=64)  # of the rows
    digests = ArrayField(models.CharField(max_length=64), default=list)  # of the contents that the rows name
    holds = ArrayField(models.UUIDField(), default=list, db_default=[])  # keys of its rows that others may point at
    # Rows elsewhere that its rows cannot do without: [its table, their table, their key, "database “study”"].
    needs = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    deleted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    deleted_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-deleted_at"]

    @property
    def restorable_until(self) -> datetime:
        return self.deleted_at + RESTORABLE_FOR
