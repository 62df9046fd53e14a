"""The servers behind a mongodb+srv:// name, asked of a real name server on loopback."""

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial

import dns.message
import dns.name
import dns.resolver
import dns.rrset
import pytest
from django.test import Client
from django.urls import reverse

from benchsite.core.addresses import MAX_LOOKUPS, LookupTimedOut, start_lookup
from runs.tests.factories import make_user
from workers.probe import seed_list
from workers.probe.seed_list import SeedListError, read_seed_list

Records = dict[tuple[str, str], list[str]]
NAME = "cluster0.ab.example.net"
SERVERS = ["0 0 27017 n1.ab.example.net.", "0 0 27018 n2.ab.example.net."]

IGNORED = ("loadBalanced", "ca", "password", "ssl")


@pytest.fixture
def records() -> Iterator[Records]:
    """What the name server that the site asks has, by name and type."""
    records: Records = {("_mongodb._tcp." + NAME, "SRV"): SERVERS}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        ended = threading.Event()
        thread = threading.Thread(target=serve, args=[server, records, ended])
        thread.start()
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], server.getsockname()[1]
        earlier, dns.resolver.default_resolver = dns.resolver.default_resolver, resolver
        yield records
        dns.resolver.default_resolver = earlier
        ended.set()
        thread.join()


def serve(server: socket.socket, records: Mapping[tuple[str, str], list[str]], ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            data, client = server.recvfrom(4096)
        except TimeoutError:
            continue
        question = dns.message.from_wire(data)
        [asking] = question.question
        kind = dns.rdatatype.to_text(asking.rdtype)
        answer = dns.message.make_response(question)
        texts = records.get((asking.name.to_text(omit_final_dot=True), kind))
        if texts == ["silent"]:
            continue
        if texts:
            answer.answer.append(dns.rrset.from_text(asking.name, 60, "IN", kind, *texts))
        else:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        server.sendto(answer.to_wire(), client)


def test_servers_and_options_are_those_of_the_records(records: Records):
    assert read_seed_list(NAME) == ("n1.ab.example.net:27017, n2.ab.example.net:27018", "")
    records[NAME, "TXT"] = ['"authSource=admin&" "replicaSet=rs0"']
    assert read_seed_list(NAME)[1] == "authSource=admin&replicaSet=rs0"


def test_servers_of_another_domain_are_refused(records: Records):
    records["_mongodb._tcp." + NAME, "SRV"] = [SERVERS[0], "0 0 27017 n1.ab.example.net.attacker.example."]
    with pytest.raises(SeedListError, match=r"attacker\.example, which is not of the domain ab\.example\.net"):
        read_seed_list(NAME)


@pytest.mark.parametrize(
    ("name", "server", "is_inside"),
    [
        ("example.com", "n1.example.com.", True),
        ("example.com", "example.com.", False),
        ("example.com", "n1.attacker.com.", False),
        ("a.example.com", "example.com.", False),
        ("A.b\u00fccher.example.", "n1.xn--bcher-kva.example.", True),
    ],
)
def test_servers_are_below_the_domain(records: Records, name: str, server: str, is_inside: bool):
    ascii_name = dns.name.from_text(name).to_text(omit_final_dot=True)
    records["_mongodb._tcp." + ascii_name, "SRV"] = [f"0 0 27017 {server}"]
    if is_inside:
        assert read_seed_list(name)[0] == f"{server[:-1]}:27017"
        return
    with pytest.raises(SeedListError, match=r"is not of the domain example\.com"):
        read_seed_list(name)


@pytest.mark.parametrize("name", ["nowhere.example.net", "a..b", "x" * 80 + ".example.net", "", "bad name"])
def test_name_without_record_is_refused(records: Records, name: str):
    with pytest.raises(SeedListError, match="states no record SRV"):
        read_seed_list(name)


def test_silent_name_server_is_not_awaited(records: Records, monkeypatch):
    monkeypatch.setattr(seed_list, "REQUEST_LOOKUP_TIMEOUT_S", 0.3)
    start = time.monotonic()
    records[NAME, "TXT"] = ["silent"]
    assert read_seed_list(NAME)[1] == ""
    records["_mongodb._tcp." + NAME, "SRV"] = ["silent"]
    with pytest.raises(SeedListError):
        read_seed_list(NAME)
    assert time.monotonic() - start < 1


def test_site_without_name_server_finds_no_record(monkeypatch):
    monkeypatch.setattr(dns.resolver, "default_resolver", None)
    monkeypatch.setattr(dns.resolver, "Resolver", partial(dns.resolver.Resolver, os.devnull))
    with pytest.raises(SeedListError, match="states no record SRV"):
        read_seed_list(NAME)


def test_few_names_are_asked_for_at_once(records: Records):
    with ExitStack() as lookups:
        for _ in range(MAX_LOOKUPS):
            lookups.callback(start_lookup())
        with pytest.raises(LookupTimedOut, match="waits for name servers"):
            read_seed_list(NAME)
    assert read_seed_list(NAME)


@pytest.fixture
def operator(team):
    client = Client()
    client.force_login(make_user(team=team, role="admin", is_staff=True))
    return client


@pytest.mark.django_db
def test_pasted_name_fills_the_addresses(operator, records: Records):
    records[NAME, "TXT"] = ['"authSource=admin&replicaSet=rs0&loadBalanced=true&password=x&ca=y&ssl=false"']
    typed = {"system": "mongodb", "address": f"mongodb+srv://bob:hush@{NAME}/shop", "fill": "1"}
    response = operator.post(reverse("own-server"), typed)
    form = response.context["form"]

    fields = ("address", "user", "database", "ssl", "replica_set", "auth_source")
    assert {name: form[name].value() for name in fields} == {
        "address": "n1.ab.example.net:27017, n2.ab.example.net:27018", "user": "bob", "database": "shop",
        "ssl": "verify-ca", "replica_set": "rs0", "auth_source": "admin",
    }  # fmt: skip
    assert "Ignored in the connection string" in response.content.decode() and form.ignored == IGNORED
    assert form["password"].value() == "hush"
    # What follows has the address that was filled in, and the page still says it.
    filled = {"system": "mongodb", "address": form["address"].value(), "ignored": ", ".join(IGNORED), "fill": "1"}
    assert operator.post(reverse("own-server"), filled).context["form"].ignored == IGNORED


@pytest.mark.django_db
def test_name_without_record_stays_typed(operator, records: Records):
    typed = {"system": "mongodb", "address": "mongodb+srv://nowhere.example.net", "name": "", "machine": ""}
    for _ in range(2):
        response = operator.post(reverse("own-server"), typed)
        form = response.context["form"]
        assert response.status_code == 422 and "states no record SRV" in form.errors["address"][0]
        assert form["address"].value() == typed["address"]
