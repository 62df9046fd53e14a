"""What people say about results beside the results themselves: triaged change points, notes on a history."""

from django.conf import settings
from django.db import models

from benchsite.teams.models import Team, new_id
from runs.models import Run


class ChangePoint(models.Model):
    """What a person decided about one change of one history. Untriaged changes have no row: they are computed.

    A history is that of one `Run.config_key` and one metric; `run` is the first with the new level.
    """

    class State(models.TextChoices):
        NEW = "new", "new"
        CONFIRMED = "confirmed", "confirmed"  # Real: what comes after is compared with what comes after.
        FALSE = "false", "false alarm"
        ACCEPTED = "accepted", "accepted"  # Real, and wanted or worth it.

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="change_points")
    config_key = models.CharField(max_length=32)
    metric = models.CharField(max_length=80)  # "throughput", "READ service p99"
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="change_points")
    state = models.CharField(max_length=10, choices=State)
    note = models.TextField(blank=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-changed_at"]
        constraints = [
            models.UniqueConstraint(fields=["team", "config_key", "metric", "run"], name="one_triage_per_change_point")
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.state}"


class HistoryNote(models.Model):
    """A remark at an instant of a history: "new kernel"; with an empty `config_key` it is on all of the team's."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="history_notes")
    config_key = models.CharField(max_length=32, blank=True)
    at = models.DateTimeField()
    text = models.CharField(max_length=200)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["team", "config_key", "at"])]

    def __str__(self) -> str:
        return self.text
