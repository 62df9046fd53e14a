"""Leases, which say what holds which machine, credentials of load generators, and the nodes that these start."""

from django.db import models
from django.db.models.functions import Now

from runs.models import Deployment, LoadGenerator, Machine, Run
from runs.models.client_properties import ClientOrderField


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


class NodeProcess(models.Model):
    """One node of a deployment on the machine of a load generator, which starts and ends it as the row says.

    The conductor writes `start_id`, which is new at each start, `order` and `desired_state`. The load generator
    reports the rest.
    """

    class DesiredState(models.TextChoices):
        UP = "up", "up"
        STOPPED = "stopped", "stopped"  # in order: its data is kept
        KILLED = "killed", "killed"

    class State(models.TextChoices):
        STARTING = "starting", "starting"
        UP = "up", "up"  # Its process runs; the conductor asks whether it answers.
        ENDED = "ended", "ended"

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="node_processes")
    load_generator = models.ForeignKey(LoadGenerator, on_delete=models.CASCADE, related_name="node_processes")
    number = models.PositiveSmallIntegerField()  # of the node, from 0
    start_id = models.UUIDField()
    order = ClientOrderField()  # `workers.provision.servers.NodeOrder`
    desired_state = models.CharField(max_length=10, choices=DesiredState)
    state = models.CharField(max_length=10, choices=State, default=State.STARTING)
    problem = models.TextField(blank=True, default="")
    folder = models.TextField(blank=True, default="")  # on its machine
    log = models.TextField(blank=True, default="")  # its last lines
    changed_at = models.DateTimeField(db_default=Now())  # the last order or report
    is_reported = models.BooleanField(default=False)  # whether the load generator has taken the order of this start

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["deployment", "number"], name="one_process_per_deployment_and_node")
        ]

    def __str__(self) -> str:
        return f"node {self.number + 1} on {self.load_generator}"
