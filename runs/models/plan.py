"""What is to be benchmarked: machines and clusters, databases and workloads, and the matrix that crosses them."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Now

from benchsite.accounts.models import Row, Team, User
from benchsite.accounts.tenancy import TeamManager
from benchsite.core.addresses import split_address
from runs.catalog import Mode, count_copies, count_servers, load_catalog
from runs.models.client_properties import ClientPropertiesField
from runs.results.fact_validation import readable_facts
from runs.timeouts import CONDUCTOR_SILENT_AFTER

if TYPE_CHECKING:
    from runs.models.run import Run


class FactsField(models.JSONField):
    """Facts of a machine. What was stored unchecked by an earlier release and is no fact is not read."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        facts = super().from_db_value(value, expression, connection)
        if isinstance(expression, KeyTransform):
            return facts
        return readable_facts(facts)

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.JSONField", arguments, options  # The column is no other.


class Machine(Row):
    """One host. Leases are on machines, so two clusters that share a host never run together.

    `facts` maps a name (cores, memory_bytes, kernel, disk, fsync_us, ...) to {"value": ..., "how": observed|stated}.
    Machines belong to the site; `teams` restricts one to some teams, empty means everybody.
    """

    name = models.CharField(max_length=80, unique=True)
    host_key = models.CharField(max_length=80, unique=True, null=True, blank=True)  # what a worker there calls itself
    facts = FactsField(default=dict, blank=True)
    teams = models.ManyToManyField(Team, blank=True, related_name="machines")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]


class Provisioner(models.TextChoices):
    """Who starts and stops the servers of a cluster."""

    EXTERNAL = "external", "external"  # Somebody else: the servers already run.
    DOCKER = "docker", "docker"  # Containers on the cluster's machines.
    PROCESS = "process", "process"  # Plain processes on the conductor's own machine, or below load generators.


class Cluster(Row):
    """The machines that a database under test runs on."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="clusters")
    name = models.CharField(max_length=80)
    provisioner = models.CharField(max_length=10, choices=Provisioner)
    # Where clients run on a machine of servers that Benchsite starts, each side gets half of the cores.
    separates_cpus = models.BooleanField(default=True, db_default=True)
    # URLs of Prometheus or OpenMetrics exporters, which are scraped while runs on this cluster measure.
    exporters = ArrayField(models.CharField(max_length=300), default=list, db_default=[], blank=True)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_cluster_per_team_and_name")]

    def active_run(self) -> "Run | None":
        """The run that holds this cluster's machines. While there is one, a trigger refuses changes of its nodes."""
        return self.runs.filter(status__in=["dispatched", "running"]).first()

    @property
    def addresses(self) -> list[str]:
        """Where servers listen: of an external cluster as host:port, of a spread one as host; none of others."""
        return [node.address for node in self.nodes.all() if node.address]

    @property
    def is_spread(self) -> bool:
        """Whether load generators start its servers, one on each machine at the address of its node."""
        return self.provisioner == Provisioner.PROCESS and bool(self.addresses)

    def list_ports(self, default_port: int) -> list[int]:
        """The ports of an external cluster's servers."""
        return [split_address(address, default_port)[1] for address in self.addresses]

    @property
    def address(self) -> str:
        """That of the first server; empty where there is none."""
        return next(iter(self.addresses), "")


class DataConfirmation(models.Model):
    """The owner of an external server lets Benchsite write and delete in one target that holds other data."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="data_confirmations")
    target = models.CharField(max_length=500)  # `runs.catalog.data_target`: the address, and where on the server
    confirmed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    confirmed_at = models.DateTimeField(db_default=Now())
    # Of the data set that was loaded since, where Benchsite cannot look into the target; empty: none.
    fingerprint = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "target"], name="one_confirmation_per_cluster_and_target")
        ]

    def __str__(self) -> str:
        return self.target


class Node(models.Model):
    """One machine's place in a cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    machine = models.ForeignKey(Machine, on_delete=models.PROTECT, related_name="nodes")
    position = models.PositiveSmallIntegerField(default=0)
    # Host or host:port for external clusters, host for those that load generators start.
    address = models.CharField(max_length=200, blank=True)
    # The name of the server's program, where nothing tells which process of this machine listens at the address.
    program = models.CharField(max_length=80, blank=True, default="", db_default="")

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["cluster", "position"], name="one_node_per_position")]

    def __str__(self) -> str:
        return f"{self.cluster} node {self.position}"


class LoadGenerator(Row):
    """One Celery worker with its own queue that runs YCSB clients, normally one per machine.

    The worker itself writes this row when it starts: `bindings` maps a binding to the digest over its jars.
    """

    name = models.SlugField(max_length=60, unique=True)
    machine = models.ForeignKey(Machine, on_delete=models.PROTECT, related_name="load_generators")
    slots = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])  # client runs at a time
    bindings = models.JSONField(default=dict, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    # How much longer than others it may be silent: a large fleet gives fewer signs of life each.
    extra_silence = models.DurationField(default=timedelta, db_default=timedelta())
    # It did not start a client: it gets no run until it passes a probe, or an operator releases it.
    quarantined_at = models.DateTimeField(null=True, blank=True)
    quarantine_reason = models.TextField(blank=True, default="", db_default="")
    # binding -> what clients with it can generate here at most: `runs.queue.bindings.Capacity`.
    capacity = models.JSONField(default=dict, blank=True, db_default={})
    calibration_requested_at = models.DateTimeField(null=True, blank=True)  # until it has ended
    calibration_error = models.TextField(blank=True, default="", db_default="")  # of the last one
    # An operator lets another host register this name.
    may_move = models.BooleanField(default=False, db_default=False)
    teams = models.ManyToManyField(Team, blank=True, related_name="load_generators")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    @property
    def queue(self) -> str:
        """The Celery queue that only this generator listens to."""
        return f"load.{self.name}"


class Conductor(models.Model):
    """One process that carries out runs. It writes this row itself; its servers and claims go with it.

    The id is kept in a file on its host, so that a conductor that is started again knows its earlier life's claims.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    name = models.CharField(max_length=200)  # the host's name and the number of the process there
    host_key = models.CharField(max_length=80)  # of its machine (`Machine.host_key`)
    capacity = models.PositiveSmallIntegerField(default=1)  # runs at a time
    started_at = models.DateTimeField(db_default=Now())
    last_seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def living(cls) -> "models.QuerySet[Conductor]":
        return cls.objects.filter(last_seen_at__gt=Now() - CONDUCTOR_SILENT_AFTER)


class Database(Row):
    """One configured system on one cluster. Which durability modes it knows is the catalog's business."""

    class Flavour(models.TextChoices):
        """Which YCSB client drives it."""

        BENCHSITE = "benchsite", "Benchsite's bindings"
        YCSB = "ycsb", "a stock YCSB distribution"
        GO_YCSB = "go-ycsb", "go-ycsb"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="databases")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="databases")
    name = models.CharField(max_length=80)
    system = models.CharField(max_length=40)  # a slug of the catalog
    version = models.CharField(max_length=40, blank=True)  # as stated; the server's own answer is kept with each run
    replication_factor = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    settings = models.JSONField(default=dict, blank=True)  # server settings that hold in every mode
    binding_properties = ClientPropertiesField(default=dict, blank=True)  # that hold in every mode
    # Durability modes that its owner stated: slug -> `runs.catalog.OwnMode`.
    own_modes = models.JSONField(default=dict, db_default={}, blank=True)
    flavour = models.CharField(max_length=10, choices=Flavour, default=Flavour.BENCHSITE)
    # As load generators register it ("ycsb-0.17.0/redis", "go-ycsb-1.0.3/redis"); empty: Benchsite's own.
    client = models.CharField(max_length=120, blank=True, default="", db_default="")
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_database_per_team_and_name")]

    def count_servers(self) -> int:
        """The nodes of its cluster. One query, unless they were fetched before."""
        system = load_catalog().systems.get(self.system)
        return count_servers(system, self.cluster.provisioner, self.settings, len(self.cluster.nodes.all()))

    def count_copies(self) -> int:
        """Of each record, on its servers."""
        system = load_catalog().systems.get(self.system)
        return count_copies(system, self.count_servers(), self.replication_factor)

    def has_copies_for(self, mode: Mode) -> bool:
        """Whether it has as many other copies as the mode waits for."""
        return self.count_copies() > mode.replicas_needed


class Workload(Row):
    """Operation mix, request distribution and data set, as YCSB properties (strings, as YCSB reads them)."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="workloads")
    name = models.CharField(max_length=80)
    short_name = models.CharField(max_length=12)  # "A" in "redis always A 16t r1"
    properties = models.JSONField(default=dict)
    notes = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    objects = TeamManager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="one_workload_per_team_and_name")]


class Purpose(models.TextChoices):
    """Why a matrix is run. It chooses the thresholds of the validity checks."""

    SMOKE = "smoke", "smoke"  # Does it run at all?
    DEMO = "demo", "demo"  # Shapes on one machine, never numbers to publish.
    TUNING = "tuning", "tuning"  # Looking for settings.
    MEASURED = "measured", "measured"  # To be compared and published.
    SOAK = "soak", "soak"  # Hours, to see what drifts.


def get_usual_patience_ms() -> float:
    return 1.0


class Matrix(Row):
    """Databases x durability modes x workloads x load ladder x repeats, minus exclusions plus overrides: the plan.

    `exclusions` is a list of {"match": {axis: value}, "reason": text}; `overrides` of {"match": ..., "set": {...}}.
    The axes are database (id), mode, workload (id), rung and repeat; `runs.plans` gives both their meaning.
    """

    class Ladder(models.TextChoices):
        THREADS = "threads", "threads"  # Each rung is a total number of client threads, unthrottled.
        TARGET = "target", "target throughput"  # Each rung is a total ops/s offered; `threads` serves all of them.

    class Order(models.TextChoices):
        AS_LISTED = "as_listed", "as listed"
        # Data set by data set, then repeat by repeat, and within it rung by rung over all sweeps.
        INTERLEAVED = "interleaved", "interleaved"
        RANDOMISED = "randomised", "randomised"  # Cells of a repeat in random order, from `seed`.

    class LoadPolicy(models.TextChoices):
        LOAD = "load", "load once per mode"
        REUSE = "reuse", "reuse what is loaded, else load"
        EXISTING = "existing", "existing data, no load"

    class Reset(models.TextChoices):
        KEEP = "keep", "keep"
        RESTART = "restart", "restart the server"
        DROP_CACHES = "drop_caches", "drop caches"
        RELOAD = "reload", "reload the data"
        REPROVISION = "reprovision", "provision anew"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="matrices")
    name = models.CharField(max_length=120)
    purpose = models.CharField(max_length=10, choices=Purpose, default=Purpose.MEASURED)
    workloads = models.ManyToManyField(Workload, related_name="matrices")
    load_generators = models.ManyToManyField(LoadGenerator, related_name="matrices")
    processes_per_generator = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1)])
    ladder = models.CharField(max_length=10, choices=Ladder, default=Ladder.THREADS)
    rungs = ArrayField(models.PositiveIntegerField(validators=[MinValueValidator(1)]), default=list)
    threads = models.PositiveIntegerField(null=True, blank=True)  # of a target ladder: the total on every rung
    # Empty: each thread waits for its answer (closed). Else an open load, of `runs.plans.plan_spec.ARRIVALS`.
    arrivals = models.CharField(max_length=10, default="", db_default="", blank=True)
    patience_ms = models.JSONField(default=get_usual_patience_ms, db_default=1.0)  # or "never"
    profile = models.JSONField(default=list, db_default=[], blank=True)  # [[second of the window, % of the rung], ...]
    # Null: the rungs are fixed. Else the ceiling is searched for (`runs.queue.spec.SearchSpec`).
    search = models.JSONField(null=True, blank=True)
    # Of fixed rungs: two beyond saturation, the rest of the sweep is skipped.
    stops_early = models.BooleanField(default=False, db_default=False)
    repeats = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(50)])
    # Numbers of repeats after which verdicts are taken, ascending: 3, 5, 9. `repeats` of them are submitted at first.
    looks = ArrayField(models.PositiveIntegerField(), default=list, db_default=[], blank=True)
    order = models.CharField(max_length=12, choices=Order, default=Order.AS_LISTED)
    seed = models.PositiveIntegerField(default=1)
    exclusions = models.JSONField(default=list, blank=True)
    overrides = models.JSONField(default=list, blank=True)
    load_policy = models.CharField(max_length=10, choices=LoadPolicy, default=LoadPolicy.LOAD)
    load_threads = models.PositiveIntegerField(default=8, validators=[MinValueValidator(1)])
    # What is reset between rungs, repeats, workloads and modes: {"rung": "keep", ...}.
    resets = models.JSONField(default=dict, blank=True)
    # A rung lasts at least `min_measure_s` and until `min_operations` are done, at most `max_measure_s`.
    warmup_s = models.PositiveIntegerField(default=60)
    # The warm-up goes on until throughput is steady, and servers may end their background work before: at most so long.
    settle_s = models.PositiveIntegerField(default=0, db_default=0)
    # Clients use the database so long before the first run of a ladder, and after a load or a start; unmeasured.
    priming_s = models.PositiveIntegerField(default=0, db_default=0)
    priming_reads = models.BooleanField(default=False, db_default=False)
    min_measure_s = models.PositiveIntegerField(default=180, validators=[MinValueValidator(1)])
    max_measure_s = models.PositiveIntegerField(default=180, validators=[MinValueValidator(1)])
    min_operations = models.PositiveBigIntegerField(default=0)
    faults = models.JSONField(
        default=list, db_default=[], blank=True
    )  # of every measured run: `runs.queue.spec.FaultSpec`
    builds = models.JSONField(default=list, db_default=[], blank=True)  # an axis: `runs.queue.spec.BuildSpec`
    groups = models.JSONField(default=list, db_default=[], blank=True)  # of `runs.plans.plan_spec.PlanGroup`
    # An axis: with the first so many of the load generators. Empty: with all of them.
    generator_counts = ArrayField(models.PositiveIntegerField(), default=list, db_default=[], blank=True)
    bracket = models.BooleanField(
        default=False, db_default=False
    )  # the first cell once more at the end: is there drift?
    # The plan that this matrix tries before it is submitted: every cell for seconds over a small data set of its own.
    trial_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="trials")
    priority = models.SmallIntegerField(default=0)
    notes = models.TextField(blank=True)
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)  # lists leave it out from then on
    objects = TeamManager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "matrices"
        constraints = [
            models.CheckConstraint(
                condition=Q(max_measure_s__gte=models.F("min_measure_s")), name="measure_at_most_after_least"
            )
        ]


class MatrixEntry(models.Model):
    """One database in one durability mode, as a row of a matrix."""

    matrix = models.ForeignKey(Matrix, on_delete=models.CASCADE, related_name="entries")
    database = models.ForeignKey(Database, on_delete=models.PROTECT, related_name="entries")
    mode = models.SlugField(max_length=40)  # a mode of the database's system, by the catalog
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["matrix", "database", "mode"], name="one_entry_per_database_and_mode")
        ]

    def __str__(self) -> str:
        return f"{self.database} {self.mode}"
