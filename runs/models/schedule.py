"""A matrix that is repeated at times, what came of each time, and the word that a run of a matrix has ended."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager
from runs.models.plan import Matrix


class Schedule(Row):
    """A matrix that is cloned and submitted at times of the day in UTC (`runs.plans.schedules`)."""

    class Every(models.TextChoices):
        HOURS = "hours", "every few hours"  # `hours` apart, counted from `at`: the same times on every day.
        DAY = "day", "every day"
        WEEK = "week", "on days of the week"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="schedules")
    matrix = models.ForeignKey(Matrix, on_delete=models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=80)
    every = models.CharField(max_length=5, choices=Every, default=Every.DAY)
    hours = models.PositiveSmallIntegerField(default=6)
    at = models.TimeField()
    days = ArrayField(models.PositiveSmallIntegerField(), default=list, blank=True)  # 0 is Monday
    is_active = models.BooleanField(default=True)
    off_because = models.CharField(max_length=300, blank=True)  # empty where a person paused it
    next_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)  # in a row
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["name", "id"]
        indexes = [models.Index(fields=["next_at"], name="schedule_due", condition=Q(is_active=True))]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_active=False) | Q(next_at__isnull=False), name="active_schedule_has_a_time"
            )
        ]


class Occasion(models.Model):
    """One time of a schedule, and what came of it."""

    class Outcome(models.TextChoices):
        SUBMITTED = "submitted", "submitted"
        SKIPPED = "skipped", "skipped"
        FAILED = "failed", "failed"

    schedule = models.ForeignKey(Schedule, on_delete=models.CASCADE, related_name="occasions")
    due_at = models.DateTimeField()
    at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome)
    reason = models.TextField(blank=True)
    matrix = models.ForeignKey(Matrix, null=True, blank=True, on_delete=models.SET_NULL, related_name="occasions")

    class Meta:
        ordering = ["-due_at"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="one_occasion_per_time")]

    def __str__(self) -> str:
        return f"{self.schedule} at {self.due_at:%Y-%m-%d %H:%M}: {self.outcome}"


class Ending(models.Model):
    """A run of this matrix has ended, written with its end. Whoever reads it looks whether it was the last one.

    The run cannot look itself: of two that end at the same moment each would see the other still running.
    """

    matrix = models.ForeignKey(Matrix, on_delete=models.CASCADE, related_name="endings")

    def __str__(self) -> str:
        return f"a run of {self.matrix} has ended"
