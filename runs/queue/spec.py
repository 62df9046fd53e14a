"""The shapes of the JSON that travels with a run: what was submitted, and what one client is to do.

Both are written once, at submission or when the clients are ordered, and never changed afterwards. The spec of an
uploaded run has the same shape, with what its uploader stated; what nobody knows is None or empty there.
"""

from itertools import chain
from typing import NotRequired, TypedDict, cast

from benchsite.core.formatting import duration, duration_between
from runs.queue.messages import NO_SHORTER, WHOLE_RUN, WINDOW
from runs.ycsb.properties import prime

SPEC_VERSION = 1


class DatabaseSpec(TypedDict):
    id: str
    name: str
    version: str  # as stated by the person who described the database
    replication_factor: int | None
    settings: dict[str, str]  # server settings of the database, beside the mode's
    binding_properties: dict[str, str]


class ModeSpec(TypedDict):
    slug: str
    name: str
    record: dict[str, object]  # the typed durability record, `runs.catalog.Durability.as_dict()`
    server_settings: dict[str, str]  # what the mode writes into the server's configuration
    client_properties: dict[str, str]  # what the mode gives to the YCSB client


class DatasetSpec(TypedDict):
    records: int | None
    record_bytes: int | None  # field values only
    fingerprint: str  # SHA-256 over the properties that decide what is loaded


class WorkloadSpec(TypedDict):
    id: str
    name: str
    short_name: str
    properties: dict[str, str]  # YCSB properties, checked


class OpenLoadSpec(TypedDict):
    """Operations that do not wait for each other: they arrive at `target_ops_s`, whatever the database does."""

    arrivals: str  # poisson or constant
    patience_ms: float | None  # a later one is dropped; None: none is
    profile: list[list[float]]  # [second of the window, % of the target]; empty: 100 % all the time


class GroupSpec(TypedDict):
    """Clients beside those of the ladder, with a workload and a load of their own."""

    name: str
    workload: "WorkloadSpec"
    load: "LoadSpec"
    generators: "list[GeneratorSpec]"
    start_s: int | None  # of the latest window that settling allows; None: with the ladder, before the warm-up
    length_s: int | None  # None: until the end
    measured: bool  # its checks count for the run; else it is background


class LoadSpec(TypedDict):
    threads: int  # the total over all clients
    target_ops_s: int | None  # the total over all clients
    processes: int  # client processes on each load generator; of an upload: in all
    open: NotRequired[OpenLoadSpec]
    groups: NotRequired[list[GroupSpec]]  # beside these clients


class WindowSpec(TypedDict):
    warmup_s: int
    settle_s: NotRequired[int]  # how much longer the warm-up may last until throughput is steady
    min_measure_s: int | None
    max_measure_s: int | None
    min_operations: int


def max_warmup_s(window: WindowSpec) -> int:
    """The warm-up with how much longer it may last until throughput is steady."""
    return window["warmup_s"] + window.get("settle_s", 0)


def is_open_ended(window: WindowSpec) -> bool:
    """Whether the window lasts until its operations are done."""
    return window["min_measure_s"] != window["max_measure_s"]


def describe_window(measure_s: int | None, warmup_s: int, settle_s: int = 0) -> str:
    """The window of a run as it is planned. What of `settle_s` a run does not need to be steady is measured, too."""
    warmup = duration_between(warmup_s, warmup_s + settle_s)
    if measure_s is None:
        return WHOLE_RUN.format(warmup=warmup)
    measured = duration(measure_s)
    if settle_s:
        measured = NO_SHORTER.format(measured=measured)
    return WINDOW.format(measured=measured, warmup=warmup)


class ClientSpec(TypedDict):
    flavour: str
    binding: str  # "redis", or "ycsb-0.17.0/redis" of a stock distribution
    digest: str  # over the binding's jars; one run uses one digest on all clients
    ycsb_version: str


class MachineSpec(TypedDict):
    id: str
    name: str
    facts: dict[str, object]


class ClusterSpec(TypedDict):
    id: str
    name: str
    provisioner: str
    machines: list[MachineSpec]
    separates_cpus: NotRequired[bool]  # its servers and clients on one machine use different CPUs


class GeneratorSpec(TypedDict):
    id: str
    name: str
    machine: MachineSpec


class StatedSpec(TypedDict):
    """What somebody said about an uploaded run that its files do not show."""

    by: str
    files: list[str]
    hardware: str
    client_on_database_host: bool | None
    ci_url: NotRequired[str]  # http or https


class BuildSpec(TypedDict):
    """One of the builds that a plan measures: an item of `Matrix.builds`. Empty: not stated.

    At most one of `folder`, `image` and `artifact` says what is started; none: what the machine has.
    """

    name: str  # within its plan
    folder: str  # on the machine of the servers
    image: str  # reference of a container's image
    artifact: str  # group:artifact:version[:packaging[:classifier]] of a Maven repository
    version: str
    commit: str
    branch: str
    committed_at: str  # RFC 3339
    ci_url: str


class FaultSpec(TypedDict):
    """One planned fault of a run: an item of `Matrix.faults`. The kinds are `runs.plans.faults.KINDS`."""

    kind: str
    at_s: float  # from the begin of the measured window
    duration_s: float  # of a crash or restart: how long the server is down before it starts again
    node: int | None  # of the servers, from 1; None: all
    value: float | None  # in the unit of its kind; None: the kind has none


class PrimingSpec(TypedDict):
    """Unmeasured work of the clients before the agreed instant."""

    seconds: int
    reads_only: bool


class RunSpec(TypedDict):
    """`Run.spec`."""

    version: int
    phase: str
    purpose: str
    system: str  # slug in the catalog
    system_name: str
    catalog_digest: str
    database: DatabaseSpec
    mode: ModeSpec
    workload: WorkloadSpec
    dataset: DatasetSpec
    load: LoadSpec
    window: WindowSpec
    client: ClientSpec
    cluster: ClusterSpec
    generators: list[GeneratorSpec]
    load_policy: str
    resets: dict[str, str]
    priming: int | None  # seconds that the plan asks for, of the runs that begin a ladder
    primed: NotRequired[PrimingSpec]  # of this run
    build: NotRequired[BuildSpec]
    faults: NotRequired[list[FaultSpec]]  # applied while it is measured, in the order of their begin
    stated: NotRequired[StatedSpec]  # of an uploaded run


def build_group_spec(spec: RunSpec, group: GroupSpec) -> RunSpec:
    """The run as it would be if the group were its only clients."""
    window = spec["window"]
    if group["start_s"] is not None:
        assert window["min_measure_s"] and window["max_measure_s"]  # Only of uploads nobody knows them.
        window = {
            "warmup_s": 0,
            "min_measure_s": group["length_s"] or window["min_measure_s"] - group["start_s"],
            "max_measure_s": group["length_s"] or window["max_measure_s"] - group["start_s"],
            "min_operations": 0,
        }
    own = {name: group[name] for name in ("workload", "load", "generators")}
    shared = {name: value for name, value in spec.items() if name != "primed"}
    return cast(RunSpec, {**shared, **own, "window": window})


def build_client_properties(spec: RunSpec) -> dict[str, str]:
    """Those of the workload of the ladder, with the priming of the run."""
    properties = spec["workload"]["properties"]
    if "primed" not in spec:
        return properties
    return prime(properties, spec["primed"]["seconds"], reads_only=spec["primed"]["reads_only"])


def find_group_start_s(spec: RunSpec, group: GroupSpec) -> int:
    """How many seconds after the clients of the ladder it begins."""
    if group["start_s"] is None:
        return 0
    return max_warmup_s(spec["window"]) + group["start_s"]


def list_groups(spec: RunSpec) -> list[GroupSpec]:
    return spec["load"].get("groups", [])


def list_workload_properties(spec: RunSpec) -> list[dict[str, str]]:
    """Of the ladder and of each group."""
    return [spec["workload"]["properties"], *(group["workload"]["properties"] for group in list_groups(spec))]


def list_generators(spec: RunSpec) -> list[GeneratorSpec]:
    """Those of the ladder, and of each group; some more than once."""
    return [*spec["generators"], *chain.from_iterable(group["generators"] for group in list_groups(spec))]


SLO_OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE")
SLO_STATISTICS = ("p50", "p95", "p99", "p999")
MAX_TRIALS_LIMIT = 50
MAX_CURVE_PERCENT = 200


class SloSpec(TypedDict):
    """A limit of latency that every trial of a search has to keep."""

    operation: str  # as YCSB names it
    statistic: str  # p50, p95, p99 or p999
    kind: str  # service or response
    limit_us: float


class SearchSpec(TypedDict):
    """`Matrix.search`."""

    width: float  # high / low - 1 of a bracket that is narrow enough
    max_trials: int  # of each sweep, the probe included
    max_error_rate: float  # failed of all operations
    slo: SloSpec | None
    # Of offered load: loads in % of the ceiling that are measured afterwards, as often as the matrix repeats a rung.
    curve_percent: NotRequired[list[int]]


class ClientOrder(TypedDict):
    """`ClientRun.order`: everything one load generator needs to start one YCSB process."""

    binding: str
    digest: str
    java_class: str
    phase: str
    threads: int
    target_ops_s: int | None
    duration_s: int | None  # None: until all its records are loaded
    deadline_s: float
    properties: dict[str, str]  # the whole property file
    samples_host: NotRequired[bool]  # this client samples the host that it runs on
    servers: NotRequired[list[tuple[str, int]]]  # host and port of each node: some may run on that host
    site_files: NotRequired[dict[str, str]]  # configuration files for its class path, by name
    cpus: NotRequired[list[int]]  # that it may use; empty: all
    has_faults: NotRequired[bool]  # planned ones: stalls and errors end nothing
    start_s: NotRequired[float]  # how long after the common start it begins
    window_s: NotRequired[float]  # how long after it the window begins whose operations it is to count
