"""What people say about results beside the results themselves: change points, notes on a history, reports."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from benchsite.accounts.models import Row, Team
from benchsite.accounts.tenancy import TeamManager
from runs.models import Phase, Run, Sweep


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
    objects = TeamManager()

    class Meta:
        verbose_name_plural = "histories"
        ordering = ["-last_at", "config_key"]
        constraints = [models.UniqueConstraint(fields=["team", "config_key"], name="one_history_per_test")]
        indexes = [models.Index(fields=["team", "-last_at"], name="history_newest")]

    def __str__(self) -> str:
        return f"{self.database_name} {self.mode} {self.workload_name} {self.rung}"

    @property
    def rung(self) -> str:
        if self.target_ops_s:
            return f"target {self.target_ops_s}"
        return f"{self.threads} threads"


class HistoryLook(models.Model):
    """How far a history was searched for changes to report (`reports.trends.change_point_alerts`)."""

    # Without a constraint, for triggers delete histories and know nothing of looks.
    history = models.OneToOneField(
        History, primary_key=True, on_delete=models.CASCADE, related_name="look", db_constraint=False
    )
    runs = models.PositiveIntegerField()  # of the history at that time
    last_at = models.DateTimeField()
    # Metric -> the runs at which changes were found already: each is told once, however long it is seen.
    known = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.history} up to {self.last_at:%Y-%m-%d %H:%M}"


class CommitLook(models.Model):
    """The last upload of a test and commit that was judged unasked (`reports.trends.upload_alerts`); for a day."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    config_key = models.CharField(max_length=32)
    commit = models.CharField(max_length=64)
    runs = models.PositiveIntegerField()  # of the uploads of the last day, at that time
    last_at = models.DateTimeField()  # when the newest of them was uploaded
    objects = TeamManager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "config_key", "commit"], name="one_look_per_commit")]

    def __str__(self) -> str:
        return f"{self.commit} up to {self.last_at:%Y-%m-%d %H:%M}"


EVERY_METRIC = ""  # of a change point: a person accepted the new level of all metrics


class ChangePoint(Row):
    """What a person decided about one change of one history. Untriaged changes have no row: they are computed.

    A history is that of one `Run.config_key` and one metric; `run` is the first with the new level.
    """

    class State(models.TextChoices):
        NEW = "new", "new"
        CONFIRMED = "confirmed", "confirmed"  # Real: what comes after is compared with what comes after.
        FALSE = "false", "false alarm"
        ACCEPTED = "accepted", "accepted"  # Real, and wanted or worth it.

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="change_points")
    config_key = models.CharField(max_length=32)
    metric = models.CharField(max_length=80)  # "throughput", "READ service p99"; empty: EVERY_METRIC
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="change_points")
    state = models.CharField(max_length=10, choices=State)
    note = models.TextField(blank=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-changed_at"]
        constraints = [
            models.UniqueConstraint(fields=["team", "config_key", "metric", "run"], name="one_triage_per_change_point")
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.state}"


class HistoryNote(Row):
    """A remark at an instant of a history: "new kernel"; with an empty `config_key` it is on all of the team's."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="history_notes")
    config_key = models.CharField(max_length=32, blank=True)
    at = models.DateTimeField()
    text = models.CharField(max_length=200)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["team", "config_key", "at"])]

    def __str__(self) -> str:
        return self.text


class Report(Row):
    """A page that shows frozen results to people without an account. What it says lies in its revisions.

    `draft` is what somebody is putting together (`reports.published`): the selection, the chosen figures and tables in
    their order, headline, notes, disclosures, footnotes. Publishing makes a revision of it, which never changes.
    """

    class Access(models.TextChoices):
        PRIVATE = "private", "private"  # Members of the team only.
        UNLISTED = "unlisted", "unlisted"  # Whoever has the link.
        PUBLIC = "public", "public"  # Also listed in the team's index.

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="reports")
    title = models.CharField(max_length=200)
    access = models.CharField(max_length=10, choices=Access, default=Access.PRIVATE)
    draft = models.JSONField(default=dict, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)  # of the link
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-changed_at"]
        indexes = [models.Index(fields=["team", "-changed_at"])]

    def __str__(self) -> str:
        return self.title

    @property
    def has_expired(self) -> bool:
        """Whether the day until which its link opens it is over."""
        return self.expires_at is not None and self.expires_at <= timezone.now()


class ReportLink(models.Model):
    """An address of a report, `/r/{token}`. One that was revoked or rotated stays, so that it can say so (410)."""

    token = models.CharField(max_length=32, primary_key=True)  # 128 random bits
    # None: its report, or the whole team, was deleted.
    report = models.ForeignKey(Report, null=True, on_delete=models.SET_NULL, related_name="links")
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["report"], condition=models.Q(revoked_at__isnull=True), name="one_open_link_per_report"
            )
        ]

    def __str__(self) -> str:
        return f"link to {self.report}"


class ReportRevision(Row):
    """What was published once: it needs no run to be shown. It never changes (a trigger in the database sees to it)."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()  # 1, 2, 3 ...
    content = models.BinaryField()  # `reports.published.content.canonical`, compressed with zstd
    digest = models.CharField(max_length=64)  # SHA-256 of the canonical bytes
    title = models.CharField(max_length=200)
    headline = models.TextField(blank=True)
    published_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    published_at = models.DateTimeField()
    # Reports of other sites could be imported until 0.1: the team's name then; empty: published here.
    imported_by = models.CharField(max_length=80, blank=True, default="", db_default="")
    imported_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["report", "-number"]
        constraints = [models.UniqueConstraint(fields=["report", "number"], name="one_revision_per_number")]

    def __str__(self) -> str:
        return f"{self.title} @{self.number}"


class ReportPicture(models.Model):
    """One figure of a revision as PNG: drawn by the publisher's browser, encoded anew by the server."""

    revision = models.ForeignKey(ReportRevision, on_delete=models.CASCADE, related_name="pictures")
    name = models.CharField(max_length=80)  # of the figure
    png = models.BinaryField()
    width = models.PositiveIntegerField()  # pixels
    height = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["revision", "name"], name="one_picture_per_figure")]

    def __str__(self) -> str:
        return f"{self.name} of {self.revision}"


class Baseline(Row):
    """A name for some runs that others are judged against. The runs it pins cannot be deleted.

    `chosen` says in a sentence how the runs were chosen. `thresholds` are practical thresholds that this baseline asks
    for, as shares: {"throughput": 0.03, "READ p99": 0.2}; what it does not name has the usual one.
    """

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="baselines")
    name = models.CharField(max_length=80)
    chosen = models.CharField(max_length=300)
    thresholds = models.JSONField(default=dict, blank=True)
    runs = models.ManyToManyField(Run, through="BaselineRun", related_name="baselines")
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    set_at = models.DateTimeField()
    objects = TeamManager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_baseline_per_name")]


class BaselineRun(models.Model):
    """A run that a baseline pins."""

    baseline = models.ForeignKey(Baseline, on_delete=models.CASCADE, related_name="pins")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pins")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["baseline", "run"], name="one_pin_per_run")]

    def __str__(self) -> str:
        return f"the baseline “{self.baseline}”"


class BadgeLink(models.Model):
    """A secret address at which anybody sees how one test stands: a verdict in one word, and a line without numbers.

    An admin makes it, and takes it back. It shows `label` and nothing else that the team wrote.
    """

    token = models.CharField(max_length=32, primary_key=True)  # 128 random bits
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="badges")
    config_key = models.CharField(max_length=32)
    branch = models.CharField(max_length=120, blank=True)  # whose newest commit is judged; empty: the default branch
    baseline = models.CharField(max_length=80, blank=True)  # by name; empty: what the rule finds
    label = models.CharField(max_length=40)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.label


class StoredCurve(models.Model):
    """A sweep's last computed curve (`reports.compare.queries.curves`), packed, under the digest of its rows."""

    # Without a constraint: a sweep that is deleted while its curve is computed fails no page.
    sweep = models.OneToOneField(
        Sweep, on_delete=models.CASCADE, primary_key=True, related_name="+", db_constraint=False
    )
    key = models.CharField(max_length=80)
    curve = models.BinaryField()
    outline = models.BinaryField()  # the same without latencies, for lists

    def __str__(self) -> str:
        return f"curve of {self.sweep_id}"
