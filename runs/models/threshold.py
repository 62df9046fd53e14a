"""Thresholds of the validity checks that a team replaced by its own."""

from django.db import models
from django.db.models import Q

from benchsite.formatting import exact
from benchsite.teams.models import Row, Team, User
from runs.models.plan import Purpose


class ThresholdOverride(Row):
    """One threshold of one team, for one purpose or for all of them. Runs judged from then on use it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="threshold_overrides")
    threshold = models.CharField(max_length=40)  # a name of `runs.validity.THRESHOLDS`
    purpose = models.CharField(max_length=10, choices=Purpose, blank=True)  # empty: every purpose
    value = models.FloatField()  # in the unit of the threshold; shares as fractions
    reason = models.TextField()
    changed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["threshold", "purpose"]
        constraints = [
            models.UniqueConstraint(fields=["team", "threshold", "purpose"], name="one_override_per_threshold"),
            models.CheckConstraint(condition=~Q(reason=""), name="threshold_override_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.threshold} = {exact(self.value)} of {self.team}"
