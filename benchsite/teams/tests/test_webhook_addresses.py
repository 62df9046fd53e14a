"""Where webhooks may go: public addresses over https, and what an operator allows; never the site's own servers."""

import ipaddress
import socket

import pytest

from benchsite.addresses import AddressRefused, refuse_webhook_address
from runs.tests.test_external_addresses import resolving

NOWHERE_PUBLIC = [
    ("127.0.0.1", "loopback"),
    ("::1", "loopback"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::127.0.0.1", "loopback"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b:1::a9fe:a9fe", "link-local"),
    ("2002:7f00:1::", "loopback"),
    ("::ffff:0:127.0.0.1", "loopback"),
    ("::ffff:0:a9fe:a9fe", "link-local"),
    ("fec0::1", "link-local"),
    ("0.0.0.0", "no address of a single machine"),
    ("::", "no address of a single machine"),
    ("169.254.169.254", "link-local"),
    ("fd00:ec2::254", "no public address"),
    ("10.0.0.7", "no public address"),
    ("172.16.3.4", "no public address"),
    ("192.168.1.1", "no public address"),
    ("100.64.0.1", "no public address"),
    ("198.18.0.1", "no public address"),
    ("fe80::1%eth0", "link-local"),
    ("224.0.0.1", "no address of a single machine"),
    ("255.255.255.255", "no address of a single machine"),
]


@pytest.mark.parametrize(("address", "why"), NOWHERE_PUBLIC)
def test_it_refuses_what_is_not_public(monkeypatch, address, why):
    resolving(monkeypatch, address)
    with pytest.raises(AddressRefused, match=why):
        refuse_webhook_address("hooks.example", 443, [], encrypted=True)


@pytest.mark.parametrize(
    "host", ["2130706433", "0177.0.0.1", "0x7f000001", "127.1", "0", "localhost", "::ffff:7f00:1", "[::1]".strip("[]")]
)
def test_it_refuses_loopback_however_it_is_written(host):
    with pytest.raises(AddressRefused):
        refuse_webhook_address(host, 443, [], encrypted=True)


def test_it_takes_a_public_address(monkeypatch):
    resolving(monkeypatch, "93.184.215.14")
    assert refuse_webhook_address("hooks.example", 443, [], encrypted=True) == "93.184.215.14"


def test_every_address_of_a_name_must_be_public(monkeypatch):
    resolving(monkeypatch, "93.184.215.14", "127.0.0.1")
    with pytest.raises(AddressRefused, match="loopback"):
        refuse_webhook_address("hooks.example", 443, [], encrypted=True)


def test_it_tells_nothing_in_plain_http_outside_the_operators_networks(monkeypatch):
    resolving(monkeypatch, "93.184.215.14")
    with pytest.raises(AddressRefused, match="write https://"):
        refuse_webhook_address("hooks.example", 80, [], encrypted=False)


def test_an_operator_allows_a_network():
    assert refuse_webhook_address("127.0.0.1", 80, ["127.0.0.0/8"], encrypted=False) == "127.0.0.1"
    with pytest.raises(AddressRefused, match="loopback"):
        refuse_webhook_address("::1", 80, ["127.0.0.0/8"], encrypted=False)


def test_the_sites_own_servers_are_refused_even_there():
    with pytest.raises(AddressRefused, match="a server of this site itself"):
        refuse_webhook_address("127.0.0.1", 5432, ["127.0.0.0/8"], own_servers=[("localhost", 5432)], encrypted=False)


def test_it_refuses_this_machine_by_its_public_address(monkeypatch):
    monkeypatch.setattr("benchsite.addresses.own_addresses", lambda: frozenset({ipaddress.ip_address("93.184.215.14")}))
    with pytest.raises(AddressRefused, match="an address of this machine"):
        refuse_webhook_address("93.184.215.14", 443, [], encrypted=True)


def test_it_says_that_a_name_cannot_be_resolved(monkeypatch):
    def fail(*args, **options):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(AddressRefused, match="cannot be resolved"):
        refuse_webhook_address("nowhere.example", 443, [], encrypted=True)
