"""Results that people bring along: one import of some files, until it has become runs."""

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager


class Upload(Row):
    """Some files that a person uploaded together. Only `runs.uploads.upload_lifecycle` writes `state`.

    `recognised` is what reading them found (`runs.uploads.recognition.Recognised`), `stated` what the person added
    (`runs.uploads.metadata.RunMetadata`). A claim says who works on it: the request it came with, or a worker.
    """

    class State(models.TextChoices):
        RECEIVED = "received", "waiting to be read"  # With a claim: still arriving.
        READING = "reading", "being read"
        RECOGNISED = "recognised", "to be completed"  # A person says what the files cannot know.
        COMPLETED = "completed", "waiting to be saved"
        SAVING = "saving", "being saved"
        SAVED = "saved", "saved"
        FAILED = "failed", "could not be read"

    class Grouping(models.TextChoices):
        """Which files belong to one run."""

        TOLD = "told", "as their names and contents tell"
        TOGETHER = "together", "for clients of one run"
        APART = "apart", "each for a run of its own"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="uploads")
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    grouping = models.CharField(max_length=8, choices=Grouping, default=Grouping.TOLD)
    # Stated for dates without a time zone, by file, folder or writer of lines: {"client-2.txt": "+02:00"}.
    utc_offsets = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    size = models.PositiveBigIntegerField(default=0)  # bytes, as they came
    created_at = models.DateTimeField(auto_now_add=True)
    saved_at = models.DateTimeField(null=True, blank=True)
    # Whoever works on it: fenced on `claim`, alive by `heartbeat_at`, this far.
    claim = models.UUIDField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    began_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    step = models.CharField(max_length=80, blank=True)  # "reading client-1.txt"
    bytes_done = models.PositiveBigIntegerField(default=0)
    bytes_total = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)
    recognised = models.JSONField(default=dict, blank=True)
    stated = models.JSONField(default=dict, blank=True)
    # What a program stated with its files (`runs.uploads.manifest`); empty: a person completes it on the page.
    manifest = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["team", "-created_at"]),
            models.Index(fields=["created_at"], name="unsaved_uploads", condition=~Q(state="saved")),
        ]
        constraints = [
            models.CheckConstraint(
                name="upload_worked_on_has_claim_and_heartbeat",
                condition=~Q(state__in=["reading", "saving"]) | Q(claim__isnull=False, heartbeat_at__isnull=False),
            ),
            models.CheckConstraint(
                name="upload_saved_at_with_its_end",
                condition=Q(state="saved", saved_at__isnull=False) | (~Q(state="saved") & Q(saved_at__isnull=True)),
            ),
        ]

    def __str__(self) -> str:
        return f"import of {self.created_at:%Y-%m-%d %H:%M}"


class UploadedFile(models.Model):
    """One file of an upload: as it came, until it is read; then what was in it, redacted and unpacked."""

    upload = models.ForeignKey(Upload, on_delete=models.CASCADE, related_name="files")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=300)  # "results.zip", and once it is read "results.zip/client-1.txt"
    size = models.PositiveBigIntegerField()
    # Where it lies in the storage "incoming". Once its upload is saved its content lies among the artifacts: empty.
    path = models.CharField(max_length=200, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)  # of the redacted content; empty: not read yet
    redacted_lines = models.PositiveIntegerField(default=0)  # how many lines held a secret
    error = models.TextField(blank=True)  # why it could not be unpacked
    notes = models.JSONField(default=list, blank=True)  # what unpacking noticed: [{"text": ..., "line": ...}]
    damage = models.CharField(max_length=10, blank=True)  # "cut": its end is missing; "doubtful": so may be more

    content: bytes | None = None  # of one that was read in memory, which lies nowhere else

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["upload", "position"], name="one_uploaded_file_per_position")]

    def __str__(self) -> str:
        return self.name


class UploadKey(models.Model):
    """The Idempotency-Key of an upload: repeating the request finds it, and stores nothing again. Forgotten after days.

    Its row commits together with what it names. Whoever works under a key holds PostgreSQL's advisory lock on it, so
    nothing is left of a server that was killed. Only `runs.uploads.keys` writes it.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="upload_keys")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)  # SHA-256 of the decoded body
    upload = models.ForeignKey(Upload, null=True, on_delete=models.SET_NULL, related_name="keys")
    status = models.PositiveSmallIntegerField()  # of the response
    answer = models.JSONField(default=dict)  # its body
    created_at = models.DateTimeField(db_default=Now())
    objects = TeamManager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="upload_keys_by_age")]
        constraints = [models.UniqueConstraint(fields=["team", "key"], name="one_upload_per_key")]

    def __str__(self) -> str:
        return self.key
