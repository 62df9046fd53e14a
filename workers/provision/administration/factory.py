"""The administration of a system: a class for Redis, Redis Cluster and PostgreSQL, and one for all others."""

from collections.abc import Mapping

from benchsite.core.addresses import split_address
from runs.catalog import System
from workers.provision.administration.base import (
    Address,
    Administration,
)
from workers.provision.administration.java import JavaAdministration
from workers.provision.administration.postgresql import PostgresqlAdministration
from workers.provision.administration.redis import RedisAdministration
from workers.provision.administration.redis_cluster import RedisClusterAdministration


def administration_for(
    system: System, client_properties: Mapping[str, str], server: tuple[str, int] | None = None
) -> Administration:
    """Speaks to the same server as clients with these properties, as the same user, in the same database.

    `server`: its host and port, where the properties do not show them.
    """
    address = address_of(system, client_properties, server)
    if system.admin_class:
        return JavaAdministration(system, address, client_properties)
    match system.slug:
        case "redis":
            return RedisAdministration(address)
        case "redis-cluster":
            nodes = client_properties[system.binding.endpoint.host].split(",")
            return RedisClusterAdministration(address, [split_address(node, address.port) for node in nodes])
        case "postgresql":
            return PostgresqlAdministration(address)
        case _:
            raise ValueError(f"Benchsite cannot administer {system.name} yet.")


def address_of(system: System, client_properties: Mapping[str, str], server: tuple[str, int] | None = None) -> Address:
    """The address in the binding's properties; what is not there has the property's default."""

    def value(name: str) -> str:
        if not name:
            return ""
        return client_properties.get(name) or system.binding.properties[name].default or ""

    endpoint = system.binding.endpoint
    return Address(
        host=server[0] if server else value(endpoint.host),
        port=server[1] if server else int(value(endpoint.port)),
        user=value(endpoint.user),
        password=value(endpoint.password),
        database=value(endpoint.database),
        ssl=value(endpoint.ssl),
    )
