"""The lease: which run holds which machine."""

from django.db import models
from django.db.models.functions import Now

from runs.models import Machine, Run


class Lease(models.Model):
    """One machine held by one run. A machine has at most one lease, so at most one run at a time uses it."""

    machine = models.OneToOneField(Machine, on_delete=models.PROTECT, related_name="lease")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="leases")
    taken_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.machine} held by {self.run}"
