"""The servers and options that a mongodb+srv:// name stands for, by its records SRV and TXT."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # It takes a sixth of a second of each process that imports it, and few ask for such a name.
    from dns.resolver import Resolver

SERVICE: Final = "_mongodb._tcp."
TIMEOUT_S: Final = 3.0  # of each of the two questions
MAX_SERVERS: Final = 50


class SeedListError(Exception):
    """There is no such record, or it names servers elsewhere. The message is fit for a page."""


def read_seed_list(name: str) -> tuple[str, str]:
    """The servers as comma-separated host:port, and the options as of a URL; both may come from anybody's name server.

    Raises SeedListError.
    """
    from dns.resolver import get_default_resolver

    resolver = get_default_resolver()
    servers = _ask(resolver, SERVICE + name, "SRV")[:MAX_SERVERS]
    if not servers:
        raise SeedListError(f"The name server states no record SRV {SERVICE}{name[:200]}.")
    # Name servers turn the order of equal records with each answer.
    servers.sort(key=lambda record: (record.target, record.port))
    hosts = [record.target.to_text(omit_final_dot=True).lower() for record in servers]
    # As drivers do: whoever answers for the name may send clients to servers of its own domain alone.
    domain = name.rstrip(".").lower().partition(".")[2]
    outside = [host for host in hosts if not host.endswith(f".{domain}")]
    if outside:
        raise SeedListError(f"The record SRV of {name} names {outside[0]}, which is not of the domain {domain}.")
    addresses = ", ".join(f"{host}:{record.port}" for host, record in zip(hosts, servers, strict=True))
    options = [b"".join(record.strings).decode(errors="replace") for record in _ask(resolver, name, "TXT")]
    return addresses, options[0] if len(options) == 1 else ""


def _ask(resolver: "Resolver", name: str, kind: str) -> list[Any]:
    """The records; none where the name server has none or is silent."""
    from dns.exception import DNSException

    try:
        return list(resolver.resolve(name, kind, lifetime=TIMEOUT_S, search=False))
    except (DNSException, UnicodeError):
        return []
