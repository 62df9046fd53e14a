"""What came out of a run: measurement sets, per-second series, raw artifacts, findings, and a team's thresholds."""

import math

from django.db import models
from django.db.models import Q, Value

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager
from benchsite.core.formatting import exact
from runs.models.plan import Purpose
from runs.models.run import ClientRun, Run


class LatencyKind(models.TextChoices):
    """From which moment a latency counts."""

    SERVICE = "service", "service time"  # from the call
    RESPONSE = "response", "response time"  # from the scheduled start (YCSB's "intended"); needs a target


class ThroughputBasis(models.TextChoices):
    """From what a throughput was computed; `runs.ycsb.summary_run` says when each applies."""

    WINDOW = "window", "the clients' common window"
    STATED = "stated", "what the client stated"
    SUM = "sum", "the sum of what the clients stated"


class MeasurementSet(Row):
    """One cut of a run: the window, how the clients were merged, and the run's own numbers.

    Cutting a run again makes a new number; the first stays, and so does every other. Of a run of which only summaries
    exist a count or the throughput may be unknown, and it may have no window.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="measurement_sets")
    number = models.PositiveSmallIntegerField(default=1)
    is_current = models.BooleanField(default=True)
    note = models.TextField(
        blank=True, default="", db_default=""
    )  # why it was cut or computed again; empty for the first
    warmup_s = models.FloatField(default=0)  # left out at the beginning of the clients' common time
    tail_s = models.FloatField(default=0, db_default=0)  # left out at its end
    window_from = models.DateTimeField(null=True, blank=True)
    window_to = models.DateTimeField(null=True, blank=True)
    window_s = models.FloatField(default=0)
    clients_merged = models.PositiveSmallIntegerField(default=0)
    clients_expected = models.PositiveSmallIntegerField(default=0)
    operations = models.PositiveBigIntegerField(null=True, blank=True)  # in the window, failed ones included
    failed = models.PositiveBigIntegerField(null=True, blank=True)
    throughput_ops_s = models.FloatField(null=True, blank=True)  # successful operations, on `basis`
    basis = models.CharField(
        max_length=8, choices=ThroughputBasis, default=ThroughputBasis.WINDOW, db_default=ThroughputBasis.WINDOW
    )
    throughput_sum_ops_s = models.FloatField(null=True, blank=True)  # sum of what the clients printed, whole runs
    throughput_wall_ops_s = models.FloatField(null=True, blank=True)  # all operations / from first start to last end
    overlap = models.FloatField(null=True, blank=True)  # common part of the clients' time over the whole of it
    clients = models.JSONField(default=list, blank=True)  # per client: number, throughput, runtime, start, operations
    # Of an open load: `runs.ycsb.arrivals.Arrivals.as_dict`.
    arrivals = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    # Of the client groups beside the ladder: `runs.results.recording.groups.GroupResult`.
    groups = models.JSONField(default=list, blank=True, db_default=Value([], models.JSONField()))
    # Servers and machines in the window: `runs.results.measures.server_use.summary`. Empty: not sampled.
    server_use = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    reader_version = models.PositiveSmallIntegerField(default=1)
    algorithm_version = models.PositiveSmallIntegerField(default=1)
    created_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_measurement_set_per_number"),
            models.UniqueConstraint(fields=["run"], name="one_current_measurement_set", condition=Q(is_current=True)),
        ]

    def __str__(self) -> str:
        return f"{self.run} measurement set {self.number}"

    @property
    def is_less_than_stated(self) -> bool:
        """Whether failed operations were taken from the throughput that the clients stated."""
        if self.throughput_ops_s is None or self.throughput_sum_ops_s is None:
            return False
        return not math.isclose(self.throughput_ops_s, self.throughput_sum_ops_s)


class Measurement(models.Model):
    """One operation of one measurement set, all clients merged; latencies in microseconds.

    A percentile that is only known to lie between two values has no value in its own column: `bounds` has them.
    """

    measurement_set = models.ForeignKey(MeasurementSet, on_delete=models.CASCADE, related_name="measurements")
    operation = models.CharField(max_length=60)  # READ, UPDATE, ... as YCSB names it
    latency_kind = models.CharField(max_length=10, choices=LatencyKind, default=LatencyKind.SERVICE)
    count = models.PositiveBigIntegerField(null=True, blank=True)  # ok + failed
    ok = models.PositiveBigIntegerField(null=True, blank=True)
    failed = models.PositiveBigIntegerField(null=True, blank=True)
    mean_us = models.FloatField(null=True)
    min_us = models.FloatField(null=True)
    max_us = models.FloatField(null=True)
    p50_us = models.FloatField(null=True)
    p90_us = models.FloatField(null=True)
    p95_us = models.FloatField(null=True)
    p99_us = models.FloatField(null=True)
    p999_us = models.FloatField(null=True)
    p9999_us = models.FloatField(null=True)
    # {"p99": [low µs, high µs or null: without bound]}
    bounds = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    # {"p99": µs}: what the percentile exceeds with a probability of at most 1 %, within this run; absent: not known
    upper_bounds = models.JSONField(default=dict, blank=True, db_default=Value({}, models.JSONField()))
    resolution_us = models.FloatField(null=True, blank=True)  # 1000: percentiles of 1 ms buckets; null: as HdrHistogram
    returns = models.JSONField(default=dict, blank=True)  # return code -> count, whole run, all clients

    class Meta:
        ordering = ["operation", "latency_kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["measurement_set", "operation", "latency_kind"], name="one_measurement_per_operation"
            )
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.latency_kind}"


class Series(models.Model):
    """One operation of a run per interval, all clients merged, packed: `runs.ycsb.series` reads and writes `data`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="series")
    operation = models.CharField(max_length=60)
    latency_kind = models.CharField(max_length=10, choices=LatencyKind, default=LatencyKind.SERVICE)
    interval_s = models.PositiveIntegerField(default=1)
    points = models.PositiveIntegerField()
    data = models.BinaryField()
    reader_version = models.PositiveSmallIntegerField(default=1)

    class Meta:
        verbose_name_plural = "series"
        constraints = [
            models.UniqueConstraint(
                fields=["run", "operation", "latency_kind", "interval_s"], name="one_series_per_operation"
            )
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.latency_kind} every {self.interval_s} s"


class Artifact(Row):
    """A file of a run, redacted before it was hashed; the content lies zstd-compressed under its SHA-256."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="artifacts")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="artifacts")
    client_run = models.ForeignKey(ClientRun, null=True, blank=True, on_delete=models.CASCADE, related_name="artifacts")
    kind = models.CharField(
        max_length=24
    )  # hdr, summary, stdout, stderr, properties, server_config, server_log, host, intervals
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, db_index=True)
    size = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "client_run", "kind", "name"], name="one_artifact_per_name", nulls_distinct=False
            )
        ]


class Finding(models.Model):
    """What one validity check says about a run's measurement set."""

    class Severity(models.TextChoices):
        PASS = "pass", "pass"
        INFO = "info", "info"
        WARN = "warn", "warn"
        REJECT = "reject", "reject"
        NOT_ASSESSED = "not_assessed", "not assessed"  # Never counts as a pass.

    measurement_set = models.ForeignKey(MeasurementSet, on_delete=models.CASCADE, related_name="findings")
    check_id = models.CharField(max_length=8)  # V01 .. V26, E01
    severity = models.CharField(max_length=12, choices=Severity)
    title = models.CharField(max_length=80)
    measured = models.CharField(max_length=120, blank=True)
    threshold = models.CharField(max_length=120, blank=True)
    message = models.TextField()
    remedy = models.TextField(blank=True)
    algorithm_version = models.PositiveSmallIntegerField(default=1)

    class Meta:
        ordering = ["check_id"]
        constraints = [models.UniqueConstraint(fields=["measurement_set", "check_id"], name="one_finding_per_check")]

    def __str__(self) -> str:
        return f"{self.check_id} {self.severity}"


class ThresholdOverride(Row):
    """One threshold of one team, for one purpose or for all of them. Runs judged from then on use it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="threshold_overrides")
    threshold = models.CharField(max_length=40)  # a name of `runs.checks.THRESHOLDS`
    purpose = models.CharField(max_length=10, choices=Purpose, blank=True)  # empty: every purpose
    value = models.FloatField()  # in the unit of the threshold; shares as fractions
    reason = models.TextField()
    changed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)
    objects = TeamManager()

    class Meta:
        ordering = ["threshold", "purpose"]
        constraints = [
            models.UniqueConstraint(fields=["team", "threshold", "purpose"], name="one_override_per_threshold"),
            models.CheckConstraint(condition=~Q(reason=""), name="threshold_override_has_a_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.threshold} = {exact(self.value)} of {self.team}"
