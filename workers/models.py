"""Leases, which say what holds which machine, and the credentials of load generators."""

from django.db import models
from django.db.models.functions import Now

from runs.models import LoadGenerator, Machine, Run


class Lease(models.Model):
    """One machine held by one run, or by the calibration of one load generator. A machine has at most one lease."""

    machine = models.OneToOneField(Machine, on_delete=models.PROTECT, related_name="lease")
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="leases")
    load_generator = models.ForeignKey(LoadGenerator, null=True, on_delete=models.CASCADE, related_name="leases")
    taken_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="lease_of_run_or_calibration",
                condition=models.Q(run__isnull=False, load_generator__isnull=True)
                | models.Q(run__isnull=True, load_generator__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.machine} held by {self.run or self.load_generator}"


class EnrolmentCode(models.Model):
    """Exchanged once, before it expires, for the credential of one load generator."""

    generator = models.SlugField(max_length=60)
    code_sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"enrolment code of {self.generator}"


class GeneratorCredential(models.Model):
    """What a load generator shows the site. It reads and writes only what concerns this load generator."""

    generator = models.SlugField(max_length=60)  # its name: the credential is made before it registers
    secret_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["generator"],
                name="one_valid_credential_per_generator",
                condition=models.Q(revoked_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"credential of {self.generator}"
