"""The administration of a system: a class for Redis, Redis Cluster and PostgreSQL, and one for all others."""

from collections.abc import Mapping

from runs.catalog import System
from workers.provision.administration.admin_client import CheckAddress, ProgramAdministration, cluster_nodes
from workers.provision.administration.admin_program import direct_administration
from workers.provision.administration.base import Address, Administration
from workers.provision.deadline import Deadline


def administration_for(
    system: System,
    client_properties: Mapping[str, str],
    server: tuple[str, int] | None = None,
    *,
    is_external: bool = False,
    deadline: Deadline | None = None,
    check_address: CheckAddress | None = None,
) -> Administration:
    """Speaks to the same server as clients with these properties, as the same user, in the same database.

    `server`: its host and port, where the properties do not show them. A process with limits asks an external one; its
    calls end at the `deadline`, which its start postpones. It connects to no address for which `check_address` raises
    ValueError.
    """
    address = get_address(system, client_properties, server)
    if system.admin_class or is_external:
        return ProgramAdministration(system, address, client_properties, deadline, check_address)
    return direct_administration(system.slug, address, cluster_nodes(system, client_properties, address.port))


def get_address(system: System, client_properties: Mapping[str, str], server: tuple[str, int] | None = None) -> Address:
    """The address in the binding's properties; what is not there has the property's default."""

    def value(name: str) -> str:
        if not name:
            return ""
        return client_properties.get(name) or system.binding.properties[name].default or ""

    endpoint = system.binding.endpoint
    host, port = server or (value(endpoint.host), int(value(endpoint.port)))
    return Address(
        host=host,
        port=port,
        user=value(endpoint.user),
        password=value(endpoint.password),
        database=value(endpoint.database),
        ssl=value(endpoint.ssl),
        pems=(value(endpoint.ca), value(endpoint.certificate), value(endpoint.key)),
    )
