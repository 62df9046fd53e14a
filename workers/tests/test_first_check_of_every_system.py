"""The check of a first benchmark reaches every system that can be started here, and the stand-ins of the others."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string

from runs.catalog import load_catalog
from runs.timeouts import CHECK_SERVER_TIMEOUT_S
from workers.probe.server_checks import TargetCheck, check_target
from workers.provision.deadline import Deadline
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.servers import ServerSpec
from workers.systems.build import build
from workers.tests.conftest import started_server
from workers.tests.external import NETWORKS
from workers.tests.stand_ins import PASSWORD, couchbase_mock, mongo_stand_in
from workers.tests.stand_ins.aerospike import aerospike_stand_in

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
Target = tuple[list[str], Mapping[str, str]]
# System -> the mode in which a server of its own is started here, with its settings.
STARTED: dict[str, tuple[str, dict[str, Any]]] = {
    "redis": ("off", {}),
    "memcached": ("none", {}),
    "mariadb": ("flush-1", {}),
    "postgresql": ("on", {}),
    "redis-cluster": ("off", {"nodes": 3}),
    "cassandra": ("one-periodic", {}),
    "hbase": ("sync-wal-local", {}),
}
UNCOUNTED = ("cassandra", "hbase")  # whose other tables are named alone
OFTEN = ("redis", "memcached", "mongodb", "couchbase", "aerospike")


@contextmanager
def mongodb() -> Iterator[Target]:
    with mongo_stand_in() as port:
        yield [f"127.0.0.1:{port}"], {}


@contextmanager
def couchbase() -> Iterator[Target]:
    properties = {"couchbase.bucket": "bench", "couchbase.user": "bench", "couchbase.password": PASSWORD}
    with couchbase_mock() as ports:
        yield [f"127.0.0.1:{ports[0]}"], properties


@contextmanager
def aerospike() -> Iterator[Target]:
    with aerospike_stand_in() as server:
        yield [f"127.0.0.1:{server.port}"], {}


@contextmanager
def started(slug: str) -> Iterator[Target]:
    mode, server_settings = STARTED[slug]
    system = load_catalog().system(slug)
    with started_server(system, mode, **server_settings) as server:
        server.administration.prepare({})
        nodes = server.nodes or [(server.host, server.port)]
        yield [f"{host}:{port}" for host, port in nodes], {system.binding.endpoint.password: server.password}


def start(slug: str) -> AbstractContextManager[Target]:
    stand_ins = {"mongodb": mongodb, "couchbase": couchbase, "aerospike": aerospike}
    return stand_ins[slug]() if slug in stand_ins else started(slug)


@pytest.mark.parametrize(
    "slug",
    [
        pytest.param(slug, marks=[] if slug in OFTEN else [pytest.mark.long])
        for slug in (*STARTED, "mongodb", "couchbase", "aerospike")
    ],
)
def test_check_offers_a_mode(settings_of_site, slug):
    system = load_catalog().system(slug)
    build(settings.YCSB_DIR, [system.binding.name])
    with start(slug) as (addresses, properties):
        stated = {name: text for name, text in properties.items() if name and text}
        target = check_target(system, addresses, stated, deadline=Deadline(CHECK_SERVER_TIMEOUT_S))

    assert target.is_usable, target
    assert target.version and not target.foreign_data


@pytest.mark.parametrize("slug", ["mongodb", *(pytest.param(slug, marks=pytest.mark.long) for slug in UNCOUNTED)])
def test_other_tables_are_named(settings_of_site, slug):
    """Their place is not called empty, and nothing is written beside them before somebody allows it."""
    system = load_catalog().system(slug)
    build(settings.YCSB_DIR, [system.binding.name])
    with start(slug) as (addresses, properties):
        stated = {name: text for name, text in properties.items() if name and text}
        mode = next(iter(system.modes.values()))
        spec = ServerSpec(
            deployment="", system=system, mode=mode, binding_properties=stated, address=addresses[0],
            addresses=tuple(addresses),
        )  # fmt: skip
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        assert provisioner.start().administration.create_table("orders", ["number"], "ours")
        provisioner.stop()
        target = check_target(system, addresses, stated, deadline=Deadline(CHECK_SERVER_TIMEOUT_S))

    assert target.data == {"orders": 0 if slug == "mongodb" else -1} and not target.may_write
    [line] = [check for check in target.checks if check.name == "data"]
    text = " ".join(render_to_string("workers/check_text.html", {"check": line, "target": target}).split())
    assert text.endswith("number: orders 0." if slug == "mongodb" else "number: orders.")


def test_clients_wait_until_the_table_they_read_may_be_made(settings_of_site):
    """Their read of a table that is not there would look like a refused sign-in."""
    system = load_catalog().system("postgresql")
    with started_server(system, "on") as server:
        server.administration.create_table("orders", ["number"], "")
        target = check_target(
            system,
            [f"{server.host}:{server.port}"],
            {system.binding.endpoint.password: server.password},
            deadline=Deadline(CHECK_SERVER_TIMEOUT_S),
            run_clients=lambda server, number, *, writes: [],
        )

    assert "orders" in target.data and not target.may_write
    assert target.checks[-1] == TargetCheck("clients", "warn", "no_table")


@pytest.fixture
def settings_of_site(settings):
    settings.EXTERNAL_NETWORKS = NETWORKS
