"""The servers and options that a mongodb+srv:// name stands for, by its records SRV and TXT."""

from typing import Any, Final

from benchsite.core.addresses import REQUEST_LOOKUP_TIMEOUT_S, start_lookup
from workers.probe.messages import NO_SEED_LIST, SERVER_OUTSIDE
from workers.provision.deadline import Deadline

SERVICE: Final = "_mongodb._tcp."
MAX_SERVERS: Final = 50
MIN_LABELS: Final = 3  # of a name whose domain is what follows its first label: two, and the root


class SeedListError(Exception):
    """There is no such record, or it names servers elsewhere. The message is fit for a page."""


def read_seed_list(name: str) -> tuple[str, str]:
    """The servers as comma-separated host:port, and the options as of a URL; both may come from anybody's name server.

    Raises SeedListError, and LookupTimedOut where too many wait for name servers.
    """
    deadline = Deadline(REQUEST_LOOKUP_TIMEOUT_S)
    done = start_lookup()
    try:
        servers = _ask(SERVICE + name, "SRV", deadline)[:MAX_SERVERS]
        texts = _ask(name, "TXT", deadline) if servers else []
    finally:
        done()
    if not servers:
        raise SeedListError(NO_SEED_LIST.format(record=SERVICE + name[:200]))
    # Name servers turn the order of equal records with each answer.
    servers.sort(key=lambda record: (record.target, record.port))
    _refuse_other_domains(name, servers)
    hosts = [record.target.to_text(omit_final_dot=True).lower() for record in servers]
    addresses = ", ".join(f"{host}:{record.port}" for host, record in zip(hosts, servers, strict=True))
    options = [b"".join(record.strings).decode(errors="replace") for record in texts]
    return addresses, options[0] if len(options) == 1 else ""


def _refuse_other_domains(name: str, servers: list[Any]) -> None:
    """As drivers do: whoever answers for the name may send clients to servers of its own domain alone. The domain of a
    name of two labels would be a top-level one, with everybody's servers.
    """
    from dns.name import from_text

    domain = from_text(name)
    if len(domain.labels) > MIN_LABELS:
        domain = domain.parent()
    for target in (record.target for record in servers):
        if target == domain or not target.is_subdomain(domain):
            outside, inside = (host.to_text(omit_final_dot=True).lower() for host in (target, domain))
            raise SeedListError(SERVER_OUTSIDE.format(name=name, outside=outside, inside=inside))


def _ask(name: str, kind: str, deadline: Deadline) -> list[Any]:
    """The records; none where the name server has none, is silent until the `deadline`, or is not there."""
    # It takes a sixth of a second of each process that imports it, and few ask for such a name.
    from dns.exception import DNSException
    from dns.resolver import get_default_resolver

    try:
        resolver = get_default_resolver()
        return list(resolver.resolve(name, kind, lifetime=deadline.left_s, search=False))
    except (DNSException, UnicodeError):
        return []
