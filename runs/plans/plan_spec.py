"""The fields of a plan with their limits and texts, for the builder, the REST API, plan files and the expansion."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from benchsite.core.formatting import exact
from benchsite.rest.schemas import Text, plain
from runs.builds import MAX_BUILDS, Artifact, Commit, CommitTime, Link
from runs.models import LatencyKind, Matrix, Purpose
from runs.plans import sizes
from runs.plans.faults import KINDS, MAX_FAULTS
from runs.plans.messages import ALWAYS_ZERO, NO_PAIR, NOT_A_CHOICE, PERCENT_OUTSIDE, SECONDS_ASCEND, TOO_MANY_POINTS
from runs.queue.spec import MAX_CURVE_PERCENT, MAX_TRIALS_LIMIT, SLO_OPERATIONS, SLO_STATISTICS
from runs.results.measures.search import MAX_SLO_TRIALS, MAX_TRIALS, WIDTH
from runs.results.measures.sustained_load import MAX_ERRORS
from runs.ycsb.property_schema import unknown_name

MAX_INTEGER: Final = 2_147_483_647
MAX_RUNGS: Final = 60
MAX_TAGS: Final = 20
MAX_TAG_LENGTH: Final = 40
MAX_THREADS: Final = 100_000
MAX_SECONDS: Final = 604_800
MIN_OPERATIONS: Final = "min_operations"  # a column that overrides may change
MAX_OPERATIONS: Final = 2**62
MAX_SETTLE_S: Final = 3_600
MAX_PRIMING_S: Final = 600
MAX_LOOKS: Final = 5
MAX_REPEATS: Final = 50
MAX_POINTS: Final = 10_000
MAX_PERCENT: Final = 10_000.0
MAX_PATIENCE_MS: Final = 86_400_000.0
MAX_GROUPS: Final = 8  # with that of the ladder
MAX_GROUP_NAME_LENGTH: Final = 40
CLOSED: Final = ""
ARRIVALS: Final = {
    CLOSED: "wait for a free thread",
    "poisson": "do not wait: Poisson arrivals",
    "constant": "do not wait: equal gaps",
}
PURPOSES: Final = {
    Purpose.SMOKE.value: "smoke: does it run at all?",
    Purpose.DEMO.value: "demo: shapes, not to publish",
    Purpose.TUNING.value: "tuning: looking for settings",
    Purpose.MEASURED.value: "measured: to compare and publish",
    Purpose.SOAK.value: "soak: hours, to see what drifts",
}
LOAD_POLICIES: Final = {value: label for value, label in Matrix.LoadPolicy.choices if value != Matrix.LoadPolicy.REUSE}
STATISTICS: Final = {name: "p99.9" if name == "p999" else name for name in SLO_STATISTICS}
RESETS: Final = {
    "keep": "keep everything",
    "restart": "restart the server",
    "drop_caches": "empty page caches",
    "reload": "reload the data",
}
WORKLOAD_RESETS: Final = {policy: RESETS[policy] for policy in ("keep", "restart", "reload")}


class Limit:
    """Metadata of a field: `check` raises ValueError, `schema` is what JSON Schema says of the same."""

    schema: Mapping[str, Any]

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), **self.schema}


class Between(Limit):
    """Of a number, both included."""

    def __init__(self, low: float, high: float = MAX_INTEGER) -> None:
        self.low, self.high = low, high
        self.schema = {"minimum": low, "maximum": high}

    def check(self, value: float) -> float:
        if not self.low <= value <= self.high:
            kind = "whole number" if isinstance(self.low, int) else "number"
            raise ValueError(f"must be a {kind} from {exact(self.low)} to {exact(self.high)}")
        return value


class OneOf(Limit):
    """The words that a text may be, or these with their labels."""

    def __init__(self, choices: Iterable[str] | Mapping[str, str]) -> None:
        self.labels = dict(choices) if isinstance(choices, Mapping) else {word: word for word in choices}
        self.schema = {"enum": list(self.labels)}

    def check(self, value: str) -> str:
        if value not in self.labels:
            raise ValueError(NOT_A_CHOICE.format(value=value[:60], choices=", ".join(self.labels)))
        return value


class Profile(Limit):
    """Of points [second, %]."""

    schema: Mapping[str, Any] = {"maxItems": MAX_POINTS}

    def check(self, value: list[list[float]]) -> list[list[float]]:
        if message := profile_problem(value):
            raise ValueError(message)
        return value


@dataclass(frozen=True)
class Shown:
    """A field in the builder: its label, in how many of that unit one is, and whether it is among the folded ones."""

    label: str = ""
    scale: float = 1.0
    is_folded: bool = False


def problem(message: str, *path: str, code: Literal["plan", "extra_forbidden"] = "plan") -> PydanticCustomError:
    """An error whose message is a whole sentence, at a place below the value that is validated."""
    return PydanticCustomError(code, "{message}", {"message": message, "path": path})


def profile_problem(points: list[list[float]]) -> str:
    """What is wrong with the points of a profile; empty where nothing is."""
    if len(points) > MAX_POINTS:
        return TOO_MANY_POINTS.format(count=len(points), limit=MAX_POINTS)
    last = -1.0
    for number, point in enumerate(points, start=1):
        if len(point) != 2:
            return NO_PAIR.format(number=number, size=len(point))
        second, percent = point
        if not last < second <= MAX_SECONDS or second < 0:
            return SECONDS_ASCEND.format(number=number, second=exact(second), most=MAX_SECONDS)
        if not 0 <= percent <= MAX_PERCENT:
            return PERCENT_OUTSIDE.format(number=number, percent=exact(percent), most=exact(MAX_PERCENT))
        last = second
    if points and not any(percent for _, percent in points):
        return ALWAYS_ZERO
    return ""


def find_patience_ms(patience: float | str) -> float | None:
    """None: no arrival is dropped."""
    if isinstance(patience, str):
        return None
    return patience


def _distinct(tags: list[str]) -> list[str]:
    """As the builder takes them, where commas are between tags."""
    words = [tag.strip() for tag in ",".join(tags).split(",")]
    return list(dict.fromkeys(filter(None, words)))


Count = Annotated[int, Between(1)]
Percent = Annotated[int, Between(1, MAX_CURVE_PERCENT)]
Rungs = Annotated[list[Count], Field(max_length=MAX_RUNGS)]
Tag = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_TAG_LENGTH), AfterValidator(plain)]
Seconds = Annotated[FiniteFloat, Between(0.0, MAX_SECONDS)]
Patience = Annotated[FiniteFloat, Between(0.001, MAX_PATIENCE_MS)] | Literal["never"]
Reset = Annotated[str, OneOf(Matrix.Reset.values)]
Level = Annotated[str, OneOf(("mode", "repeat", "rung", "workload"))]


class Table(BaseModel):
    """Refuses keys that it does not know, with the nearest that it does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, content: Any) -> Any:
        names = [field.alias or name for name, field in cls.model_fields.items()]
        for key in content if isinstance(content, dict) else ():
            if key not in names and cls.model_config.get("extra") != "allow":
                raise problem(unknown_name(key, names), key, code="extra_forbidden")
        return content


class PlanSlo(Table):
    """A limit of latency that every trial of the search has to keep."""

    operation: Annotated[str, OneOf(SLO_OPERATIONS), Shown("Latency limit of")]
    statistic: Annotated[str, OneOf(STATISTICS), Shown("Percentile")] = "p99"
    kind: Annotated[str, OneOf(dict(LatencyKind.choices)), Shown("Measured as")] = Field(
        default="service", description="Response time needs a ladder of targets."
    )
    limit_us: Annotated[float, Between(1.0, 1e9), Shown("At most, ms", 0.001)]


class PlanSearch(Table):
    """The ceiling is searched for: each load follows from the results so far."""

    width: Annotated[float, Between(0.001, 1.0), Shown("Bracket, %", 100)] = Field(
        default=WIDTH, description="high / low - 1 of a bracket that is narrow enough."
    )
    max_trials: Annotated[int, Between(2, MAX_TRIALS_LIMIT), Shown("Trials at most")] | None = Field(
        default=None,
        description=f"Of each sweep. Empty: {MAX_TRIALS} of targets, {MAX_SLO_TRIALS} of threads or with a limit.",
    )
    max_error_rate: Annotated[float, Between(0.0, 1.0), Shown("Errors at most, %", 100)] = Field(
        default=MAX_ERRORS, description="Failed of all operations."
    )
    slo: PlanSlo | None = None
    curve_percent: Annotated[list[Percent], Field(max_length=MAX_RUNGS), Shown("Then, % of the ceiling")] = Field(
        default_factory=list,
        description="Of targets: loads in % of the ceiling that are measured afterwards, as in 25, 50, 75, 90, 100.",
        exclude_if=lambda percents: not percents,
    )

    @classmethod
    def read_stored(cls, search: Mapping[str, Any]) -> "PlanSearch":
        """Of the column `Matrix.search`, not validated again."""
        slo = search["slo"]
        return cls.model_construct(**{**search, "slo": PlanSlo.model_construct(**slo) if slo else None})

    def to_stored(self, ladder: str) -> dict[str, Any]:
        """The column `Matrix.search`: `runs.queue.spec.SearchSpec`."""
        usual = MAX_SLO_TRIALS
        if ladder == Matrix.Ladder.TARGET and self.slo is None:
            usual = MAX_TRIALS
        return {**self.model_dump(), "max_trials": self.max_trials or usual}


class PlanFault(Table):
    """A fault of every measured run, applied to servers that Benchsite starts as processes."""

    kind: Annotated[str, OneOf(KINDS)]
    at_s: Seconds = Field(description="From the begin of the measured window.")
    duration_s: Seconds = Field(
        description="Of a crash or restart: how long the server is down before it starts again."
    )
    node: Annotated[int, Between(1, 1000)] | None = Field(
        default=None, description="Of the servers, from 1; null: all."
    )
    value: Annotated[FiniteFloat, Between(0.0, 1e6)] | None = Field(
        default=None, description="`cpu_throttle`: % of a core; `slow_disk`: ms that each fsync takes."
    )


class PlanBuild(Table):
    """Code that is measured. At most one of `folder`, `image` and `artifact` says what Benchsite starts; without one
    the rest is stated of what the machine has, such as the servers of an external cluster.
    """

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40), AfterValidator(plain)] = Field(
        default="", description="Of several builds, in the names of runs: this, base, main."
    )
    folder: Annotated[str, StringConstraints(max_length=500, pattern=r"^(/.*)?$"), AfterValidator(plain)] = Field(
        default="", description="With the server's program, on the machine of a process cluster."
    )
    image: Annotated[str, StringConstraints(max_length=300, pattern=r"^[A-Za-z0-9._:@/-]*$")] = Field(
        default="", description="Of a docker cluster: registry/repository:tag, or @sha256:digest."
    )
    artifact: Artifact = Field(
        default="",
        description="Of a process cluster: group:artifact:version[:packaging[:classifier]] of the Maven repository "
        "that the machine's operator names.",
    )
    version: Annotated[str, StringConstraints(max_length=40), AfterValidator(plain)] = Field(
        default="", description="Empty: as the server says."
    )
    commit: Commit = Field(default="", description="Empty: as the server or the folder's file says.")
    branch: Annotated[str, StringConstraints(max_length=120), AfterValidator(plain)] = ""
    committed_at: CommitTime = Field(default="", description="With its zone: the place of the commit in histories.")
    ci_url: Link = Field(default="", description="Where the build is shown; http or https. It is never fetched.")


class PlanGroup(Table):
    """Clients that stand beside those of the ladder in every measured run, with a workload and a load of their own."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_GROUP_NAME_LENGTH),
        AfterValidator(plain),
    ]
    workload: Annotated[str, StringConstraints(max_length=80), AfterValidator(plain)] = Field(
        description="The name of a workload over the plan's data set."
    )
    threads: Annotated[int, Between(1, MAX_THREADS)] = Field(description="Of all its clients.")
    target_ops_s: Count | None = Field(
        default=None, description="Of all its clients; null: as many as its threads are served."
    )
    arrivals: Annotated[str, OneOf(ARRIVALS)] = Field(
        default=CLOSED, description="Of a target: whether operations wait for a free thread."
    )
    patience_ms: Patience = Field(default=1.0, description="Of arrivals that do not wait: when one is dropped.")
    profile: Annotated[list[list[FiniteFloat]], Profile()] = Field(
        default_factory=list,
        description="Of arrivals that do not wait: a second from the group's start (without one: of the window), "
        "and % of its target. Empty: 100 % all the time.",
        exclude_if=lambda points: not points,
    )
    generators: Annotated[int, Between(1, 1000)] | None = Field(
        default=None,
        description="How many of the load generators it has for itself, the last first; null: those of the ladder, "
        "with one client more on each.",
    )
    start_s: Annotated[int, Between(0, MAX_SECONDS)] | None = Field(
        default=None, description="Of the measured window; null: with the ladder, before the warm-up."
    )
    length_s: Annotated[int, Between(1, MAX_SECONDS)] | None = Field(
        default=None, description="From `start_s`; null: until the end."
    )
    measured: bool = Field(default=False, description="Whether its checks count for the run; else it is background.")


class PlanSpec(Table):
    """What the builder, a program and a plan file say of a plan alike, by the names of the columns of `Matrix`.

    Older plan files lack a new field, so its default is empty there, and `exclude_if` leaves that out of new ones.
    """

    name: Annotated[str, StringConstraints(max_length=120), AfterValidator(plain)] = Field(
        default="", description="Left empty, it is made from what is chosen."
    )
    purpose: Annotated[str, OneOf(PURPOSES)] = Field(
        default=Purpose.MEASURED.value, description="Chooses how strictly the runs are judged."
    )
    ladder: Annotated[str, OneOf(dict(Matrix.Ladder.choices)), Shown("Step the ladder by")] = Field(
        default=Matrix.Ladder.THREADS.value,
        description="What a rung is: threads, or ops/s offered.",
    )
    threads: Annotated[int, Between(1, MAX_THREADS)] | None = Field(
        default=None, description="Of a target ladder: the total on every rung, the most that are in flight."
    )
    arrivals: Annotated[str, OneOf(ARRIVALS), Shown("Operations")] = Field(
        default=CLOSED,
        description="Of targets: operations that do not wait arrive at the target, whatever the database does.",
        exclude_if=lambda arrivals: arrivals == CLOSED,
    )
    patience_ms: Annotated[Patience, Shown("Patience, ms, or never")] = Field(
        default=1.0,
        description="An arrival that no thread took for so long is dropped; with never each is begun, however late.",
        exclude_if=lambda patience_ms: patience_ms == 1.0,
    )
    profile: Annotated[list[list[FiniteFloat]], Profile(), Shown("Profile")] = Field(
        default_factory=list,
        description="Lines of a second of the window and % of the rung, as in 60, 150. Empty: 100 % all the time.",
        exclude_if=lambda points: not points,
    )
    repeats: Annotated[int, Between(1, MAX_REPEATS)] = Field(
        default=3, description="Three show a difference, five are fit to publish."
    )
    order: Annotated[str, OneOf(dict(Matrix.Order.choices))] = Field(
        default=Matrix.Order.INTERLEAVED.value,
        description="Fixes the analysis: blocked for interleaved and randomised repeats, which removes what both sides "
        "share; else Welch's t.",
    )
    seed: Annotated[int, Between(0), Shown(is_folded=True)] = Field(default=1, description="Of the random order.")
    bracket: bool = Field(default=False, description="Repeat the first cell at the end, to see drift.")
    stops_early: bool = Field(default=True, description="Of fixed rungs: skip those that follow two beyond saturation.")
    processes_per_generator: Annotated[int, Between(1, 64), Shown("Clients per generator", is_folded=True)] = 1
    generator_counts: Annotated[Rungs, Shown("Generator counts", is_folded=True)] = Field(
        default_factory=list,
        description="Every entry is measured with the first so many of the load generators by name, as in 4, 8, 10. "
        "Empty: with all.",
        exclude_if=lambda counts: not counts,
    )
    load_policy: Annotated[str, OneOf(LOAD_POLICIES), Shown("Data", is_folded=True)] = Matrix.LoadPolicy.LOAD.value
    load_threads: Annotated[int, Between(1, MAX_THREADS), Shown("Threads of a load", is_folded=True)] = 8
    warmup_s: Annotated[int, Between(0, 86_400), Shown("Warm-up, seconds")] = Field(
        default=60, description="Cut from each run."
    )
    settle_s: Annotated[int, Between(0, MAX_SETTLE_S), Shown("Settling, seconds at most", is_folded=True)] = Field(
        default=0,
        description="The warm-up lasts so much longer until throughput and p95 are steady (MSER-5). Before each run, "
        "background work of the server is waited for as long.",
        exclude_if=lambda settle_s: not settle_s,
    )
    priming_s: Annotated[int, Between(0, MAX_PRIMING_S), Shown("Priming, seconds", is_folded=True)] = Field(
        default=0,
        description="Before the first run of a ladder, and after a load or a start of its server, clients work so long "
        "on the workload, unmeasured. Where the plan settles, servers that compile what they need (Cassandra, HBase) "
        "are primed for 120 s at least.",
        exclude_if=lambda priming_s: not priming_s,
    )
    priming_reads: Annotated[bool, Shown("Prime by reads alone", is_folded=True)] = Field(
        default=False, description="Instead of the workload's mix.", exclude_if=lambda reads: not reads
    )
    min_measure_s: Annotated[int, Between(1, MAX_SECONDS), Shown("Measured, seconds")] = Field(
        default=180, description="Per rung, after the warm-up."
    )
    min_operations: Annotated[int, Between(0, MAX_OPERATIONS), Shown("Operations at least")] = Field(
        default=0, description="Of all clients, in the window: a rung that did fewer lasts longer. 0: time alone."
    )
    max_measure_s: Annotated[int, Between(0, MAX_SECONDS), Shown("Measured at most, seconds")] = Field(
        default=0, description="A rung ends then, whatever it did. 0: as long as its target needs for its operations."
    )
    looks: Annotated[list[Count], Field(max_length=MAX_LOOKS)] = Field(
        default_factory=list,
        description="Repeats after which verdicts are taken, as in 3, 5, 9: they share the error of 5 %, and the "
        "repeats are one of them. Empty: one verdict.",
        exclude_if=lambda looks: not looks,
    )
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS), AfterValidator(_distinct), Shown(is_folded=True)] = Field(
        default_factory=list, description="Such as nightly, disk: every run gets them."
    )
    rungs: Annotated[Rungs, Shown("Load ladder")] = Field(
        default=[2, 4, 8, 16, 32, 64],
        description="Total threads (or total ops/s), as in 2, 4, 8. A search over threads begins at the first, one "
        "over targets has none.",
    )


class PlanColumns(PlanSpec):
    """As a matrix and a plan file say them."""

    max_measure_s: Annotated[int, Between(1, MAX_SECONDS)] = 180
    resets: dict[Level, Reset] = Field(default_factory=dict)


class PlanRequest(PlanSpec):
    """A plan as the builder and programs write it. REST calls `tags` labels and `min_measure_s` measure_s."""

    model_config = ConfigDict(
        alias_generator=lambda name: {"tags": "labels", "min_measure_s": "measure_s"}.get(name, name)
    )

    search: PlanSearch | None = Field(
        default=None,
        description="Instead of fixed rungs. Of threads it begins at the lowest rung; of targets at a probe: then "
        "`rungs` is left out.",
    )
    faults: list[PlanFault] = Field(
        default=[], max_length=MAX_FAULTS, description="No ceiling, comparison or history uses runs with faults."
    )
    builds: list[PlanBuild] = Field(
        default=[],
        max_length=MAX_BUILDS,
        description="Every entry is measured with each of them. Empty: what the machines have. A source needs the "
        "scope `builds:run`.",
    )
    groups: list[PlanGroup] = Field(
        default=[],
        max_length=MAX_GROUPS - 1,
        description="Clients beside those of the ladder. Ceilings and comparisons are those of the ladder.",
    )
    between_rungs: Annotated[str, OneOf(RESETS), Shown(is_folded=True)] = Field(
        default="keep", description="Page caches are emptied by the operator's command."
    )
    between_workloads: Annotated[str, OneOf(WORKLOAD_RESETS), Shown(is_folded=True)] = Field(
        default="keep",
        description="Workloads are then measured one after the other; reloaded data was changed by no other.",
    )
    records_rule: Annotated[str, OneOf(sizes.RULES), Shown("Records on larger clusters")] = Field(
        default=sizes.FIXED,
        description="For a scaling set, databases of one system on clusters of several sizes: per node, records grow "
        "with the nodes.",
    )
    priority: Annotated[int, Between(-100, 100), Shown(is_folded=True)] = Field(
        default=0, description="Among your team's own matrices; higher starts first."
    )
    notes: Annotated[Text, Shown(is_folded=True)] = ""

    @property
    def is_probed(self) -> bool:
        """Whether a search begins at a probe without a target, so that there are no rungs."""
        return self.search is not None and self.ladder == Matrix.Ladder.TARGET

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a matrix by their names."""
        shared = {name: getattr(self, name) for name in (*PlanSpec.model_fields, "priority", "notes")}
        rungs = []
        if not self.is_probed:
            rungs = self.rungs
        resets = {"rung": self.between_rungs}
        if self.between_workloads != "keep":
            resets["workload"] = self.between_workloads
        search = None
        if self.search:
            search = self.search.to_stored(self.ladder)
        return {
            **shared,
            "rungs": rungs,
            "max_measure_s": max(self.min_measure_s, self.max_measure_s),
            "resets": resets,
            "search": search,
            "stops_early": self.stops_early and not self.search and not self.faults and not self.arrivals,
            "faults": [fault.model_dump() for fault in self.faults],
            "builds": [build.model_dump() for build in self.builds],
            "groups": [group.model_dump() for group in self.groups],
        }
