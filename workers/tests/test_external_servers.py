"""A server that somebody else runs is checked, connected to and left alone."""

import re

import psycopg
import pytest

from benchsite.core.own_servers import own_servers
from runs.catalog import load_catalog
from workers.provision.administration.base import MAX_SERVER_TEXT
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.readback import read_back
from workers.provision.servers import ProvisionError, ServerDidNotStart, ServerSpec

REDIS = load_catalog().system("redis")


def build_spec(address: str, **properties) -> ServerSpec:
    return ServerSpec(
        deployment="one", system=REDIS, mode=REDIS.mode("off"), address=address, binding_properties=properties
    )


def test_it_refuses_this_machine():
    with pytest.raises(ServerDidNotStart, match="loopback"):
        ExternalProvisioner(build_spec("localhost"), allowed_networks=["0.0.0.0/0", "::/0"]).start()


def test_nodes_on_ports_that_clients_cannot_take_do_not_start():
    cassandra = load_catalog().system("cassandra")
    nodes = ("127.0.0.1:9042", "127.0.0.1:9043")
    spec = ServerSpec(
        deployment="two", system=cassandra, mode=cassandra.mode("one-periodic"), address=nodes[0], addresses=nodes
    )
    with pytest.raises(ServerDidNotStart, match="one port for all nodes, and theirs are 9042, 9043"):
        ExternalProvisioner(spec, allowed_networks=["127.0.0.0/8"]).start()


@pytest.mark.slow
def test_it_connects_and_leaves_the_server_alone(servers):
    running = servers("redis", "off").start()

    def external(password: str) -> ExternalProvisioner:
        properties = {"redis.password": password}
        return ExternalProvisioner(
            build_spec(f"127.0.0.1:{running.port}", **properties), allowed_networks=["127.0.0.0/8"]
        )

    right = external(running.password)
    server = right.start()
    assert (server.version, server.folder, server.process) == (running.version, "", {})
    assert right.alive()
    right.stop()
    right.remove()
    running.administration.ping()
    wrong = external("wrong")
    with pytest.raises(ServerDidNotStart, match="cannot be used: Redis at"):
        wrong.start()
    assert not wrong.alive()


def test_lists_the_sites_own_servers(settings):
    settings.DATABASE_URL = "postgresql://u:p@db.example/benchsite"
    settings.REDIS_URL = "redis://127.0.0.1:6399/4"
    settings.WEB_PORT, settings.PUBLIC_URL = 8123, "https://bench.example"
    web = [("127.0.0.1", 8123), ("bench.example", 443)]
    assert own_servers() == [("db.example", 5432), ("127.0.0.1", 6399), *web]
    settings.DATABASE_URL = "postgresql://benchsite@/benchsite?host=/run/sockets"
    settings.REDIS_URL = "unix:///run/redis.sock?db=0"
    assert own_servers() == web


def test_it_says_which_clusters_it_cannot_start():
    with pytest.raises(ProvisionError, match="no clusters of kind borrowed"):
        provisioner_for("borrowed", build_spec("db.example"))


@pytest.mark.slow
def test_explains_a_missing_postgresql_database(servers):
    running = servers("postgresql", "off").start()
    record = load_catalog().system("postgresql")
    properties = {"postgresql.password": running.password, "postgresql.database": "Lab"}
    missing = ServerSpec(
        deployment="one",
        system=record,
        mode=record.mode("off"),
        address=f"127.0.0.1:{running.port}",
        binding_properties=properties,
    )
    with pytest.raises(ServerDidNotStart) as refused:
        ExternalProvisioner(missing, allowed_networks=["127.0.0.0/8"]).start()
    assert 'has no database Lab. Create it there: CREATE DATABASE "Lab" OWNER "ycsb";' in str(refused.value)
    with psycopg.connect(
        host=running.host, port=running.port, user="ycsb", password=running.password, dbname="ycsb", autocommit=True
    ) as session:
        session.execute(re.search("CREATE DATABASE [^;]+", str(refused.value))[0])
    provisioner = ExternalProvisioner(missing, allowed_networks=["127.0.0.0/8"])
    assert provisioner.start().version
    provisioner.stop()


@pytest.mark.slow
def test_cuts_what_the_server_says_of_its_mode(servers):
    running = servers("redis", "off").start()
    with running.administration.connect() as client:
        client.config_set("save", " ".join(f"86400 {changes}" for changes in range(1, 101)))

    [difference] = read_back(REDIS, REDIS.mode("off"), running.administration).differences

    assert "save should be '', but the server says '86400 1 86400 2" in difference
    assert len(difference) < MAX_SERVER_TEXT + 100
