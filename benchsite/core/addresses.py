"""Which addresses people may have the site connect to: those of external servers, and those of webhooks.

Asked when one is saved and again before connecting. The check is on the resolved address, and the caller connects to
the address it got back rather than to the name, so that a name cannot point elsewhere a moment later.
"""

import ipaddress
import queue
import re
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchsite.core.messages import (
    MAY_BE_ALLOWED,
    NAME_SERVERS_FAILED,
    NEVER_ALLOWED,
    NO_ADDRESS,
    NO_SINGLE_MACHINE,
    NO_WEBHOOK_NETWORK,
    NO_WEBHOOK_PORT,
    OUTSIDE_NETWORKS,
    OWN_SERVER_NEVER_ALLOWED,
    PLAIN_HTTP,
    SERVER_OF_SITE,
    THIS_MACHINE,
    UNKNOWN_NAME,
)

PRIVATE_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
# Where clouds tell a machine its credentials, beside the link-local 169.254.169.254: Amazon, Alibaba, Azure, Oracle.
CLOUD_METADATA = frozenset(
    map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)
_LOCAL = "this machine"  # Stands for every address by which this machine reaches itself.
UNKNOWN = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})  # errors by which a name server knows no such name
USUAL_PORTS = {"postgresql": 5432, "postgres": 5432, "redis": 6379, "rediss": 6379}
LOOKUP_TIMEOUT_S = 8.0
REQUEST_LOOKUP_TIMEOUT_S = 1.0  # while somebody waits for a page
MAX_LOOKUPS = 8  # of typed names, in one process: a resolver may wait half a minute for a name server
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)
_ADDRESS = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252}))(?::(?P<port>[0-9]{0,5}))?", re.A
)
# By these an IPv6 network reaches IPv4 addresses, whichever way its translator is set up.
_TRANSLATED = [ipaddress.IPv6Network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96")]
# Addresses of nobody's server which `is_global` of this Python takes for public: IANA's special-purpose networks, and
# the address by which every machine in Azure reaches its host.
_SPECIAL = [
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "2001::/23",
        "2002::/16",
        "2620:4f:8000::/48",
        "3fff::/20",
    )
]
_UNICAST = ipaddress.IPv6Network("2000::/3")  # Nothing else of IPv6 is given to anybody who runs servers for all.
_BARE_V6 = re.compile(r"[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]{0,40}")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(ValueError):
    """The address must not be connected to. The message says why, and who can change that."""


class NotAllowedYet(AddressRefused):
    """An operator can allow a network that has the address."""


class LookupTimedOut(AddressRefused):
    """No name server answered in time."""


def refuse_webhook_address(
    host: str,
    port: int,
    allowed_networks: Sequence[str],
    *,
    own_servers: Iterable[tuple[str, int]] = (),
    allowed_ports: Iterable[int] = (443,),
    encrypted: bool,
    timeout_s: float = LOOKUP_TIMEOUT_S,
) -> str:
    """The IP address to send a webhook for host:port to, or AddressRefused.

    Any public address will do over an encrypted connection to one of `allowed_ports`. What is loopback, link-local,
    private, reserved or this machine's own must lie in a network that the operator allows, as must whatever is told
    without encryption. The site's own servers are never told anything. Every address that the name resolves to must be
    allowed.
    """
    addresses = resolve(host, port, timeout_s)
    networks = [ipaddress.ip_network(network) for network in allowed_networks]
    site_servers = _resolve_own(own_servers, timeout_s)
    machine_addresses = own_addresses()
    for address in addresses:
        server = _describe_server(host, address)
        if (address, port) in site_servers:
            raise AddressRefused(SERVER_OF_SITE.format(server=server, port=port))
        if any(address in network for network in networks):
            continue
        reason = _explain_refusal(address, machine_addresses)
        if not reason and not _is_public(address):
            reason = "no public address"
        if reason:
            raise AddressRefused(NO_WEBHOOK_NETWORK.format(server=server, reason=reason))
        if not encrypted:
            raise AddressRefused(PLAIN_HTTP.format(server=server))
        if port not in allowed_ports:
            ports = ", ".join(map(str, allowed_ports))
            raise AddressRefused(NO_WEBHOOK_PORT.format(port=port, server=server, ports=ports))
    return str(addresses[0])


def _describe_server(host: str, address: IPAddress) -> str:
    """The name as it was written, with its address."""
    if host == str(address):
        return host
    return f"{host} ({address})"


def split_address(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`; with a default the port may be left out. Raises AddressRefused."""
    text = text.strip()
    if default_port is not None and _BARE_V6.fullmatch(text):
        return text, default_port
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise AddressRefused(NO_ADDRESS.format(text=text[:60]))
    port = match["port"] or default_port
    if port is None:
        raise AddressRefused(NO_ADDRESS.format(text=text[:60]))
    return match["v6"] or match["host"], int(port)


def join_address(host: str, port: int) -> str:
    """host:port or [IPv6]:port, as `split_address` takes it."""
    if ":" in host:
        return f"[{host}]:{port}"
    return f"{host}:{port}"


def refuse_address(
    host: str,
    port: int,
    allowed_networks: Sequence[str],
    *,
    own_servers: Iterable[tuple[str, int]] = (),
    timeout_s: float = LOOKUP_TIMEOUT_S,
) -> str:
    """The IP address to connect to for an external server at host:port, or AddressRefused.

    `allowed_networks` are those that operators allow; `own_servers` are the site's own (host, port) pairs,
    which no network can allow. Every address that the name resolves to must be allowed. Loopback addresses and this
    machine's own are allowed only by a network that contains nothing else, such as 127.0.0.0/8 or 10.1.2.3/32.
    """
    addresses = resolve(host, port, timeout_s)
    networks = [ipaddress.ip_network(network) for network in allowed_networks]
    # Only a network for loopback or for one host: 10.0.0.0/8 says nothing about this machine.
    own_networks = [network for network in networks if network.is_loopback or network.num_addresses == 1]
    machine_addresses = own_addresses()

    def unify(address: IPAddress) -> object:
        """All addresses of this machine are one."""
        return _LOCAL if _is_local(address, machine_addresses) else address

    site_servers = {
        (unify(site_address), site_port) for site_address, site_port in _resolve_own(own_servers, timeout_s)
    }
    for address in addresses:
        server = _describe_server(host, address)
        is_local = _is_local(address, machine_addresses)
        reason = _explain_refusal(address, machine_addresses)
        if (unify(address), port) in site_servers:
            raise AddressRefused(OWN_SERVER_NEVER_ALLOWED.format(server=server, port=port))
        if reason and not is_local:
            raise AddressRefused(NEVER_ALLOWED.format(server=server, reason=reason))
        if is_local and not any(address in network for network in own_networks):
            example = f"{address}/{address.max_prefixlen}"
            if address.is_loopback:
                example = "127.0.0.0/8" if address.version == 4 else "::1/128"
            raise NotAllowedYet(MAY_BE_ALLOWED.format(server=server, reason=reason, example=example))
        if not any(address in network for network in networks):
            allowed = ", ".join(allowed_networks) or "none yet"
            raise NotAllowedYet(OUTSIDE_NETWORKS.format(server=server, networks=allowed))
    return str(addresses[0])


def resolve(host: str, port: int, timeout_s: float = LOOKUP_TIMEOUT_S) -> list[IPAddress]:
    """All addresses of a name; an IPv4 address inside an IPv6 one counts as what it is. Raises AddressRefused."""
    if not 1 <= port <= 65535:
        raise AddressRefused(f"{port} is no port: write one between 1 and 65535.")
    if _is_literal(host):
        return _read_addresses(host, _look_up(host, port))
    return _look_up_in_time(host, port, timeout_s, start_lookup())


def start_lookup() -> Callable[[], None]:
    """Takes one of MAX_LOOKUPS; call the answer when the name server has answered. Raises LookupTimedOut."""
    if not _lookups.acquire(blocking=False):
        raise LookupTimedOut("This site waits for name servers: try again in half a minute, or write an IP address.")
    return _lookups.release


def _is_literal(host: str) -> bool:
    """Whether no name server is asked about it."""
    try:
        return ":" in host or bool(socket.inet_aton(host))
    except OSError:
        return False


def _look_up_in_time(host: str, port: int, timeout_s: float, done: Callable[[], object]) -> list[IPAddress]:
    """The thread that waits for the name server, and calls `done`, may outlast this call by half a minute."""
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            answer = _look_up(host, port)
        finally:
            done()
        answers.put(answer)

    threading.Thread(target=run, name="name lookup", daemon=True).start()
    try:
        return _read_addresses(host, answers.get(timeout=timeout_s))
    except queue.Empty:
        raise LookupTimedOut(
            f"No name server answered in time for {host[:200]!r}: try again, or write its IP address."
        ) from None


def _look_up(host: str, port: int) -> list[Any] | Exception:
    try:
        return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as error:
        return error


def _read_addresses(host: str, answers: list[Any] | Exception) -> list[IPAddress]:
    if isinstance(answers, Exception):
        # A name that is not even written like one is asked of nobody.
        is_unknown = isinstance(answers, UnicodeError) or getattr(answers, "errno", None) in UNKNOWN
        message = UNKNOWN_NAME if is_unknown else NAME_SERVERS_FAILED
        raise AddressRefused(message.format(host=host[:200])) from None
    # A zone such as %eth0 belongs to link-local addresses only, and those are refused anyway.
    addresses: dict[IPAddress, None] = {}
    for _, _, _, _, (text, *_) in answers:
        without_zone, _, _ = str(text).partition("%")
        addresses[_unmap(ipaddress.ip_address(without_zone))] = None
    return list(addresses)


def get_servers(urls: Iterable[str]) -> list[tuple[str, int]]:
    """Host and port of the servers that postgresql:// and redis:// URLs name; none for UNIX sockets."""
    addresses = []
    for url in urls:
        parts = urlsplit(url)
        for host in (parts.hostname, *parse_qs(parts.query).get("host", [])):
            if host and not host.startswith("/"):
                addresses.append((host, parts.port or USUAL_PORTS.get(parts.scheme, 0)))
    return [(host, port) for host, port in addresses if port]


def own_addresses() -> frozenset[IPAddress]:
    """The addresses of this machine's own network interfaces."""
    import psutil  # The client package reads addresses, and has none.

    values = set()
    for entries in psutil.net_if_addrs().values():
        for entry in entries:
            if entry.family in (socket.AF_INET, socket.AF_INET6):
                values.add(ipaddress.ip_address(entry.address.partition("%")[0]))
    return frozenset(values)


def is_own_address(address: IPAddress) -> bool:
    """Whether a connection to the address stays on this machine."""
    return _is_local(address, own_addresses())


def one_machine_networks() -> list[str]:
    """What whoever uses a site that listens on loopback alone may connect to: this machine and private networks."""
    own = [
        f"{address}/{address.max_prefixlen}" for address in sorted(own_addresses(), key=str) if not address.is_loopback
    ]
    return [*PRIVATE_NETWORKS, *own]


def _unmap(address: IPAddress) -> IPAddress:
    """An IPv4 address that is written as an IPv6 one."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if any(address in network for network in _TRANSLATED) or (int(address) >> 32 == 0 and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: IPAddress) -> bool:
    """Whether it may be the address of a server for everybody."""
    if any(address in network for network in _SPECIAL):
        return False
    return address.is_global and (address.version == 4 or address in _UNICAST)


def _explain_refusal(address: IPAddress, here: frozenset[IPAddress]) -> str:
    """Why nobody may connect there, or nothing."""
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local):
        return "a link-local address"
    if address in CLOUD_METADATA:
        return "the metadata service of a cloud"
    if address.is_unspecified or address.is_multicast or address == ipaddress.IPv4Address("255.255.255.255"):
        return NO_SINGLE_MACHINE
    if address in here:
        return THIS_MACHINE
    return ""


def _is_local(address: IPAddress, here: frozenset[IPAddress]) -> bool:
    """Whether a connection to the address stays on this machine."""
    return address.is_loopback or (address in here and not address.is_link_local)


def _resolve_own(servers: Iterable[tuple[str, int]], timeout_s: float) -> set[tuple[IPAddress, int]]:
    """Of the servers of the site itself, whatever names people have typed; none of one that has no address. Raises
    LookupTimedOut, as what is not known cannot be refused.
    """
    own: set[tuple[IPAddress, int]] = set()
    for host, port in servers:
        try:
            if _is_literal(host):
                addresses = _read_addresses(host, _look_up(host, port))
            else:
                addresses = _look_up_in_time(host, port, timeout_s, lambda: None)
        except LookupTimedOut:
            raise
        except AddressRefused:
            continue
        own.update((address, port) for address in addresses)
    return own
