"""What a plan file holds. Machines are roles: how many, and what must be known to judge fit. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, Final, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    WrapSerializer,
    model_serializer,
    model_validator,
)

from runs.catalog import (
    MAX_OWN_MODES,
    OwnMode,
    UnknownMode,
    UnknownSystem,
    get_flavour,
    load_catalog,
    secret_properties,
)
from runs.catalog.durability import ACKS, READS
from runs.checks import THRESHOLDS
from runs.models import Database, Provisioner
from runs.plans.expansion import PlannedRun
from runs.plans.faults import MAX_FAULTS, list_problems
from runs.plans.messages import NO_LINE_BREAKS, NO_ROLE, NUMBER_OF_TABLES, NUMBER_OR_LINE, ONE_LINE, PLANNED_TWICE
from runs.plans.plan import Entry, Plan, PlannedDatabase, PlannedGenerator, PlannedWorkload, Rule, looks_problem
from runs.plans.plan_spec import (
    MAX_GROUPS,
    MAX_OPERATIONS,
    MAX_RUNGS,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    MAX_THREADS,
    Between,
    Count,
    Level,
    OneOf,
    PlanColumns,
    PlanFault,
    PlanGroup,
    PlanSearch,
    Reset,
    Rungs,
    Table,
    problem,
)
from runs.ycsb.properties import check_workload
from runs.ycsb.property_schema import PropertyError, unknown_name

FORMAT: Final = "benchsite-plan"
VERSION: Final = 2
NAMED_VERSION: Final = 3  # names rows and may define them: `runs.definitions.definition_file`
MAX_FACT: Final = 2**60
MAX_ROLES: Final = 200
MAX_RULES: Final = 500
MAX_REASON_LENGTH: Final = 500
_ROLE: Final = re.compile(r"[a-z]{1,20}-[1-9][0-9]{0,3}")
Role = TypeVar("Role")


class PlanRefused(ValueError):
    """This is no plan file that can be read. The message says where and why."""


def _line(max_length: int, *, empty: bool = False) -> AfterValidator:
    """A text of one line, no longer than its column."""

    def check(text: str) -> str:
        if not text.isprintable() or len(text) > max_length or not (text.strip() or empty):
            raise ValueError(ONE_LINE.format(limit=max_length, not_empty="" if empty else ", not empty"))
        return text

    return AfterValidator(check)


def _check_texts(texts: dict[str, str]) -> dict[str, str]:
    if not all(name.isprintable() and value.isprintable() for name, value in texts.items()):
        raise ValueError(NO_LINE_BREAKS)
    return texts


def _check_value(value: int | float | str | bool) -> int | float | str | bool:
    if not str(value).isprintable():
        raise ValueError(NUMBER_OR_LINE)
    return value


def _check_workload(properties: dict[str, str]) -> dict[str, str]:
    try:
        return check_workload(properties)
    except PropertyError as error:
        raise problem(str(error)) from None


def _check_roles(tables: dict[str, Role]) -> dict[str, Role]:
    if not 0 < len(tables) <= MAX_ROLES:
        raise ValueError(NUMBER_OF_TABLES.format(limit=MAX_ROLES))
    for role in tables:
        if not _ROLE.fullmatch(role):
            raise problem(NO_ROLE.format(role=role[:60]), role)
    return tables


def _check_thresholds(values: dict[str, float]) -> dict[str, float]:
    for name in values:
        if name not in THRESHOLDS:
            raise problem(unknown_name(name, THRESHOLDS), name)
    return values


def _require_known(name: str, names: Collection[str], *path: str) -> None:
    if name not in names:
        raise problem(f"{path[-1]}: {unknown_name(name, names)}", *path)


Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
# The same plan has the same text, in whatever order its tables were filled.
InOrder: Final = WrapSerializer(lambda values, serialize: dict(sorted(serialize(values).items())))
Texts = Annotated[dict[str, str], Field(max_length=MAX_RULES), AfterValidator(_check_texts), InOrder]


def _optional(empty: Callable[[], Any]) -> Any:
    """A value that is not written where it is empty."""
    return Field(default_factory=empty, exclude_if=lambda value: not value)


class Facts(Table):
    """What is known of a machine, by which a reader judges whether another will do."""

    cores: Annotated[int, Between(0, MAX_FACT)] | None = None
    memory_bytes: Annotated[int, Between(0, MAX_FACT)] | None = None


class ClusterRole(Table):
    """The machines that some databases stand on."""

    provisioner: Annotated[str, OneOf(Provisioner.values)]
    # Servers and clients on one machine used different cores; of external servers nothing is known.
    separates_cpus: bool = Field(default=True, exclude_if=bool)
    nodes: Annotated[list[Facts], Field(max_length=MAX_RULES)]


class GeneratorRole(Table):
    """A machine that clients run on. It is shared with the clusters of `shares`."""

    slots: Annotated[int, Between(1, 10_000)]
    shares: list[str]
    facts: Facts


class PlanDurability(Table):
    """`runs.catalog.Durability`; without `loss_window_s` the loss is unbounded."""

    ack: Annotated[str, OneOf(ACKS)]
    replicas_acked: int | str
    replica_ack: Annotated[str, OneOf(ACKS)]
    reads: Annotated[str, OneOf(READS)]
    loss_window_s: float | None = None
    worst_loss_window_s: float | None = None


class PlanMode(Table):
    """`runs.catalog.OwnMode`: a mode that the owner of the database stated."""

    base: Slug
    name: Annotated[str, _line(80)]
    durability: PlanDurability
    server_settings: Texts
    client_properties: Texts


class PlanDatabase(Table):
    """`client` is the stock binding or go-ycsb's driver, empty for Benchsite's own.

    `secrets` are properties to be filled in again.
    """

    name: Annotated[str, _line(80)]
    system: Slug
    version: Annotated[str, _line(40, empty=True)]
    replication_factor: Annotated[int, Between(1, 1000)]
    flavour: Annotated[str, OneOf(Database.Flavour.values)]
    client: Annotated[str, _line(120, empty=True)] = _optional(str)
    cluster: str
    secrets: list[str]
    settings: Texts
    binding_properties: Texts
    own_modes: Annotated[dict[Slug, PlanMode], Field(max_length=MAX_OWN_MODES)] = _optional(dict)

    @property
    def stated_modes(self) -> dict[str, OwnMode]:
        return {slug: cast(OwnMode, mode.model_dump()) for slug, mode in self.own_modes.items()}

    @model_validator(mode="after")
    def _check_against_catalog(self) -> Self:
        """Names and values as the catalog declares them; those of an unknown system are not checked."""
        try:
            system = load_catalog().system(self.system, self.flavour)
        except UnknownSystem:
            return self

        if get_flavour(self.client) != self.flavour:
            stated = "an empty client"
            if self.client:
                stated = repr(self.client)
            raise problem(
                f"client: {stated} is of the flavour {get_flavour(self.client)}, not {self.flavour}", "client"
            )
        client_problem = system.client_problem(self.flavour, self.client, external=True)
        if self.client and client_problem:
            raise problem(client_problem, "client")

        try:
            for slug, mode in self.stated_modes.items():
                system.check_own_mode(slug, mode)
            system = system.with_own_modes(self.stated_modes)
            system.check_settings(self.settings)
            system.check_binding_properties(self.binding_properties)
        except PropertyError as error:
            raise problem(str(error), "settings") from None

        hidden = secret_properties(system)
        for name in self.secrets:
            _require_known(name, hidden, "secrets")

        for name in hidden:
            if name in self.binding_properties:
                raise problem(f"{name} is a secret: name it in secrets, and do not write it here", "secrets")

        return self


class PlanWorkload(Table):
    name: Annotated[str, _line(80)]
    short_name: Annotated[str, _line(12)]
    properties: Annotated[dict[str, str], AfterValidator(_check_workload), InOrder]


class PlanEntry(Table):
    """A database, by its role, in one durability mode."""

    database: str
    mode: Slug


class Cells(Table):
    """The cells that a rule covers: those that agree on every axis that it names."""

    database: str | None = None
    mode: Slug | None = None
    workload: str | None = None
    rung: Count | None = None
    repeat: Count | None = None


class Exclusion(Table):
    reason: Annotated[str, _line(MAX_REASON_LENGTH, empty=True)]
    match: Cells


class Changes(Table):
    """What an override sets: columns of the plan, generators by their roles, or any property by its name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[int | float | str | bool, AfterValidator(_check_value)]]

    rungs: Annotated[Rungs, Field(min_length=1)] | None = None
    threads: Annotated[int, Between(1, MAX_THREADS)] | None = None
    generators: list[str] | None = None
    min_operations: Annotated[int, Between(0, MAX_OPERATIONS)] | None = None


class Override(Table):
    rule: Annotated[str, _line(40, empty=True)] = _optional(str)
    match: Cells
    set: Annotated[Changes, InOrder]


class PlanMatrix(PlanColumns):
    """The columns of a matrix that no other row is needed for, by their names."""

    name: Annotated[str, _line(120)]
    stops_early: bool = False
    looks: Rungs = _optional(list)
    tags: Annotated[list[Annotated[str, _line(MAX_TAG_LENGTH)]], Field(max_length=MAX_TAGS)]
    resets: Annotated[dict[Level, Reset], InOrder]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Columns whose default is not empty are written in every file."""
        for name, field in PlanMatrix.model_fields.items():
            if name in self.model_fields_set or field.exclude_if:
                continue
            if field.get_default(call_default_factory=True):
                raise problem(f"{name} is missing", name)

        if self.max_measure_s < self.min_measure_s:
            raise problem("max_measure_s must not be less than min_measure_s", "max_measure_s")
        message = looks_problem(self.looks, self.repeats)
        if message:
            raise problem(f"looks: {message}", "looks")

        return self

    @model_serializer(mode="wrap")
    def _order(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Numbers and texts before lists before tables."""
        columns: dict[str, Any] = serialize(self)
        kinds = (list, dict)
        return dict(sorted(columns.items(), key=lambda column: [isinstance(column[1], kind) for kind in kinds[::-1]]))


class PlanFile(Table):
    """A matrix without a single row behind it. Databases, workloads and machines go by roles: "database-1"."""

    format: str = FORMAT
    version: int = VERSION
    catalog: Annotated[str, _line(64, empty=True)]  # the digest of the catalog that its modes were taken from
    matrix: PlanMatrix
    clusters: Annotated[dict[str, ClusterRole], AfterValidator(_check_roles)]
    generators: Annotated[dict[str, GeneratorRole], AfterValidator(_check_roles)]
    databases: Annotated[dict[str, PlanDatabase], AfterValidator(_check_roles)]
    workloads: Annotated[dict[str, PlanWorkload], AfterValidator(_check_roles)]
    entries: Annotated[list[PlanEntry], Field(min_length=1, max_length=MAX_RULES)]
    exclusions: Annotated[list[Exclusion], Field(max_length=MAX_RULES)] = _optional(list)
    overrides: Annotated[list[Override], Field(max_length=MAX_RULES)] = _optional(list)
    # Those that the team had replaced.
    thresholds: Annotated[dict[str, float], AfterValidator(_check_thresholds), InOrder] = _optional(dict)
    search: PlanSearch | None = None  # None: the rungs are fixed
    faults: Annotated[list[PlanFault], Field(max_length=MAX_FAULTS)] = _optional(list)
    groups: Annotated[list[PlanGroup], Field(max_length=MAX_GROUPS - 1)] = _optional(list)
    # Those of the groups, of which no cell is made, by the names that the groups use.
    group_workloads: Annotated[dict[str, PlanWorkload], Field(max_length=MAX_GROUPS)] = _optional(dict)

    @property
    def procedure(self) -> dict[str, Any]:
        """Search, faults and groups as a matrix stores them."""
        search = None
        if self.search:
            search = self.search.to_stored(self.matrix.ladder)
        return {
            "search": search,
            "faults": [fault.model_dump() for fault in self.faults],
            "groups": [group.model_dump() for group in self.groups],
        }

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Every role that a table names has a table of its own."""
        if not self.matrix.rungs and self.search is None:
            raise problem(f"rungs must be 1 to {MAX_RUNGS} whole numbers", "matrix", "rungs")

        for message in list_problems(self.procedure["faults"], self.matrix.min_measure_s):
            raise problem(message, "faults")

        for group in self.groups:
            _require_known(group.workload, self.group_workloads, "groups", "workload")

        for role, generator in self.generators.items():
            for cluster in generator.shares:
                _require_known(cluster, self.clusters, "generators", role, "shares")

        for role, database in self.databases.items():
            _require_known(database.cluster, self.clusters, "databases", role, "cluster")

        pairs: set[tuple[str, str]] = set()
        for entry in self.entries:
            _require_known(entry.database, self.databases, "entries", "database")
            try:
                database = self.databases[entry.database]
                load_catalog().system(database.system, own_modes=database.stated_modes).mode(entry.mode)
            except UnknownSystem:
                pass
            except UnknownMode as error:
                raise problem(str(error), "entries", "mode") from None
            if (entry.database, entry.mode) in pairs:
                raise problem(f"{entry.database} in mode {entry.mode} stands here twice", "entries", "mode")
            pairs.add((entry.database, entry.mode))

        for table, rules in (("exclusions", self.exclusions), ("overrides", self.overrides)):
            for rule in rules:
                if rule.match.database is not None:
                    _require_known(rule.match.database, self.databases, table, "match", "database")
                if rule.match.workload is not None:
                    _require_known(rule.match.workload, self.workloads, table, "match", "workload")

        for override in self.overrides:
            for role in override.set.generators or ():
                _require_known(role, self.generators, "overrides", "set", "generators")

        return self


def planned(file: PlanFile) -> Plan:
    """The plan that expands into the runs of this file, its roles in the place of rows."""
    databases = {}
    for role, database in file.databases.items():
        cluster = file.clusters[database.cluster]
        columns = {"client": "", "own_modes": {}, **database.model_dump(exclude={"cluster", "secrets"})}
        databases[role] = PlannedDatabase(
            id=role,
            cluster_id=database.cluster,
            cluster_name=database.cluster,
            provisioner=cluster.provisioner,
            separates_cpus=cluster.separates_cpus,
            machine_ids=tuple(f"{database.cluster}/{number}" for number, _ in enumerate(cluster.nodes, 1)),
            **columns,
        )
    generators = [
        PlannedGenerator(role, role, generator.slots, f"{role}/1", {}) for role, generator in file.generators.items()
    ]
    return Plan.model_construct(
        **{**dict(file.matrix), **file.procedure, "groups": tuple(file.groups)},
        group_workloads=_plan_workloads(file.group_workloads),
        entries=tuple(Entry(databases[entry.database], entry.mode) for entry in file.entries),
        workloads=tuple(_plan_workloads(file.workloads).values()),
        generators=tuple(generators),
        exclusions=tuple(Rule(**rule.model_dump(exclude_none=True)) for rule in file.exclusions),
        overrides=tuple(Rule(**rule.model_dump(exclude_none=True, exclude={"rule"})) for rule in file.overrides),
    )


def _plan_workloads(workloads: Mapping[str, PlanWorkload]) -> dict[str, PlannedWorkload]:
    """By role or name, which also identify them."""
    planned_workloads = {}
    for role, workload in workloads.items():
        planned_workloads[role] = PlannedWorkload(role, workload.name, workload.short_name, workload.properties)
    return planned_workloads


def twice_the_same(runs: Iterable[PlannedRun]) -> str:
    """Two runs that would be one point, as rules about threads can make them: their names, or empty."""
    seen: dict[object, str] = {}
    for run in runs:
        key = (run.sweep.key, run.threads, run.target_ops_s, run.repeat)
        if key in seen:
            return PLANNED_TWICE.format(run=seen[key])
        seen[key] = run.name
    return ""
