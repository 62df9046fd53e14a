"""Where webhooks may go: public addresses over https, and what an operator allows; never the site's own servers."""

import ipaddress
import socket

import pytest

from benchsite.core.addresses import AddressRefused, refuse_webhook_address
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
    ("168.63.129.16", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("10.0.0.7", "no public address"),
    ("172.16.3.4", "no public address"),
    ("192.168.1.1", "no public address"),
    ("100.64.0.1", "no public address"),
    ("198.18.0.1", "no public address"),
    ("192.0.0.8", "no public address"),
    ("192.0.0.9", "no public address"),
    ("192.0.0.255", "no public address"),
    ("::ffff:192.0.0.9", "no public address"),
    ("2002:c058:6301::", "no public address"),
    ("192.88.99.1", "no public address"),
    ("192.31.196.1", "no public address"),
    ("192.52.193.1", "no public address"),
    ("192.175.48.1", "no public address"),
    ("203.0.113.7", "no public address"),
    ("240.0.0.1", "no public address"),
    ("100::1", "no public address"),
    ("100:0:0:1::1", "no public address"),
    ("200::1", "no public address"),
    ("2001:1::1", "no public address"),
    ("2001:20::1", "no public address"),
    ("2001:db8::1", "no public address"),
    ("2620:4f:8000::1", "no public address"),
    ("3fff::1", "no public address"),
    ("3fff:fff:ffff::1", "no public address"),
    ("4000::1", "no public address"),
    ("5f00::1", "no public address"),
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


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "192.0.1.1", "192.88.98.1", "192.88.100.1", "168.63.129.17", "2606:2800:21f:cb07::1",
     "2001:4860:4860::8888", "3ffe:ffff::1", "3fff:1000::1"],
)  # fmt: skip
def test_it_takes_a_public_address(monkeypatch, address):
    resolving(monkeypatch, address)
    assert refuse_webhook_address("hooks.example", 443, [], encrypted=True) == address


def test_every_address_of_a_name_must_be_public(monkeypatch):
    resolving(monkeypatch, "93.184.215.14", "127.0.0.1")
    with pytest.raises(AddressRefused, match="loopback"):
        refuse_webhook_address("hooks.example", 443, [], encrypted=True)


def test_refuses_plain_http_outside_operator_networks(monkeypatch):
    resolving(monkeypatch, "93.184.215.14")
    with pytest.raises(AddressRefused, match="write https://"):
        refuse_webhook_address("hooks.example", 80, [], encrypted=False)


def test_public_addresses_are_reached_at_permitted_ports_only(monkeypatch):
    resolving(monkeypatch, "93.184.215.14")
    with pytest.raises(AddressRefused, match=r"Port 22 of hooks\.example"):
        refuse_webhook_address("hooks.example", 22, [], encrypted=True)
    assert refuse_webhook_address("hooks.example", 8443, [], allowed_ports=[443, 8443], encrypted=True)


def test_an_operator_allows_a_network():
    assert refuse_webhook_address("127.0.0.1", 80, ["127.0.0.0/8"], encrypted=False) == "127.0.0.1"
    with pytest.raises(AddressRefused, match="loopback"):
        refuse_webhook_address("::1", 80, ["127.0.0.0/8"], encrypted=False)


def test_the_sites_own_servers_are_refused_even_there():
    with pytest.raises(AddressRefused, match="a server of this site itself"):
        refuse_webhook_address("127.0.0.1", 5432, ["127.0.0.0/8"], own_servers=[("localhost", 5432)], encrypted=False)


def test_it_refuses_this_machine_by_its_public_address(monkeypatch):
    monkeypatch.setattr(
        "benchsite.core.addresses.own_addresses", lambda: frozenset({ipaddress.ip_address("93.184.215.14")})
    )
    with pytest.raises(AddressRefused, match="an address of this machine"):
        refuse_webhook_address("93.184.215.14", 443, [], encrypted=True)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no name"), "check how it is spelt"),
        (socket.gaierror(socket.EAI_NODATA, "no address"), "check how it is spelt"),
        (UnicodeError("label empty or too long"), "check how it is spelt"),
        (socket.gaierror(socket.EAI_AGAIN, "no answer"), "at the moment: try again"),
        (socket.gaierror(socket.EAI_FAIL, "an answer that is none"), "at the moment: try again"),
        (OSError(24, "Too many open files"), "at the moment: try again"),
    ],
)
def test_it_says_that_a_name_has_no_address(monkeypatch, error, message):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(AddressRefused, match=message):
        refuse_webhook_address("nowhere.example", 443, [], encrypted=True)
