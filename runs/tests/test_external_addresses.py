"""External servers are where the operator allows them; the site's own servers are refused always."""

import ipaddress
import socket

import pytest

from benchsite.core.addresses import AddressRefused, own_addresses, refuse_address, split_address

EVERYWHERE = ["0.0.0.0/0", "::/0"]


def resolving(monkeypatch, *addresses: str) -> None:
    """What a name resolves to is the one thing here that a test cannot have for real."""
    families = {4: socket.AF_INET, 6: socket.AF_INET6}
    entries = [
        (families[ipaddress.ip_address(a.partition("%")[0]).version], socket.SOCK_STREAM, 6, "", (a, 0))
        for a in addresses
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: entries)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.8.8", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fd00:ec2::254", "metadata"),
        ("::ffff:100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("::ffff:169.254.169.254", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("0.0.0.0", "no address of a single machine"),
        ("224.0.0.1", "no address of a single machine"),
        ("255.255.255.255", "no address of a single machine"),
    ],
)
def test_it_refuses_addresses_nobody_may_use(monkeypatch, address, why):
    resolving(monkeypatch, address)
    with pytest.raises(AddressRefused, match=why):
        refuse_address("db.example", 5432, EVERYWHERE)


def test_it_refuses_this_machine_by_its_other_addresses(monkeypatch):
    monkeypatch.setattr("benchsite.core.addresses.own_addresses", lambda: frozenset({ipaddress.ip_address("10.1.2.3")}))
    with pytest.raises(AddressRefused, match="an address of this machine"):
        refuse_address("10.1.2.3", 5432, EVERYWHERE)


def test_it_knows_this_machines_addresses():
    assert ipaddress.ip_address("127.0.0.1") in own_addresses()


def test_it_refuses_the_sites_own_servers():
    own = [("192.0.2.7", 5432)]
    with pytest.raises(AddressRefused, match="a server of this site itself"):
        refuse_address("192.0.2.7", 5432, EVERYWHERE, own_servers=own)
    assert refuse_address("192.0.2.7", 6379, EVERYWHERE, own_servers=own) == "192.0.2.7"


def test_it_allows_the_operators_networks_only():
    assert refuse_address("192.0.2.7", 5432, ["192.0.2.0/24"]) == "192.0.2.7"
    with pytest.raises(AddressRefused, match=r"outside the networks \(198\.51\.100\.0/24\)"):
        refuse_address("192.0.2.7", 5432, ["198.51.100.0/24"])
    with pytest.raises(AddressRefused, match="none yet"):
        refuse_address("192.0.2.7", 5432, [])


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("127.0.0.1", "127.0.0.0/8"),
        ("127.8.8.8", "127.8.0.0/16"),
        ("::1", "::1/128"),
        ("::ffff:127.0.0.1", "127.0.0.0/8"),
    ],
)
def test_allows_loopback_that_the_setting_names(host, network):
    assert ipaddress.ip_address(refuse_address(host, 6390, [network])).is_loopback


def test_allows_own_address_that_the_setting_names(monkeypatch):
    monkeypatch.setattr("benchsite.core.addresses.own_addresses", lambda: frozenset({ipaddress.ip_address("10.1.2.3")}))
    assert refuse_address("10.1.2.3", 6390, ["10.1.2.3/32"]) == "10.1.2.3"
    with pytest.raises(AddressRefused, match=r"can allow 10\.1\.2\.3/32 on the page Networks"):
        refuse_address("10.1.2.3", 6390, ["10.0.0.0/8"])


def test_refusal_says_what_an_operator_can_allow():
    with pytest.raises(AddressRefused, match=r"can allow 127\.0\.0\.0/8 on the page Networks"):
        refuse_address("127.0.0.1", 6390, [])


@pytest.mark.parametrize("own", ["127.0.0.1", "localhost", "::1", "10.1.2.3"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "10.1.2.3"]
)
def test_refuses_own_servers_by_every_spelling(monkeypatch, host, own):
    """A server that listens on one address of this machine may be reached by another."""
    here = {ipaddress.ip_address(address) for address in ("127.0.0.1", "::1", "10.1.2.3")}
    monkeypatch.setattr("benchsite.core.addresses.own_addresses", lambda: frozenset(here))
    local = ["127.0.0.0/8", "::1/128", "10.1.2.3/32", "0.0.0.0/32", "::/128"]
    with pytest.raises(AddressRefused, match="nobody can allow it"):
        refuse_address(host, 5432, local, own_servers=[(own, 5432)])


def test_refuses_own_server_by_host_name(monkeypatch):
    resolving(monkeypatch, "127.0.0.1")
    with pytest.raises(AddressRefused, match=r"db\.example \(127\.0\.0\.1\) port 5432 is a server of this site"):
        refuse_address("db.example", 5432, ["127.0.0.0/8"], own_servers=[("127.0.0.1", 5432)])


def test_it_refuses_a_name_of_which_one_address_is_bad(monkeypatch):
    resolving(monkeypatch, "192.0.2.7", "127.0.0.1")
    with pytest.raises(AddressRefused, match=r"db\.example \(127\.0\.0\.1\) is a loopback address"):
        refuse_address("db.example", 5432, EVERYWHERE)


@pytest.mark.parametrize(("host", "port"), [("", 0), ("192.0.2.7", 70000), ("no such host", 5432), ("a" * 300, 5432)])
def test_it_refuses_what_is_no_address(host, port):
    with pytest.raises(AddressRefused):
        refuse_address(host, port, EVERYWHERE)


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("db.example", "db.example", 6379),
        ("db.example:7000", "db.example", 7000),
        ("db.example:", "db.example", 6379),
        ("[2001:db8::1]:7000", "2001:db8::1", 7000),
        ("2001:db8::1", "2001:db8::1", 6379),
    ],
)
def test_it_splits_addresses(address, host, port):
    assert split_address(address, 6379) == (host, port)


@pytest.mark.parametrize("address", ["", ":7000", "db.example:seven", "db.example:\u0667"])
def test_it_refuses_to_split_what_is_no_address(address):
    with pytest.raises(AddressRefused, match="write host:port"):
        split_address(address, 6379)
