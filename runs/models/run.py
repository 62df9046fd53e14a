"""What happened: sweeps, runs and client runs, the servers that stood, and every transition between."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager
from runs.models.client_properties import ClientOrderField
from runs.models.plan import Cluster, Conductor, Database, LoadGenerator, Matrix, Purpose, Workload
from runs.models.upload import Upload
from runs.queue.reasons import Reason

# A run's place in histories: when its code was committed, else when it was measured.
HISTORY_AT: Final = Coalesce("committed_at", "finished_at")


class Phase(models.TextChoices):
    LOAD = "load", "load"  # The data set is written.
    MEASURE = "measure", "measure"  # The operation mix runs over it.


CANCELLING = "cancelling"  # What pages show of a run that ends because of a request; not a stored status.


class Status(models.TextChoices):
    """Where a run is. `Reason` says why it ended there; terminal states never change."""

    QUEUED = "queued", "queued"  # Waits for its machines.
    DISPATCHED = "dispatched", "dispatched"  # Holds its leases; its message is on the conductor's queue.
    RUNNING = "running", "running"  # A conductor has claimed it.
    SUCCEEDED = "succeeded", "succeeded"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"

    @classmethod
    def terminal(cls) -> tuple["Status", ...]:
        return (cls.SUCCEEDED, cls.FAILED, cls.CANCELLED)

    @classmethod
    def unfinished(cls) -> tuple["Status", ...]:
        return (cls.QUEUED, cls.DISPATCHED, cls.RUNNING)


class Stage(models.TextChoices):
    """How far a running run has come."""

    NONE = "", "not started"
    # Benchsite starts it, or connects to the server of somebody else.
    PROVISIONING = "provisioning", "waiting for the server"
    LOADING = "loading", "loading the data set"
    PREPARING = "preparing", "starting the clients"
    MEASURING = "measuring", "measuring"
    COLLECTING = "collecting", "collecting and merging"  # From here on the run no longer uses its cluster.
    JUDGING = "judging", "judging"
    DONE = "done", "done"


class Verdict(models.TextChoices):
    """The worst finding of the validity checks."""

    NONE = "", "not judged"
    PASS = "pass", "pass"
    WARN = "warn", "warn"
    REJECT = "reject", "reject"


class Sweep(Row):
    """One curve: one database in one mode under one workload, over its load ladder. Null parents: uploaded."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="sweeps")
    matrix = models.ForeignKey(Matrix, null=True, blank=True, on_delete=models.PROTECT, related_name="sweeps")
    database = models.ForeignKey(Database, null=True, blank=True, on_delete=models.SET_NULL, related_name="sweeps")
    workload = models.ForeignKey(Workload, null=True, blank=True, on_delete=models.SET_NULL, related_name="sweeps")
    phase = models.CharField(max_length=8, choices=Phase, default=Phase.MEASURE)
    name = models.CharField(max_length=200)  # "redis always A"
    system = models.CharField(max_length=40)
    mode = models.CharField(max_length=40)
    purpose = models.CharField(max_length=10, choices=Purpose)
    ladder = models.CharField(max_length=10, choices=Matrix.Ladder, default=Matrix.Ladder.THREADS)
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    # Copies of the first run's spec (`runs.results.denormalised_columns.sweep_columns`), for lists and facets.
    database_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    version = models.CharField(max_length=120, blank=True, default="", db_default="")
    workload_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    cluster_name = models.CharField(max_length=120, blank=True, default="", db_default="")
    nodes = models.PositiveSmallIntegerField(null=True, blank=True)
    durability_class = models.CharField(max_length=120, blank=True, default="", db_default="")
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at", "name"]
        indexes = [models.Index(fields=["team", "-created_at"]), GinIndex(fields=["tags"], name="sweep_tags")]

    @classmethod
    def lock(cls, pk: UUID) -> Self:
        """The sweep with its matrix, locked in the open transaction. Rows that refer to it may be inserted."""
        return cls.objects.select_related("matrix").select_for_update(of=("self",), no_key=True).get(pk=pk)

    @property
    def measured_runs(self) -> models.QuerySet["Run"]:
        """Without loads and brackets."""
        return self.runs.filter(phase=Phase.MEASURE, is_bracket=False)


class Run(Row):
    """One measured point: one rung of a sweep, one repeat. Only `runs.queue.lifecycle` writes `status`.

    `spec` is what was submitted, immutable (a trigger in the database sees to it) but for names and machines while the
    run is queued: pages, comparisons and verdicts read it, never today's Database. Its shape is
    `runs.queue.spec.RunSpec`.
    """

    class Source(models.TextChoices):
        SCHEDULED = "scheduled", "scheduled"
        UPLOADED = "uploaded", "uploaded"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="runs")
    sweep = models.ForeignKey(Sweep, null=True, blank=True, on_delete=models.PROTECT, related_name="runs")
    matrix = models.ForeignKey(Matrix, null=True, blank=True, on_delete=models.PROTECT, related_name="runs")
    cluster = models.ForeignKey(Cluster, null=True, blank=True, on_delete=models.PROTECT, related_name="runs")
    load_generators = models.ManyToManyField(LoadGenerator, blank=True, related_name="runs")
    source = models.CharField(max_length=10, choices=Source, default=Source.SCHEDULED)
    upload = models.ForeignKey(Upload, null=True, blank=True, on_delete=models.PROTECT, related_name="runs")
    phase = models.CharField(max_length=8, choices=Phase, default=Phase.MEASURE)
    name = models.CharField(max_length=200)  # "redis always A 16t r1"
    spec = models.JSONField()

    # Copies of what `spec` says, for lists and filters.
    system = models.CharField(max_length=40)
    mode = models.CharField(max_length=40)
    workload_name = models.CharField(max_length=80)
    purpose = models.CharField(max_length=10, choices=Purpose)
    threads = models.PositiveIntegerField(default=1)  # the total over all clients
    target_ops_s = models.PositiveIntegerField(null=True, blank=True)  # the total over all clients
    repeat = models.PositiveSmallIntegerField(default=1)
    # The first cell of a matrix once more at its end: it tells the drift, and is part of no point.
    is_bracket = models.BooleanField(default=False, db_default=False)
    # Its test (`runs.results.denormalised_columns.config_key`), and which code was measured.
    config_key = models.CharField(max_length=32, blank=True, default="", db_default="")
    commit = models.CharField(max_length=64, blank=True, default="", db_default="")
    branch = models.CharField(max_length=120, blank=True, default="", db_default="")
    committed_at = models.DateTimeField(null=True, blank=True)  # as stated; its place in histories
    # The CI job or other occasion that an upload was measured in; empty: not stated.
    session = models.CharField(max_length=200, blank=True, default="", db_default="")

    # Its place in the queue.
    position = models.PositiveIntegerField(default=0)  # within its matrix
    priority = models.SmallIntegerField(default=0)
    needs = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="needed_by")
    rerun_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns")
    # Queued by Benchsite itself because the infrastructure broke the run that it repeats (`rerun_of`).
    is_retry = models.BooleanField(default=False, db_default=False)
    expected_s = models.FloatField(default=0)
    # The same for all runs with the same load generators (`runs.catalog.generators.generator_key`).
    generator_key = models.CharField(max_length=32, blank=True, default="", db_default="")
    reserved_at = models.DateTimeField(null=True, blank=True)  # since when the machines it waits for are reserved

    # Where it is.
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    stage = models.CharField(max_length=12, choices=Stage, default=Stage.NONE, blank=True)
    reason = models.CharField(max_length=24, choices=Reason, default=Reason.NONE, blank=True)
    reason_detail = models.TextField(blank=True)
    # When a client's output came after the end, or may have: a conductor then looks whether the run is complete.
    late_output_at = models.DateTimeField(null=True, blank=True)
    claim = models.UUIDField(null=True, blank=True)
    conductor = models.ForeignKey(Conductor, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    dispatched_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    starts_at = models.DateTimeField(
        null=True, blank=True
    )  # the instant at which all clients begin, PostgreSQL's clock
    ends_at = models.DateTimeField(null=True, blank=True)  # so do they end; null: when their time is up
    evidence = models.JSONField(default=dict, blank=True)  # mode read back before and after, server version, disk probe

    # What came out, copied from the current measurement set.
    verdict = models.CharField(max_length=8, choices=Verdict, default=Verdict.NONE, blank=True)
    checks = models.PositiveSmallIntegerField(null=True, blank=True)  # that apply to it
    checks_assessed = models.PositiveSmallIntegerField(null=True, blank=True)  # of them: those that had their data
    throughput_ops_s = models.FloatField(null=True, blank=True)

    # "vendor mock" or "wire stand-in" where the server said that it is not the product: such a run never counts.
    stand_in = models.CharField(max_length=20, blank=True, default="", db_default="")

    # What people say about it.
    excluded_reason = models.TextField(blank=True)  # empty: not excluded
    excluded_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    excluded_at = models.DateTimeField(null=True, blank=True)
    verdict_override = models.TextField(blank=True)  # the written reason for counting a rejected run
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    notes = models.TextField(blank=True)
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at", "position"]
        indexes = [
            # In the order of most lists, with what they filter by: what is filtered out is not even read.
            models.Index(
                fields=[
                    "team",
                    "-created_at",
                    "phase",
                    "system",
                    "mode",
                    "workload_name",
                    "purpose",
                    "status",
                    "verdict",
                    "source",
                ],
                name="run_list",
            ),
            models.Index(fields=["sweep", "threads", "repeat"]),
            models.Index(fields=["matrix", "position"]),
            models.Index("team", "config_key", HISTORY_AT, name="run_history"),
            # The queue in its order, with all that its pages count and add up.
            models.Index(
                fields=["-priority", "created_at", "position"],
                include=["id", "team", "matrix", "cluster", "generator_key", "expected_s"],
                name="run_waiting",
                condition=Q(status="queued", source="scheduled"),
            ),
            # The same for each lane: a cluster with a set of load generators.
            models.Index(
                fields=["cluster", "generator_key", "-priority", "created_at", "position"],
                name="run_lane",
                condition=Q(status="queued", source="scheduled"),
            ),
            models.Index(
                fields=["reserved_at"], name="run_reserved", condition=Q(status="queued", reserved_at__isnull=False)
            ),
            models.Index(fields=["team", "dispatched_at"], name="run_served", condition=Q(dispatched_at__isnull=False)),
            models.Index(fields=["late_output_at"], name="run_late_output", condition=Q(late_output_at__isnull=False)),
            # What conductors look for, in however long a queue.
            models.Index(fields=["dispatched_at"], name="run_dispatched", condition=Q(status=Status.DISPATCHED)),
            GinIndex(fields=["tags"], name="run_tags"),
            # What the list of runs sorts and filters by, when there are a million.
            models.Index(F("team"), F("throughput_ops_s").desc(nulls_last=True), name="run_fastest"),
            models.Index(F("team"), F("throughput_ops_s").asc(nulls_last=True), name="run_slowest"),
            models.Index(fields=["team", "name", "-created_at"], name="run_name"),
            models.Index(fields=["team", "-finished_at"], name="run_ended", condition=Q(status="succeeded")),
            models.Index(
                fields=["team", "status", "-created_at"], name="run_not_succeeded", condition=~Q(status="succeeded")
            ),
            # With what lists filter by beside it, so that counting them reads no row.
            models.Index(
                fields=["team", "verdict", "-created_at"],
                include=["id", "phase", "system", "mode", "workload_name", "purpose", "source"],
                name="run_not_passed",
                condition=~Q(verdict="pass"),
            ),
            models.Index(fields=["team", "-created_at"], name="run_excluded", condition=~Q(excluded_reason="")),
            models.Index(fields=["team", "-created_at"], name="run_tagged", condition=~Q(tags=[])),
            models.Index(fields=["team", "-created_at"], name="run_noted", condition=~Q(notes="")),
            models.Index(fields=["team", "-created_at"], name="run_explained", condition=~Q(reason_detail="")),
            models.Index(
                fields=["commit"], name="run_commit", opclasses=["varchar_pattern_ops"], condition=~Q(commit="")
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="run_finished_at_with_its_end",
                condition=Q(status__in=Status.terminal(), finished_at__isnull=False)
                | (~Q(status__in=Status.terminal()) & Q(finished_at__isnull=True)),
            ),
            # The scheduler adds it to times: a value beyond every duration would stop it for all teams.
            models.CheckConstraint(
                name="run_expected_s_is_a_duration", condition=Q(expected_s__gte=0, expected_s__lte=1e9)
            ),
            models.CheckConstraint(
                name="run_running_has_claim_and_heartbeat",
                condition=~Q(status=Status.RUNNING) | Q(claim__isnull=False, heartbeat_at__isnull=False),
            ),
            models.CheckConstraint(
                name="run_scheduled_has_sweep_and_cluster",
                condition=Q(source="uploaded") | Q(sweep__isnull=False, cluster__isnull=False, matrix__isnull=False),
            ),
            models.CheckConstraint(
                name="run_reason_when_not_succeeded",
                condition=~Q(status__in=[Status.FAILED, Status.CANCELLED]) | ~Q(reason=""),
            ),
            # Two benchmarks never load one cluster at once, whatever the leases say.
            models.UniqueConstraint(
                fields=["cluster"],
                name="one_loading_run_per_cluster",
                condition=Q(status__in=[Status.DISPATCHED, Status.RUNNING])
                & ~Q(stage__in=[Stage.COLLECTING, Stage.JUDGING]),
            ),
            models.UniqueConstraint(fields=["rerun_of"], name="one_retry_per_run", condition=Q(is_retry=True)),
            models.UniqueConstraint(
                fields=["sweep", "threads", "target_ops_s", "repeat"],
                name="one_run_per_rung_and_repeat",
                nulls_distinct=False,
                condition=Q(source="scheduled"),
            ),
        ]

    duplicate_of: "Run | None"  # What pages know of it beside its columns: the first run of the same output.

    @property
    def display_status(self) -> str:
        """The status for pages: "cancelling" from the request to cancel until the run ends."""
        if self.status not in Status.terminal() and self.cancel_requested_at:
            return CANCELLING
        return self.status

    @property
    def load(self) -> int:
        """The rung's own number: the target in ops/s of a target ladder, else the threads."""
        return self.target_ops_s or self.threads

    @property
    def history_at(self) -> datetime | None:
        """As `HISTORY_AT`."""
        return self.committed_at or self.finished_at

    @property
    def counts_although_rejected(self) -> bool:
        """Whether somebody wrote down why it counts although a check rejects it."""
        return self.verdict == Verdict.REJECT and bool(self.verdict_override)

    @property
    def counts(self) -> bool:
        """Whether it is part of its point: succeeded, not excluded, and not rejected unless somebody wrote why."""
        is_rejected = self.verdict == Verdict.REJECT and not self.verdict_override
        return self.status == Status.SUCCEEDED and not self.excluded_reason and not is_rejected


class SearchDecision(models.Model):
    """One step of a search: the run that it ordered and by which rule, or the end (`run` is null).

    `low` and `high` are the bounds as they were before that run, in ops/s or threads (`Sweep.ladder`).
    """

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="decisions")
    number = models.PositiveSmallIntegerField()
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="decisions")
    rule = models.CharField(max_length=12)  # `runs.results.measures.search.Rule`
    state = models.CharField(max_length=24)  # `runs.results.measures.search.State`
    sentence = models.TextField()
    low = models.PositiveBigIntegerField(null=True)
    high = models.PositiveBigIntegerField(null=True)
    value_ops_s = models.FloatField(null=True)  # of the end: the ceiling
    decided_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["sweep", "number"], name="one_search_decision_per_number")]

    def __str__(self) -> str:
        return f"{self.sweep} {self.number}: {self.rule}"


class ClientRun(Row):
    """One YCSB process of a run, on one load generator."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"  # Its message is on the generator's queue.
        STARTING = "starting", "starting"  # Claimed: the JVM is coming up.
        READY = "ready", "ready"  # Connected, waits for the agreed instant.
        RUNNING = "running", "running"
        STORING = "storing", "storing"  # Its process has ended; its output is being stored.
        FINISHED = "finished", "finished"  # Its output is stored.
        FAILED = "failed", "failed"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="client_runs")
    load_generator = models.ForeignKey(LoadGenerator, null=True, on_delete=models.PROTECT, related_name="client_runs")
    number = models.PositiveSmallIntegerField()  # 0 .. generators x processes - 1, over the whole run
    process_number = models.PositiveSmallIntegerField(default=0)  # on its generator
    # The client group of `runs.queue.spec.GroupSpec`; empty: that of the ladder.
    group = models.CharField(max_length=40, blank=True, default="", db_default="")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    reason = models.CharField(max_length=24, choices=Reason, default=Reason.NONE, blank=True)
    reason_detail = models.TextField(blank=True)
    order = ClientOrderField()  # what this client is to do; `runs.queue.spec.ClientOrder`
    claim = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    ready_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)  # when its process group was gone
    output_stored_at = models.DateTimeField(null=True, blank=True)  # when every file that it wrote was stored
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    command = ArrayField(models.TextField(), default=list, blank=True)  # redacted
    exit_code = models.IntegerField(null=True, blank=True)
    operations = models.PositiveBigIntegerField(null=True, blank=True)  # in the window so far, where they end the run
    clock_offset_s = models.FloatField(null=True, blank=True)  # PostgreSQL's clock minus the generator's
    cpu_percent = models.FloatField(null=True, blank=True)  # of one core, over the measured part, mean
    facts = models.JSONField(default=dict, blank=True)  # host, pid, java version, binding digest as found

    class Meta:
        ordering = ["number"]
        indexes = [
            # What each load generator is doing now: a few rows of millions.
            models.Index(
                fields=["load_generator"],
                name="client_run_active",
                condition=Q(state__in=["starting", "ready", "running", "storing"]),
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_client_run_per_number"),
            models.CheckConstraint(
                name="client_run_finished_at_with_its_end",
                condition=Q(state__in=["finished", "failed"], finished_at__isnull=False)
                | (~Q(state__in=["finished", "failed"]) & Q(finished_at__isnull=True)),
            ),
        ]

    # What the page of the run knows of it beside its columns.
    merged: Mapping[str, Any]
    start_offset_s: float | None
    shown_properties: list[tuple[str, str]]

    def __str__(self) -> str:
        return f"{self.run} client {self.number}"

    @property
    def command_line(self) -> str:
        return shlex.join(self.command)

    @property
    def clock_offset_ms(self) -> float | None:
        if self.clock_offset_s is None:
            return None
        return self.clock_offset_s * 1e3


class Deployment(Row):
    """What stands: one database in one mode on its cluster, with its data folder and what was loaded into it.

    At most one is up per cluster. Each (matrix, database, mode) keeps its own, so modes can be interleaved.
    """

    class State(models.TextChoices):
        DOWN = "down", "down"
        STARTING = "starting", "starting"
        UP = "up", "up"
        STOPPING = "stopping", "stopping"
        GONE = "gone", "gone"  # Its data folder was removed.

        @classmethod
        def running(cls) -> tuple["Deployment.State", ...]:
            """Those in which a server's process may exist."""
            return (cls.STARTING, cls.UP, cls.STOPPING)

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="deployments")
    database = models.ForeignKey(Database, on_delete=models.PROTECT, related_name="deployments")
    matrix = models.ForeignKey(Matrix, null=True, on_delete=models.PROTECT, related_name="deployments")
    mode = models.SlugField(max_length=40)
    build = models.CharField(max_length=40, blank=True, default="", db_default="")  # the name of an own build
    state = models.CharField(max_length=10, choices=State, default=State.DOWN)
    # Whose process owns the server; null: external, or not up.
    conductor = models.ForeignKey(
        Conductor, null=True, blank=True, on_delete=models.SET_NULL, related_name="deployments"
    )
    folder = models.TextField(blank=True)  # on the machine that runs the server
    host = models.CharField(max_length=200, blank=True)
    port = models.PositiveIntegerField(null=True, blank=True)
    process = models.JSONField(default=dict, blank=True)  # pid, start time and token of the server's guardian
    server_version = models.CharField(max_length=80, blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)  # of the loaded data set; empty: none
    rows_loaded = models.PositiveBigIntegerField(null=True, blank=True)
    dirtied = models.BooleanField(default=False)  # written to since it was loaded
    verified = models.JSONField(default=dict, blank=True)  # the mode as last read back from the server
    disk = models.JSONField(default=dict, blank=True)  # the write + fdatasync probe of the data folder
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                name="one_deployment_up_per_cluster",
                condition=Q(state__in=["starting", "up", "stopping"]),
            ),
            models.UniqueConstraint(
                fields=["matrix", "database", "mode", "build"],
                name="one_deployment_per_matrix_and_mode",
                condition=~Q(state="gone"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.database} {self.mode} ({self.state})"


class RunEvent(models.Model):
    """One thing that happened to a run: every transition of its status, and what its conductor noted."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=40)  # "status", "stage", or a word of the conductor's
    old = models.CharField(max_length=40, blank=True)
    new = models.CharField(max_length=40, blank=True)
    actor = models.CharField(max_length=80, blank=True)
    text = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.run}: {self.kind} {self.old} {self.new}"
