"""The tables of catalog files."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, Self, TypedDict, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt

from runs.catalog.durability import Durability, Reads
from runs.catalog.messages import (
    ALWAYS_FIXED,
    BINDING_CANNOT_DRIVE,
    DECIDED_BY_MODE,
    DRIVER_CANNOT_DRIVE,
    GO_DRIVES_EXTERNAL,
    KNOWN_SETTING,
    LIBRARY_IN_CLIENT,
    MADE_OF_ADDRESSES,
    NAME_NOT_KNOWN,
    NO_GO_DRIVER,
    NO_OWN_BINDING,
    NO_SETTING_NAME,
    NO_TAG_OF_IMAGE,
    STOCK_DRIVES_EXTERNAL,
    WRITE_DEFAULT_AS,
    WRONG_DEFAULT,
)
from runs.ycsb.property_schema import Kind, Property, PropertyError, check_properties, nearest, use_declared_names

# What an uploaded result may say instead of a system or a mode of the catalog. Nothing is known of either, so no result
# of theirs is ever compared by its durability.
OTHER_SYSTEM = "other"
UNKNOWN_MODE = "unknown"
# A mode that the owner of a database stated, and no file of the catalog: every figure shows its slug.
STATED_SUFFIX = "-stated"
MAX_OWN_MODES = 20  # of a database
# Begins the names of settings that the catalog does not describe: recorded and passed on, and never read back.
UNCHECKED = "unchecked."
_UNCHECKED_NAME = r"[A-Za-z][A-Za-z0-9._-]{0,79}"
UPLOAD_NAMES = {OTHER_SYSTEM: "another system", UNKNOWN_MODE: "unknown"}

# The flavours of client (`Database.flavour`): of a YCSB distribution, of a go-ycsb binary, Benchsite's own.
STOCK_FLAVOUR = "ycsb"
GO_FLAVOUR = "go-ycsb"
OWN_FLAVOUR = "benchsite"

# How clients sign in, in the order of a form. Each is a part of `Endpoint`.
SIGN_IN = ("user", "password", "database", "ssl", "ca", "certificate", "key")
ConfigFormat = Literal["redis", "postgresql", "yaml", "mysql", "hadoop", "none"]
_TAG = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"


def get_flavour(client: str) -> str:
    """The flavour of a registered client, "ycsb-0.17.0/redis" or "go-ycsb-1.0.3/redis"; empty: Benchsite's own."""
    if not client:
        return OWN_FLAVOUR
    if client.startswith(GO_FLAVOUR):
        return GO_FLAVOUR
    return STOCK_FLAVOUR


class UnknownName(LookupError):
    """A name the catalog does not have. The message names the nearest one that it has."""

    kind = "name"

    def __init__(self, name: str, names: Mapping[str, object] | tuple[str, ...]) -> None:
        near = nearest(name, names)
        hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(names)}."
        super().__init__(f"There is no {self.kind} {name[:60]!r} here. {hint}")


class UnknownSystem(UnknownName):
    kind = "system"


class UnknownMode(UnknownName):
    kind = "durability mode"


class Record(BaseModel):
    """A table of a catalog file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredProperty(Property):
    """A property as a catalog file declares it. Its name is the key of its table."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", strict=True)
    name: str = ""
    type: Kind
    help: str
    reads: dict[str, Reads] = field(default_factory=dict)  # of a choice: what reads see in modes that leave it open


def _name_properties(properties: dict[str, DeclaredProperty]) -> dict[str, DeclaredProperty]:
    named = {}
    for name, declared in properties.items():
        if declared.name:
            raise ValueError(NAME_NOT_KNOWN.format(name=name))
        named[name] = declared = replace(declared, name=name)
        if declared.type == "choice" and not declared.choices:
            raise ValueError(f"{name}: choices is missing")
        try:
            re.compile(declared.pattern)
        except re.error as error:
            raise ValueError(f"{name}: pattern: {error}") from None
        if declared.default is None:
            continue
        try:
            canonical = declared.check(declared.default)
        except PropertyError as error:
            raise ValueError(WRONG_DEFAULT.format(name=name, error=error)) from None
        if canonical != declared.default:
            raise ValueError(WRITE_DEFAULT_AS.format(name=name, canonical=canonical, default=declared.default))
    return named


def _read_durability(table: object) -> object:
    """Without bound is None in a record, which TOML cannot say."""
    if isinstance(table, dict) and table.get("loss_window_s") == "unbounded":
        return {**table, "loss_window_s": None}
    return table


Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
Properties = Annotated[dict[str, DeclaredProperty], AfterValidator(_name_properties)]
SmallLetters = Annotated[str, Field(pattern=r"^[^A-Z]*$")]
FileName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,39}$")]


class Mode(Record):
    """One durability mode of a system: what it promises, and what makes it so."""

    slug: str = ""  # the key of its table
    name: str
    durability: Annotated[Durability, BeforeValidator(_read_durability)]
    server_settings: dict[str, str] = Field(default={}, alias="server")
    client_properties: dict[str, str] = Field(default={}, alias="client")
    readback: dict[str, str] = {}  # settings that it relies on without setting them
    replicas_needed: NonNegativeInt = 0  # other copies that must be running for the mode to work at all
    notes: str = ""
    no_client: str = ""  # why this client cannot request the mode; empty where it can
    base: str = ""  # of an own mode, the mode that it copies; such a mode is stated

    @property
    def expected_settings(self) -> dict[str, str]:
        """Settings that the running server must report for the mode to be in force."""
        return {**self.server_settings, **self.readback}


class OwnMode(TypedDict):
    """A mode that the owner of a database stated, as the database stores it: a copy of one of the system's modes."""

    base: str  # the slug of the copied mode
    name: str
    durability: dict[str, object]  # the fields of `Durability`
    server_settings: dict[str, str]
    client_properties: dict[str, str]


class Endpoint(Record):
    """Which client properties carry the servers' addresses; empty where the system has no such thing.

    `nodes` says what `host` (or {nodes} of a URL) holds: the first node, the hosts of all nodes, or host:port of all,
    comma-separated. A client that takes one URL has it in the property `url`, made of `template`: {nodes} {database}
    {credentials} and {options}, the last from the properties in `options`, which the client itself does not know.
    """

    host: str = ""
    port: str = ""
    user: str = ""
    password: str = ""
    database: str = ""
    ssl: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    more: tuple[str, ...] = ()  # what else tells clients how to sign in, such as the name of a replica set
    schemes: dict[str, str] = {}  # of connection strings, each with the value of `ssl` that it stands for
    nodes: Literal["first", "hosts", "addresses"] = "first"
    default_port: NonNegativeInt = 0  # 0: that of the property `port`
    url: str = ""
    template: str = ""
    options: tuple[str, ...] = ()
    site_file: str = ""  # a Hadoop configuration file, which holds host and port instead of the property file
    folder: str = ""  # the data folder, of a library inside the client that has no address

    @property
    def addresses(self) -> frozenset[str]:
        """The properties that the cluster decides."""
        return frozenset({self.host, self.port, self.url, self.folder} - {""})

    @property
    def sign_in(self) -> dict[str, str]:
        """The properties beside the addresses by which clients sign in, by the name of their field in a form."""
        names = {role: getattr(self, role) for role in SIGN_IN}
        names |= {name.rpartition(".")[2]: name for name in self.more}
        return {role: name for role, name in names.items() if name}

    @property
    def credentials(self) -> frozenset[str]:
        """Of these the properties that change who signs in, and nothing of what is measured."""
        return frozenset({self.user, self.password, self.ca, self.certificate, self.key} - {""})

    @property
    def parts(self) -> frozenset[str]:
        """The properties that are only a part of the URL."""
        names = set(self.options)
        if "{database}" in self.template:
            names.add(self.database)
        if "{credentials}" in self.template:
            names |= {self.user, self.password}
        return frozenset(names - {""})


class Binding(Record):
    """The YCSB client of a system: Benchsite's own, or the usual one of YCSB itself."""

    name: Slug
    java_class: str
    properties: Properties
    endpoint: Endpoint = Endpoint()
    when_scanning: dict[str, str] = {}  # client properties that a workload with scans needs
    also: tuple[str, ...] = ()  # other stock bindings with the same properties
    fixed: dict[str, str] = {}  # client properties that nobody may choose
    scans: bool = True  # whether it can scan records in the order of their keys
    target: str = ""  # where a data set lies on a server, with {database} and {table}
    stored: str = ""  # what a data set consists of there, for whoever confirms it

    @property
    def read_choices(self) -> dict[str, dict[str, Reads]]:
        """Properties by which a database chooses who answers its reads."""
        return {name: declared.reads for name, declared in self.properties.items() if declared.reads}

    @property
    def form_fields(self) -> dict[str, str]:
        """Properties that have fields of their own, by the names of these."""
        return self.endpoint.sign_in | {name.rpartition(".")[2]: name for name in self.read_choices}

    @property
    def default_port(self) -> int:
        endpoint = self.endpoint
        if endpoint.default_port or not endpoint.port:
            return endpoint.default_port
        return int(self.properties[endpoint.port].default or 0)


class NodeRecipe(Record):
    """Command lines and files of one server of several, or of one in a container."""

    argv: tuple[str, ...] = ()
    init_argv: tuple[str, ...] = ()  # run once in an empty data folder
    fixed: dict[str, str] = {}  # server settings that nobody may choose
    options: dict[str, str] = {}  # unchecked settings of the command line: their argument, with {value}
    files: dict[FileName, str] = {}  # templates beside its configuration, by name
    config_head: str = ""  # what its configuration begins with

    def adapt(self, node: "NodeRecipe | None") -> Self:
        """The recipe with the command lines of `node`, and with its settings and files beside those here."""
        if node is None:
            return self
        return self.model_copy(
            update={
                "argv": node.argv or self.argv,
                "init_argv": node.init_argv or self.init_argv,
                "fixed": {**self.fixed, **node.fixed},
                "files": {**self.files, **node.files},
                "config_head": self.config_head + node.config_head,
            }
        )


class ProcessRecipe(NodeRecipe):
    """How to run one server of a system as a plain process of this machine.

    Words in braces stand for what is known only at the start: {program} {bin} {lib} {folder} {config} {data} {host}
    {port} {cluster_port} {seeds} {token} {primary} {node} {user} {password} {password_file}, and the settings in
    `not_in_config`. An argument that names a bool among these is left out where it is false. A system with the setting
    `nodes` may have several, on 127.0.0.1, 127.0.0.2 and so on.
    """

    program: str  # "redis-server", or "java" for a server that `make servers` fetched; found when it is needed
    config_name: str = ""  # empty, with the format "none", for a server that has no configuration file
    config_format: ConfigFormat = "none"
    argv: tuple[str, ...]
    stop_signal: Literal["TERM", "INT", "QUIT"]  # what makes the server end in order
    settings: dict[str, str] = {}  # server settings of a database that does not choose them
    not_in_config: tuple[str, ...] = ()  # settings of the schema or of the command line
    install: str = ""  # the commands that install the program
    log_folder: str = ""  # of the commit or write-ahead log, below that of the data
    keeps_data: bool = True  # whether its data outlives a planned stop
    is_networked: bool = False  # whether its nodes may stand on several machines, each at its machine's address
    start_s: NonNegativeInt = 0  # of a start per node, as plans count it, beyond what every load has for that
    # How long clients work before the first measured run of a plan that settles: a JVM compiles what they need first.
    compile_s: NonNegativeInt = 0
    primary: NodeRecipe | None = None  # of the first of several nodes, where the others are its replicas
    replica: NodeRecipe | None = None  # of those; without it all nodes are equal
    facts: dict[str, str] = {}  # settings that its servers have whatever a database chooses
    # Client properties with which a read finds a record that any surviving copy has, for trials of durability.
    read_back: dict[str, str] = {}


class BadTag(ValueError):
    """A version that cannot be the tag of an image. The message says what to write instead."""


class ImageRecipe(NodeRecipe):
    """How to run one server of a system in a container: its official image, told which program to start.

    Programs are found by the image's PATH, so {program}, {bin} and {lib} stand for nothing here.
    """

    # Without a tag, and in small letters, as registries want it.
    repository: Annotated[str, Field(pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$")]
    tag: Annotated[str, Field(pattern=f"^{_TAG}$")]  # of a database that states no version
    user: str  # the image's own account for the server
    argv: tuple[str, ...]
    primary: NodeRecipe | None = None
    replica: NodeRecipe | None = None

    def reference(self, version: str) -> str:
        """repository:tag; the version that a database states is the tag. Raises BadTag."""
        if version and not re.fullmatch(_TAG, version):
            raise BadTag(NO_TAG_OF_IMAGE.format(version=version[:60], repository=self.repository, tag=self.tag))
        return f"{self.repository}:{version or self.tag}"


class Recognition(Record):
    """How the output of YCSB and its relatives names a system."""

    bindings: tuple[SmallLetters, ...] = ()  # "cassandra2-cql", as after `ycsb run`
    classes: tuple[SmallLetters, ...] = ()  # "cassandracqlclient", without the package, which changes
    jdbc: tuple[SmallLetters, ...] = ()  # "mariadb" of jdbc:mariadb://...


class StockClient(Record):
    """A client of a flavour that the system has beside its usual one: that of YCSB itself, or of go-ycsb."""

    binding: Binding
    modes: dict[str, dict[str, str]]  # client properties by mode
    no_modes: dict[str, str] = {}  # modes that it cannot request, and why
    administered: bool = True  # whether the system's administration works with its properties


class System(Record):
    """A database product, as one flavour of client reaches it: Benchsite's own where there is one."""

    slug: Slug
    name: str
    aliases: tuple[str, ...] = ()
    own_client: bool = False  # whether `binding` is Benchsite's
    administered: bool = False  # whether Benchsite reads its mode and looks into its data
    admin_class: str = ""  # the program in its own binding that does so; empty where Benchsite speaks to it itself
    in_memory: bool = False  # whether all its data must fit the memory of its nodes
    counts_absent_copies: bool = False  # whether it takes a replication factor above the number of its nodes
    schema_change_s: float = 5.0  # how long a check waits until a server of others has made, or dropped, a table
    notes: str = ""
    publication: str = ""  # what its licences say about publishing benchmarks, if they restrict it
    pitfalls: tuple[str, ...] = ()  # what has misled measurements before, a sentence or two each
    recognition: Recognition = Field(default=Recognition(), alias="ycsb")
    binding: Binding
    settings: Properties
    modes: dict[Slug, Mode] = Field(min_length=1)
    process: ProcessRecipe | None = None
    image: ImageRecipe | None = None
    stock: StockClient | None = None  # of a system with a client of Benchsite's own
    go: StockClient | None = None  # go-ycsb's driver

    def __repr__(self) -> str:
        return f"System({self.slug!r})"

    @property
    def container_recipe(self) -> ProcessRecipe | None:
        """The recipe of the plain process with the command lines of the image."""
        process, image = self.process, self.image
        if process is None or image is None:
            return None
        nodes = {}
        for role in ("primary", "replica"):
            node = getattr(process, role)
            if node is not None:
                without_commands = node.model_copy(update={"argv": (), "init_argv": ()})
                nodes[role] = without_commands.adapt(getattr(image, role))
        return process.adapt(image).model_copy(update=nodes)

    @property
    def can_be_started(self) -> bool:
        return self.process is not None or self.is_embedded

    @property
    def is_embedded(self) -> bool:
        """Whether it is a library inside the client: one process at a time has its data folder open."""
        return bool(self.binding.endpoint.folder)

    @property
    def has_address(self) -> bool:
        """Whether its clients connect to servers."""
        return self.has_client and not self.is_embedded

    @property
    def has_client(self) -> bool:
        """Whether any client reaches its data."""
        return bool(self.binding.endpoint.addresses)

    @property
    def stock_bindings(self) -> list[str]:
        """Names of the stock bindings that reach it, and of the folders in which distributions keep them."""
        binding = self.stock.binding if self.stock else self.binding
        names = {binding.name, *binding.also}
        return sorted(names | {name.partition("-")[0] for name in names})

    @property
    def flavours(self) -> list[str]:
        """Flavours of the clients that can drive it."""
        reachable = {OWN_FLAVOUR: self.own_client, STOCK_FLAVOUR: self.has_address, GO_FLAVOUR: self.go is not None}
        return [flavour for flavour, exists in reachable.items() if exists]

    def client_problem(self, flavour: str, client: str, *, external: bool) -> str:
        """Why no client of the flavour can drive a database of this system; empty where one can.

        `client` names the stock binding ("ycsb-0.17.0/redis") or go-ycsb's driver; `external`: its servers are
        somebody else's.
        """
        if self.is_embedded:
            if flavour == OWN_FLAVOUR and not external:
                return ""
            return LIBRARY_IN_CLIENT.format(system=self.name)
        if flavour == GO_FLAVOUR:
            return self._go_problem(client, external=external)
        names = ", ".join(self.stock_bindings)
        if flavour == OWN_FLAVOUR:
            if self.own_client:
                return ""
            return NO_OWN_BINDING.format(system=self.name, bindings=names)
        if client.rpartition("/")[2] not in self.stock_bindings:
            return BINDING_CANNOT_DRIVE.format(client=client or "No binding", system=self.name, bindings=names)
        if external:
            return ""
        return STOCK_DRIVES_EXTERNAL

    def _go_problem(self, client: str, *, external: bool) -> str:
        if self.go is None:
            return NO_GO_DRIVER.format(system=self.name)
        driver = self.go.binding.name
        if client.rpartition("/")[2] != driver:
            return DRIVER_CANNOT_DRIVE.format(client=client or "No driver", system=self.name, driver=driver)
        if external:
            return ""
        return GO_DRIVES_EXTERNAL

    def with_client(self, flavour: str) -> "System":
        """This system as a client of the flavour reaches it; with no client of the flavour it stays as it is."""
        client = {STOCK_FLAVOUR: self.stock, GO_FLAVOUR: self.go}.get(flavour)
        if client is None:
            return self
        modes = {}
        for slug, mode in self.modes.items():
            changes = {"client_properties": client.modes.get(slug, {}), "no_client": client.no_modes.get(slug, "")}
            modes[slug] = mode.model_copy(update=changes)
        return self.model_copy(
            update={
                "own_client": False,
                "administered": self.administered and client.administered,
                "binding": client.binding,
                "modes": modes,
            }
        )

    def with_own_modes(self, own_modes: Mapping[str, OwnMode]) -> "System":
        """With the modes that the owner of a database stated; a copy of a mode that is not here is left out."""
        own = {slug: self._own_mode(slug, mode) for slug, mode in own_modes.items() if mode["base"] in self.modes}
        if own:
            return self.model_copy(update={"modes": {**self.modes, **own}})
        return self

    def _own_mode(self, slug: str, own: OwnMode) -> Mode:
        base = self.modes[own["base"]]
        return base.model_copy(
            update={
                "slug": slug,
                "name": own["name"],
                "durability": Durability.from_dict(own["durability"]),
                "server_settings": own["server_settings"],
                "client_properties": own["client_properties"],
                # What the copied mode relies on is still read back, unless the copy sets it.
                "readback": {**base.readback, **own["server_settings"]},
                "notes": f"Stated by the owner of this database, as a copy of {base.slug}.",
                "base": base.slug,
            }
        )

    def check_own_mode(self, slug: str, own: OwnMode) -> OwnMode:
        """The mode with its record and settings in canonical form. Raises PropertyError, whose names are those keys."""
        problems: dict[str, str] = {}
        if not slug.endswith(STATED_SUFFIX) or slug in self.modes:
            problems["name"] = f"The name of an own mode ends with {STATED_SUFFIX}."
        if own["base"] not in self.modes:
            problems["base"] = str(UnknownMode(own["base"], self.modes))
        checked = own.copy()
        try:
            checked["durability"] = Durability.from_dict(own["durability"]).model_dump()
        except PropertyError as error:
            problems |= error.problems
        binding, endpoint = self.binding, self.binding.endpoint
        secret = {name for name, declared in binding.properties.items() if declared.secret}
        reserved = {*endpoint.addresses, *endpoint.parts, *binding.fixed, *secret}
        refused = [name for name in own["client_properties"] if name in reserved]
        for key, declared in (("server_settings", self.settings), ("client_properties", binding.properties)):
            values = cast(dict[str, dict[str, str]], checked)
            try:
                values[key] = check_properties(declared, values[key])
            except PropertyError as error:
                problems[key] = str(error)
        try:
            self._refuse_variables(own["client_properties"])
        except PropertyError as error:
            problems["client_properties"] = str(error)
        if refused:
            problems["client_properties"] = f"No durability mode decides {', '.join(refused)}: leave it out."
        if problems:
            raise PropertyError(problems)
        return checked

    def mode(self, slug: str) -> Mode:
        """The mode, or UnknownMode naming the nearest."""
        if slug not in self.modes:
            raise UnknownMode(slug, self.modes)
        return self.modes[slug]

    @property
    def governed_settings(self) -> frozenset[str]:
        """Server settings that the durability modes decide, and therefore no database may."""
        return frozenset().union(*(mode.server_settings for mode in self.modes.values()))

    @property
    def governed_properties(self) -> frozenset[str]:
        """Client properties that the durability modes decide, and therefore no database may."""
        governed = frozenset[str]().union(*(mode.client_properties for mode in self.modes.values()))
        return governed - self.binding.read_choices.keys()

    def find_durability(self, mode: Mode, properties: Mapping[str, str]) -> Durability:
        """The mode's record with a database's client properties: these choose whom reads ask, if the mode does not.

        A mode that states more, or less, than the default of such a property has decided it.
        """
        durability = mode.durability
        for name, choices in self.binding.read_choices.items():
            is_default = durability.reads == choices.get(self.binding.properties[name].default or "")
            if name in properties and name not in mode.client_properties and is_default:
                # A database may have a value of an earlier catalog.
                reads = choices.get(properties[name], durability.reads)
                durability = durability.model_copy(update={"reads": reads})
        return durability

    def check_settings(self, values: Mapping[str, object]) -> dict[str, str]:
        """The server settings of a database in canonical form, or PropertyError."""
        return _check({**self.settings, **self._describe_unchecked(values)}, values, self.governed_settings)

    def _describe_unchecked(self, names: Iterable[str]) -> dict[str, Property]:
        """Of these the settings beside those of the catalog. Raises PropertyError."""
        own = {name: name.removeprefix(UNCHECKED) for name in names if name.startswith(UNCHECKED)}
        problems = {
            name: KNOWN_SETTING.format(name=bare, prefix=UNCHECKED)
            for name, bare in own.items()
            if bare in self.settings
        }
        problems |= {
            name: NO_SETTING_NAME.format(name=name[:60])
            for name, bare in own.items()
            if not re.fullmatch(_UNCHECKED_NAME, bare, re.ASCII)
        }
        if problems:
            raise PropertyError(problems)
        return {name: Property(name=name) for name in own}

    def check_binding_properties(self, values: Mapping[str, object]) -> dict[str, str]:
        """The client properties of a database in canonical form, or PropertyError."""
        self._refuse_variables(values)
        return _check(
            self.binding.properties, values, self.governed_properties, self.binding.endpoint.url, self.binding.fixed
        )

    def _refuse_variables(self, values: Mapping[str, object]) -> None:
        """go-ycsb expands variables wherever a value has them and knows no way to escape them. Raises PropertyError."""
        if self.go is None or self.binding is not self.go.binding:
            return
        problems = {
            name: f"{name} must not contain ${{: go-ycsb replaces ${{NAME}} by a variable of its environment. Write "
            "another value, or choose another client."
            for name, value in values.items()
            if "${" in str(value)
        }
        if problems:
            raise PropertyError(problems)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All systems. `digest` is over the files they were read from, so that a run can say which catalog it used."""

    systems: dict[str, System] = field(default_factory=dict)
    digest: str = ""

    def system(self, slug: str, flavour: str = "", own_modes: Mapping[str, OwnMode] = MappingProxyType({})) -> System:
        """The system of that slug or alias, as a client of the flavour reaches it, or UnknownSystem.

        `own_modes` are those of a database.
        """
        if slug in self.systems:
            return self.systems[slug].with_client(flavour).with_own_modes(own_modes)
        for system in self.systems.values():
            if slug.lower() in system.aliases:
                return system.with_client(flavour).with_own_modes(own_modes)
        raise UnknownSystem(slug, self.systems)

    def get(
        self, slug: str, flavour: str = "", own_modes: Mapping[str, OwnMode] = MappingProxyType({})
    ) -> System | None:
        """As `system`; None for a system that has left the catalog, as those of stored rows may have."""
        try:
            return self.system(slug, flavour, own_modes)
        except UnknownSystem:
            return None


def _check(
    declared: Mapping[str, Property],
    values: Mapping[str, object],
    governed: frozenset[str],
    url: str = "",
    fixed: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    values = use_declared_names(declared, values)
    problems: dict[str, str] = {name: DECIDED_BY_MODE.format(name=name) for name in values if name in governed}
    if url and url in values:
        problems[url] = MADE_OF_ADDRESSES.format(name=url)
    problems |= {name: ALWAYS_FIXED.format(name=name, value=fixed[name]) for name in fixed.keys() & values.keys()}
    checked: dict[str, str] = {}
    try:
        checked = check_properties(declared, {name: value for name, value in values.items() if name not in problems})
    except PropertyError as error:
        problems.update(error.problems)
    if problems:
        raise PropertyError(problems)
    return checked
