"""Servers that somebody else runs: Benchsite checks the address, connects, and starts nothing. No Django."""

import dataclasses
import socket
from collections.abc import Iterable, Sequence

from benchsite.core.addresses import AddressRefused, refuse_address, split_address
from runs.ycsb.property_schema import PropertyError
from workers.provision.administration import AdministrationError
from workers.provision.servers import Server, ServerDidNotStart, Wanted

CONNECT_TIMEOUT_S = 5.0


class ExternalProvisioner:
    """A server at `wanted.address`, as host, host:port or [IPv6]:port, and the other nodes of its cluster.

    A system that Benchsite cannot administer is alive while every node accepts a TCP connection.
    """

    def __init__(
        self, wanted: Wanted, *, allowed_networks: Sequence[str], own_servers: Iterable[tuple[str, int]] = ()
    ) -> None:
        self.wanted = wanted
        self._allowed_networks = tuple(allowed_networks)
        self._own_servers = tuple(own_servers)
        self._server: Server | None = None

    def start(self) -> Server:
        """Connects. Raises ServerDidNotStart for an address nobody may use and a server that clients could not use."""
        wanted, system = self.wanted, self.wanted.system
        takes_all = system.binding.endpoint.nodes != "first"
        nodes = [self._checked(text) for text in (wanted.addresses if takes_all else ()) or (wanted.address,)]
        host, port = nodes[0]
        server = Server(
            wanted=wanted,
            host=host,
            port=port,
            version=wanted.version,
            folder="",
            settings={},
            process={},
            password=str(wanted.binding_properties.get(system.binding.endpoint.password) or ""),
            nodes=tuple(nodes),
            check_address=self._refuse,
        )
        try:
            server.client_properties()
            _ping(server)
            version = server.administration.server_version() if system.administered else wanted.version
        except (AdministrationError, PropertyError, OSError) as error:
            if system.administered:
                server.administration.close()
            raise ServerDidNotStart(f"The server at {wanted.address} cannot be used: {error}") from error
        self._server = dataclasses.replace(server, version=version)
        return self._server

    def _checked(self, text: str) -> tuple[str, int]:
        """The address that was checked, not the name, which might point elsewhere a moment later."""
        try:
            host, port = split_address(text, self.wanted.system.binding.default_port)
            return self._refuse(host, port), port
        except AddressRefused as error:
            raise ServerDidNotStart(str(error)) from error

    def _refuse(self, host: str, port: int) -> str:
        return refuse_address(host, port, self._allowed_networks, own_servers=self._own_servers)

    def alive(self) -> bool:
        if self._server is None:
            return False
        try:
            _ping(self._server)
        except (AdministrationError, OSError):
            return False
        return True

    def stop(self, *, planned: bool = True) -> None:
        """Forgets the server, which goes on running."""
        if self._server is not None and self.wanted.system.administered:
            self._server.administration.close()
        self._server = None

    def remove(self) -> None:
        """Nothing of an external server is Benchsite's to remove."""
        self.stop()

    def log_tail(self, lines: int = 30) -> str:
        return ""


def _ping(server: Server) -> None:
    """Raises AdministrationError, or OSError naming the node that accepts no connection."""
    if server.wanted.system.administered:
        server.administration.ping()
        return
    for host, port in server.nodes:
        try:
            socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
        except OSError as error:
            raise OSError(f"{host} accepts no connection on port {port} ({error}).") from error
