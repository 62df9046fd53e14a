"""Servers that somebody else runs: Benchsite checks the address, connects, and starts nothing. No Django."""

from collections.abc import Iterable, Sequence

from benchsite.addresses import AddressRefused, refuse_address, split_address
from runs.catalog import client_properties
from workers.provision.administration import AdministrationError, administration_for
from workers.provision.servers import Server, ServerDidNotStart, Wanted


class ExternalProvisioner:
    """A server at `wanted.address`, as host, host:port or [IPv6]:port."""

    def __init__(
        self, wanted: Wanted, *, allowed_networks: Sequence[str], own_servers: Iterable[tuple[str, int]] = ()
    ) -> None:
        self.wanted = wanted
        self._allowed_networks = tuple(allowed_networks)
        self._own_servers = tuple(own_servers)
        self._server: Server | None = None

    def start(self) -> Server:
        """Connects. Raises ServerDidNotStart for an address nobody may use and a server that clients could not use."""
        system = self.wanted.system
        default_port = int(system.binding.properties[system.binding.endpoint.port].default or 0)
        # Connected to is the address that was checked, not the name, which might point elsewhere a moment later.
        try:
            host, port = split_address(self.wanted.address, default_port)
            host = refuse_address(host, port, self._allowed_networks, own_servers=self._own_servers)
        except AddressRefused as error:
            raise ServerDidNotStart(str(error)) from error
        password = str(self.wanted.binding_properties.get(system.binding.endpoint.password) or "")
        properties = client_properties(system, self.wanted.mode, self.wanted.binding_properties, host=host, port=port)
        administration = administration_for(system, properties)
        try:
            administration.ping()
            version = administration.server_version()
        except AdministrationError as error:
            raise ServerDidNotStart(f"The server at {self.wanted.address} cannot be used: {error}") from error
        self._server = Server(
            wanted=self.wanted,
            host=host,
            port=port,
            version=version,
            folder="",
            settings={},
            process={},
            password=password,
        )
        return self._server

    def alive(self) -> bool:
        if self._server is None:
            return False
        try:
            self._server.administration.ping()
        except AdministrationError:
            return False
        return True

    def stop(self, *, planned: bool = True) -> None:
        """Forgets the server, which goes on running."""
        self._server = None

    def remove(self) -> None:
        """Nothing of an external server is Benchsite's to remove."""
        self._server = None

    def log_tail(self, lines: int = 30) -> str:
        return ""
