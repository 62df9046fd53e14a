"""What every provisioner is asked for and what it gives back. No Django.

ProvisionError
+-- ServerDidNotStart    with the last lines of its log
+-- ServerDidNotStop     its process is still there
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runs.catalog import Mode, System, client_properties
from runs.queue.spec import BuildSpec
from workers.provision.administration import Administration
from workers.provision.administration.factory import administration_for
from workers.provision.administration.program import CheckAddress
from workers.provision.deadline import Deadline


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
