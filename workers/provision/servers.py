"""What every provisioner is asked for and what it gives back. No Django.

ProvisionError
+-- ServerDidNotStart    with the last lines of its log
+-- ServerDidNotStop     its process is still there
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypedDict

from benchsite.core.formatting import grouped
from runs.catalog import (
    Mode,
    ProcessRecipe,
    RenderedServer,
    System,
    client_properties,
    node_count,
    render_server,
    start_problem,
)
from runs.queue.spec import BuildSpec
from runs.timeouts import SERVER_START_TIMEOUT_S
from runs.ycsb.property_schema import PropertyError
from workers.provision.administration import Administration, AdministrationError, DriverError
from workers.provision.administration.admin_client import CheckAddress
from workers.provision.administration.factory import administration_for, get_address
from workers.provision.deadline import Deadline
from workers.provision.messages import OTHER_SERVER_ANSWERS


class ProvisionError(Exception):
    """A server could not be brought to the state that was asked for. The message says what to do."""


class ServerDidNotStart(ProvisionError):
    """The server is not up. `log_tail` is the end of what it wrote, and part of the message."""

    def __init__(self, message: str, log_tail: str = "") -> None:
        self.log_tail = log_tail
        if log_tail:
            message = f"{message}\nIts last log lines:\n{log_tail}"
        super().__init__(message)


class ServerDidNotStop(ProvisionError):
    """The server's process did not end, however it was asked."""


class NodeOrder(TypedDict):
    """What a load generator needs to start one node: of its database, and of its cluster."""

    system: str
    flavour: str
    own_modes: dict[str, Any]
    mode: str
    settings: dict[str, Any]
    binding_properties: dict[str, Any]  # without secrets
    version: str
    hosts: list[str]
    node: int  # from 0
    port: int
    cluster_port: int
    properties: dict[str, str]  # the server's own `password`, which the row encrypts


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """What should stand: one database in one mode.

    `deployment` names its data folder. `version` is what the database states, which chooses among installed versions.
    `address` (host:port) is for servers that somebody else runs.
    """

    deployment: str
    system: System
    mode: Mode
    settings: Mapping[str, object] = field(default_factory=dict)
    binding_properties: Mapping[str, object] = field(default_factory=dict)
    version: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()  # of all its nodes, as `address`
    networks: tuple[str, ...] = ()  # `Team.external_networks`
    hosts: tuple[str, ...] = ()  # of machines whose load generators start a node each; empty: this machine starts all
    replication_factor: int = 1
    build: BuildSpec | None = None  # what is started in the place of what the machine has
    cpus: tuple[int, ...] = ()  # of this machine that the server may use; empty: all
    deadline: Deadline | None = None  # after which an external server is not asked any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that is up and answers. `process` is plain JSON: its pid and start time where this machine shows them,
    and what finds it again (a guardian's token, a container's id); empty for external ones.
    """

    spec: ServerSpec
    host: str
    port: int
    version: str
    folder: str  # what lies below it is the server's; empty for external ones
    settings: dict[str, str]  # as rendered; empty for external ones
    process: dict[str, object]
    files: dict[str, str] = field(default_factory=dict, repr=False)  # its configuration files, without the password
    password: str = field(default="", repr=False)
    nodes: tuple[tuple[str, int], ...] = ()  # host and port of every node, where it has several or is an external one
    check_address: CheckAddress | None = None  # which refuses other addresses that an external one announces
    build: dict[str, str] = field(default_factory=dict)  # of an own build: its digest, and what its folder states
    container: dict[str, object] = field(default_factory=dict)  # plain JSON: image, digest, limits; empty without one

    def client_properties(self, workload: Mapping[str, str] | None = None) -> dict[str, str]:
        """The properties by which clients reach it, secrets included."""
        folder = ""
        if self.spec.system.is_embedded:
            folder = str(Path(self.folder, "data"))
        return client_properties(
            self.spec.system,
            self.spec.mode,
            self.spec.binding_properties,
            host=self.host,
            port=self.port,
            password=self.password,
            workload=workload,
            nodes=self.nodes,
            folder=folder,
        )

    @property
    def administration(self) -> Administration:
        """Only of a system that Benchsite can administer."""
        spec = self.spec
        # The properties of a stock client may hold the address within a URL.
        stated = {name: str(value) for name, value in spec.binding_properties.items()}
        properties = {**stated, **self.client_properties()}
        # A client that takes one address takes the primary's, which knows its replicas.
        takes_all = spec.system.binding.endpoint.nodes != "first"
        hosts = ",".join(host for host, _ in self.nodes if takes_all) or self.host
        return administration_for(
            spec.system,
            properties,
            (hosts, self.port),
            is_external=not self.folder,
            deadline=spec.deadline,
            check_address=self.check_address,
        )


class Provisioner(Protocol):
    """Starts and stops the server of one deployment. Its data outlives every stop and goes with `remove` alone."""

    spec: ServerSpec

    def start(self) -> Server:
        """Brings the server up and waits until it answers. Raises ServerDidNotStart."""

    def alive(self) -> bool:
        """Whether the server that was started is still there."""

    def stop(self, *, planned: bool = True) -> None:
        """Ends the server and waits until its process is gone. Planned: its data is kept in every durability mode;
        otherwise it is killed, and keeps what the mode promises. Harmless when it is down. Raises ServerDidNotStop."""

    def remove(self) -> None:
        """Ends the server and deletes its data folder."""

    def log_tail(self, lines: int = 30) -> str:
        """The last lines the server wrote in this life."""


HOST: Final = "127.0.0.1"
DISK_SETTINGS: Final = ("data_disk", "log_disk")
HIDDEN: Final = "(hidden)"  # stands for the password in what is kept of the configuration
# Between choosing a free port and listening on it somebody else may take it.
PORT_ATTEMPTS: Final = 3
PREPARE_ATTEMPTS: Final = 3


def get_host(node: int) -> str:
    """127.0.0.1 for the first node, 127.0.0.2 for the second; `node` counts from 0."""
    return f"127.0.0.{node + 1}"


@contextmanager
def _wrong_settings() -> Iterator[None]:
    try:
        yield
    except PropertyError as error:
        raise ServerDidNotStart(f"The database's settings are wrong: {error}") from error


class StartingProvisioner(ABC):
    """The server of one deployment: one node, or several where the catalog starts them."""

    def __init__(self, spec: ServerSpec, recipe: ProcessRecipe) -> None:
        self.spec, self.recipe = spec, recipe
        self.disks: Mapping[str, Path] = {}  # that a database may choose
        self._nodes = 1
        self._administration: Administration | None = None

    @abstractmethod
    def log_tail(self, lines: int = 30) -> str:
        """Of the first node, or of a further one that ended."""

    @property
    def administration(self) -> Administration:
        """That of a server whose start has begun."""
        assert self._administration is not None
        return self._administration

    def _count_nodes(self) -> None:
        """Raises ServerDidNotStart for settings that are wrong, and for a mode that so many nodes cannot have."""
        system, mode = self.spec.system, self.spec.mode
        with _wrong_settings():
            self._nodes = len(self.spec.hosts) or node_count(system, mode, self.spec.settings)
        self._check_disks()
        if problem := start_problem(system, mode, self._nodes):
            raise ServerDidNotStart(
                f"Mode {mode.slug} cannot be had: {problem}. Choose another mode, or an external cluster."
            )

    def _check_disks(self) -> None:
        for name in DISK_SETTINGS:
            if (disk := self.spec.settings.get(name)) and disk not in self.disks:
                raise ServerDidNotStart(
                    f"{name} is {disk}, which is no disk that this machine's operator names (BENCHSITE_DISKS) for "
                    "servers that run as processes."
                )

    def _get_host(self, node: int) -> str:
        """The address at which a node listens; `node` counts from 0."""
        if self.spec.hosts:
            return self.spec.hosts[node]
        return get_host(node)

    def _configure(
        self, port: int, password: str, node: int, *, host: str, folder: Path, cluster_port: int = 0
    ) -> RenderedServer:
        """A node's configuration and commands. Raises ServerDidNotStart for settings that are wrong."""
        spec = self.spec
        properties = {name: str(value) for name, value in spec.binding_properties.items()}
        recipe = self.recipe
        if self._nodes > 1:
            # The first node has another recipe than a single server only where others replicate it.
            recipe = recipe.adapt(recipe.replica if node else recipe.primary)
        with _wrong_settings():
            return render_server(
                spec.system,
                spec.mode,
                spec.settings,
                host=host,
                port=port,
                folder=folder,
                user=get_address(spec.system, properties).user,
                password=password,
                cluster_port=cluster_port,
                seeds=f"{self._get_host(0)}:{cluster_port}",
                # In the middle of its share of all tokens, which are 64 bits with a sign.
                token=-(2**63) + (2 * node + 1) * 2**63 // self._nodes,
                primary=self._get_host(0),
                node=node + 1,
                recipe=recipe,
            )

    def _describe(self, rendered: RenderedServer, password: str, *, host: str, folder: str) -> Server:
        """The server before it answers: without its version and its processes."""
        nodes: tuple[tuple[str, int], ...] = ()
        if self._nodes > 1:
            nodes = tuple((self._get_host(node), rendered.port) for node in range(self._nodes))
        return Server(
            spec=self.spec,
            host=host,
            port=rendered.port,
            version="",
            folder=folder,
            settings=rendered.settings,
            process={},
            files={name: text.replace(password, HIDDEN) for name, text in rendered.files.items()},
            password=password,
            nodes=nodes,
        )

    def _await_server(
        self,
        server: Server,
        rendered: RenderedServer,
        data: Path,
        *,
        wait_for_exit: Callable[[float], str],
        start_others: Callable[[], None],
    ) -> str:
        """The version of the server, once it answers, is the one that was started, and has what clients need.

        `data` is its data folder; `wait_for_exit` waits so many seconds and tells how the first node has ended, if it
        has. Raises ServerDidNotStart.
        """
        self._administration = administration_for(self.spec.system, server.client_properties())
        self._wait_until_ready(wait_for_exit)
        try:
            if Path(self.administration.data_folder()).resolve() != data.resolve():
                raise self._did_not_start(OTHER_SERVER_ANSWERS.format(port=rendered.port))
            start_others()
            self._prepare({**rendered.settings, "replication_factor": str(self.spec.replication_factor)})
            return self.administration.server_version()
        except AdministrationError as error:
            raise self._did_not_start(str(error)) from error

    def _prepare(self, schema: Mapping[str, str]) -> None:
        """On a busy machine a server that has just come up may be too slow for its driver's first calls."""
        for _ in range(PREPARE_ATTEMPTS - 1):
            with suppress(DriverError):
                return self.administration.prepare(schema)
        return self.administration.prepare(schema)

    def _wait_until_ready(self, wait_for_exit: Callable[[float], str]) -> None:
        end, pause_s = time.monotonic() + SERVER_START_TIMEOUT_S, 0.02
        while True:
            if problem := wait_for_exit(pause_s):
                raise self._did_not_start(problem)
            try:
                return self.administration.ping()
            except AdministrationError as error:
                if time.monotonic() > end:
                    raise self._did_not_start(
                        f"it did not answer within {grouped(SERVER_START_TIMEOUT_S)} s: {error}"
                    ) from error
            pause_s = min(pause_s * 1.5, 0.5)

    def _did_not_start(self, why: str) -> ServerDidNotStart:
        return ServerDidNotStart(
            f"{self.spec.system.name} in mode {self.spec.mode.slug} did not come up: {why}.", self.log_tail()
        )

    def _hangs(self, name: str) -> ServerDidNotStop:
        return ServerDidNotStop(
            f"{self.spec.system.name} ({name}) does not end: it hangs in the kernel. See the machine's own log; its "
            "disk may be the cause."
        )

    def _was_killed(self, problem: str, log_tail: str) -> ServerDidNotStop:
        """For a server that did not end as planned and was killed then."""
        return ServerDidNotStop(
            f"{self.spec.system.name} did not stop as planned and was killed: {problem}. Its data set may be "
            f"incomplete: load it again.\nIts last log lines:\n{log_tail}"
        )
