"""Servers that somebody else runs: Benchsite checks the address, connects, and starts nothing. No Django."""

import contextlib
import dataclasses
import socket
from collections.abc import Iterable, Sequence

from benchsite.core.addresses import AddressRefused, join_address, refuse_address, split_address
from runs.ycsb.property_schema import PropertyError
from workers.provision.administration import AdministrationError
from workers.provision.deadline import Deadline
from workers.provision.servers import Server, ServerDidNotStart, ServerSpec

VERIFIES_NAME = "verify-full"  # of the choices of TLS, in every system
CONNECT_TIMEOUT_S = 5.0
MIN_CONNECT_TIMEOUT_S = 0.1  # after the deadline, so that one message names the server
MAX_NODES_S = 2.0  # for the connections to all nodes that a server names


class ExternalProvisioner:
    """A server at `spec.address`, as host, host:port or [IPv6]:port, and the other nodes of its cluster.

    A system that Benchsite cannot administer is alive while every node accepts a TCP connection.
    """

    def __init__(
        self, spec: ServerSpec, *, allowed_networks: Sequence[str], own_servers: Iterable[tuple[str, int]] = ()
    ) -> None:
        self.spec = spec
        self._allowed_networks = tuple(allowed_networks)
        self._own_servers = tuple(own_servers)
        self._server: Server | None = None

    def _check_nodes(self) -> list[tuple[str, int]]:
        """Host and port of every server that clients connect to. Raises ServerDidNotStart."""
        addresses: Sequence[str] = [self.spec.address]
        if self.spec.addresses and self.spec.system.binding.endpoint.nodes != "first":
            addresses = self.spec.addresses
        return [self._check(address) for address in addresses]

    def connect(self) -> None:
        """To every server, and no further. Raises ServerDidNotStart, OSError naming the one that does not accept."""
        for host, port in self._check_nodes():
            _connect(self._refuse(host, port), port, self._connect_timeout_s)

    @property
    def _connect_timeout_s(self) -> float:
        if self.spec.deadline is None:
            return CONNECT_TIMEOUT_S
        return max(MIN_CONNECT_TIMEOUT_S, min(CONNECT_TIMEOUT_S, self.spec.deadline.left_s))

    def start(self) -> Server:
        """Connects. Raises ServerDidNotStart for an address nobody may use and a server that clients could not use."""
        spec, system = self.spec, self.spec.system
        nodes = self._check_nodes()
        host, port = nodes[0]
        server = Server(
            spec=spec,
            host=host,
            port=port,
            version=spec.version,
            folder="",
            settings={},
            process={},
            password=str(spec.binding_properties.get(system.binding.endpoint.password) or ""),
            nodes=tuple(nodes),
            check_address=self._refuse,
        )
        try:
            server.client_properties()
        except PropertyError as error:  # Without properties there is no administration to close.
            raise ServerDidNotStart(f"The server at {spec.address} cannot be used: {error}") from error
        try:
            self._ping(server)
            if system.administered:
                server = dataclasses.replace(server, version=server.administration.server_version())
        except (AdministrationError, OSError) as error:
            if system.administered:
                server.administration.close()
            raise ServerDidNotStart(f"The server at {spec.address} cannot be used: {error}") from error
        self._server = server
        return server

    def find_others(self) -> tuple[list[str], list[str]]:
        """The nodes that the server names beside these, as host:port, and why more of them cannot be used.

        Raises AdministrationError.
        """
        assert self._server is not None
        named = self._server.administration.list_nodes()
        if not named:
            return [], []
        try:
            stated = {(self._refuse(host, port), port) for host, port in self._server.nodes}
        except AddressRefused as error:  # A name may no longer be resolved, or lead elsewhere by now.
            return [], [str(error)]
        others, problems = [], []
        deadline = Deadline(MAX_NODES_S)
        for node in named:
            if node in stated:
                continue
            try:
                _connect(self._refuse(*node), node[1], max(MIN_CONNECT_TIMEOUT_S, deadline.left_s))
                others.append(join_address(*node))
            except (AddressRefused, OSError) as error:
                problems.append(str(error))
        return others, problems

    def _check(self, text: str) -> tuple[str, int]:
        """The address that was checked, not the name, which might point elsewhere a moment later. Only a server that
        proves its name by a certificate is called by it.
        """
        try:
            host, port = split_address(text, self.spec.system.binding.default_port)
            address = self._refuse(host, port)
        except AddressRefused as error:
            raise ServerDidNotStart(str(error)) from error
        if VERIFIES_NAME in self.spec.binding_properties.values():
            return host, port
        return address, port

    def _refuse(self, host: str, port: int) -> str:
        return refuse_address(host, port, self._allowed_networks, own_servers=self._own_servers)

    def _ping(self, server: Server) -> None:
        """Raises AdministrationError, or OSError naming the node that accepts no connection."""
        if server.spec.system.administered:
            server.administration.ping()
            return
        for host, port in server.nodes:
            _connect(self._refuse(host, port), port, CONNECT_TIMEOUT_S)

    def alive(self) -> bool:
        with contextlib.suppress(AdministrationError, OSError):
            if self._server is not None:
                self._ping(self._server)
                return True
        return False

    def stop(self, *, planned: bool = True) -> None:
        """Forgets the server, which goes on running."""
        if self._server is not None and self.spec.system.administered:
            self._server.administration.close()
        self._server = None

    def remove(self) -> None:
        """Nothing of an external server is Benchsite's to remove."""
        self.stop()

    def log_tail(self, lines: int = 30) -> str:
        return ""


def _connect(host: str, port: int, timeout_s: float) -> None:
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError as error:
        raise OSError(f"{host} accepts no connection on port {port} ({error.strerror or error}).") from error
