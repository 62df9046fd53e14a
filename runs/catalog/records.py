"""The catalog's typed records. The loader makes them from TOML; everybody else only reads them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from runs.catalog.durability import Durability
from runs.declared import Property, PropertyError, check_properties, nearest

# What an uploaded result may say instead of a system or a mode of the catalog. Nothing is known of either, so no result
# of theirs is ever compared by its durability.
OTHER_SYSTEM = "other"
UNKNOWN_MODE = "unknown"
UPLOAD_NAMES = {OTHER_SYSTEM: "another system", UNKNOWN_MODE: "unknown"}

ConfigFormat = Literal["redis", "postgresql"]
StopSignal = Literal["TERM", "INT", "QUIT"]
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class UnknownName(LookupError):
    """A name the catalog does not have. The message names the nearest one that it has."""

    what = "name"

    def __init__(self, name: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
        near = nearest(name, known)
        hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(known)}."
        super().__init__(f"There is no {self.what} {name[:60]!r} here. {hint}")


class UnknownSystem(UnknownName):
    what = "system"


class UnknownMode(UnknownName):
    what = "durability mode"


@dataclass(frozen=True, slots=True)
class Readback:
    """A setting to ask the running server for, and what it must answer for the mode to be in force."""

    setting: str
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One durability mode of a system: what it promises, and what makes it so."""

    slug: str
    name: str
    durability: Durability
    server_settings: dict[str, str]
    client_properties: dict[str, str]
    readback: tuple[Readback, ...]
    replicas_needed: int  # other copies that must be running for the mode to work at all
    notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Which client properties carry the server's address; empty where the system has no such thing."""

    host: str = ""
    port: str = ""
    user: str = ""
    password: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The YCSB client of a system: Benchsite's own where it is runnable, else the usual one of YCSB itself."""

    name: str
    java_class: str
    properties: dict[str, Property]
    endpoint: Endpoint
    when_scanning: dict[str, str]  # client properties that a workload with scans needs
    target: str = ""  # where a data set lies on a server, with {database} and {table}
    stored: str = field(default="", repr=False)  # what a data set consists of there, for whoever confirms it


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecipe:
    """How to run one server of a system as a plain process of this machine.

    Words in braces stand for what is known only at the start: {program} {bin} {folder} {config} {data} {host} {port}
    {user} {password} {password_file}.
    """

    program: str  # "redis-server"; where it lies is found when it is needed
    config_name: str
    config_format: ConfigFormat
    argv: tuple[str, ...]
    init_argv: tuple[str, ...]  # run once in an empty data folder; empty where there is nothing to do
    stop_signal: StopSignal  # what makes the server end in order
    fixed: dict[str, str]  # server settings that nobody may choose
    settings: dict[str, str]  # server settings of a database that does not choose them
    files: dict[str, str] = field(default_factory=dict)  # what lies beside its configuration, by name


class BadTag(ValueError):
    """A version that cannot be the tag of an image. The message says what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecipe:
    """How to run one server of a system in a container: its official image, told which program to start.

    `process` is what runs inside: the system's own recipe with the image's command lines. Programs are found by the
    image's PATH, so {program} and {bin} stand for nothing here.
    """

    repository: str
    tag: str  # of a database that states no version
    user: str  # the image's own account for the server
    process: ProcessRecipe

    def reference(self, version: str) -> str:
        """repository:tag; the version that a database states is the tag. Raises BadTag."""
        if version and not _TAG.fullmatch(version):
            raise BadTag(
                f"version {version[:60]!r} is no tag of the image {self.repository}: "
                f"write one such as {self.tag}, or leave the version empty for it."
            )
        return f"{self.repository}:{version or self.tag}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """How the output of YCSB and its relatives names a system; small letters throughout."""

    bindings: tuple[str, ...] = ()  # "cassandra2-cql", as after `ycsb run`
    classes: tuple[str, ...] = ()  # "cassandracqlclient", without the package, which has changed over the years
    jdbc: tuple[str, ...] = ()  # "mariadb" of jdbc:mariadb://...


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A database product. One that is not runnable is known for its uploaded results."""

    slug: str
    name: str
    aliases: tuple[str, ...]
    runnable: bool  # whether Benchsite can start one by itself and has a client for it
    verified: str  # on which real servers the modes were seen to work
    notes: str = field(repr=False)
    pitfalls: tuple[str, ...] = field(repr=False)  # what has misled measurements before, a sentence or two each
    recognition: Recognition = field(repr=False)
    binding: Binding = field(repr=False)
    settings: dict[str, Property] = field(repr=False)
    modes: dict[str, Mode] = field(repr=False)
    process: ProcessRecipe | None = field(repr=False)
    image: ImageRecipe | None = field(repr=False)

    def mode(self, slug: str) -> Mode:
        """The mode, or UnknownMode naming the nearest."""
        if slug not in self.modes:
            raise UnknownMode(slug, self.modes)
        return self.modes[slug]

    @property
    def governed_settings(self) -> frozenset[str]:
        """Server settings that the durability modes decide, and therefore no database may."""
        return frozenset(name for mode in self.modes.values() for name in mode.server_settings)

    @property
    def governed_properties(self) -> frozenset[str]:
        """Client properties that the durability modes decide, and therefore no database may."""
        return frozenset(name for mode in self.modes.values() for name in mode.client_properties)

    def check_settings(self, given: Mapping[str, object]) -> dict[str, str]:
        """The server settings of a database in canonical form, or PropertyError."""
        return _check(self.settings, given, self.governed_settings)

    def check_binding_properties(self, given: Mapping[str, object]) -> dict[str, str]:
        """The client properties of a database in canonical form, or PropertyError."""
        return _check(self.binding.properties, given, self.governed_properties)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All systems. `digest` is over the files they were read from, so that a run can say which catalog it used."""

    systems: dict[str, System] = field(default_factory=dict)
    digest: str = ""

    def system(self, slug: str) -> System:
        """The system of that slug or alias, or UnknownSystem naming the nearest."""
        if slug in self.systems:
            return self.systems[slug]
        for system in self.systems.values():
            if slug.lower() in system.aliases:
                return system
        raise UnknownSystem(slug, self.systems)


def _check(declared: Mapping[str, Property], given: Mapping[str, object], governed: frozenset[str]) -> dict[str, str]:
    problems: dict[str, str] = {
        name: f"{name} is decided by the durability mode: choose a mode instead of setting it here."
        for name in given
        if name in governed
    }
    checked: dict[str, str] = {}
    try:
        checked = check_properties(declared, {name: value for name, value in given.items() if name not in governed})
    except PropertyError as error:
        problems.update(error.problems)
    if problems:
        raise PropertyError(problems)
    return checked
