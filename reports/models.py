"""What people say about results beside the results themselves: triaged change points, notes on a history."""

from django.conf import settings
from django.db import models

from benchsite.teams.models import Team, new_id
from runs.models import Run
from runs.models.run import Phase


class History(models.Model):
    """One test of a team that was measured at least once: all its runs with this `config_key`, counted.

    Triggers on the table of runs write it (migration 0002), whoever writes the runs: so a list of histories never has
    to look at every run. A bracket belongs to no history.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="histories")
    config_key = models.CharField(max_length=32)
    phase = models.CharField(max_length=8, choices=Phase)
    system = models.CharField(max_length=40)
    mode = models.CharField(max_length=40)
    database_name = models.TextField()
    workload_name = models.CharField(max_length=80)
    cluster_name = models.TextField()
    threads = models.PositiveIntegerField()
    target_ops_s = models.PositiveIntegerField(null=True)
    runs = models.PositiveIntegerField()  # that succeeded
    last_at = models.DateTimeField()  # when the newest of them finished

    class Meta:
        verbose_name_plural = "histories"
        ordering = ["-last_at", "config_key"]
        constraints = [models.UniqueConstraint(fields=["team", "config_key"], name="one_history_per_test")]
        indexes = [models.Index(fields=["team", "-last_at"], name="history_newest")]

    def __str__(self) -> str:
        return f"{self.database_name} {self.mode} {self.workload_name} {self.rung}"

    @property
    def rung(self) -> str:
        return f"target {self.target_ops_s}" if self.target_ops_s else f"{self.threads} threads"


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
