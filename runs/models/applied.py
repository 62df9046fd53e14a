"""What plan files set when they were applied."""

from django.db import models
from django.db.models.functions import Now

from benchsite.accounts.models import Team, User
from benchsite.accounts.tenancy import TeamManager


class AppliedDefinition(models.Model):
    """A machine, cluster, database, workload or matrix as the team's last apply left it.

    `values` maps paths of fields ("settings/io-threads") to what the apply set; of a secret to a keyed digest. The row
    that it describes is named, not referenced: it may have been deleted since.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="applied_definitions")
    kind = models.CharField(max_length=10)  # verbose name of the model
    name = models.CharField(max_length=120)
    values = models.JSONField()
    applied_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    applied_at = models.DateTimeField(db_default=Now())
    objects = TeamManager()

    class Meta:
        ordering = ["kind", "name"]
        constraints = [models.UniqueConstraint(fields=["team", "kind", "name"], name="one_applied_definition_per_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
