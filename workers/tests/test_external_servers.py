"""A server that somebody else runs is checked, connected to and left alone."""

import os
import re
import uuid

import psycopg
import pytest

from benchsite.core.own_servers import own_servers
from runs.catalog import load_catalog
from runs.models import Deployment, Machine
from workers.conductor.conductor import Conductor
from workers.conductor.deployment import Standing
from workers.conductor.heartbeat import Heartbeat
from workers.generator.host_identity import host_key
from workers.probe.host_sampler import HostSampler
from workers.provision.administration.base import MAX_SERVER_TEXT
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.ports import free_port
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.readback import read_back
from workers.provision.servers import ProvisionError, ServerDidNotStart, ServerSpec
from workers.tests.external import external_run
from workers.tests.planted_obstacles import started_process

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


@pytest.mark.slow
@pytest.mark.django_db
def test_samples_follow_a_server_that_somebody_restarts(tmp_path):
    port = free_port("127.0.0.1")
    argv = ("redis-server", "--port", port, "--save", "", "--dir", tmp_path)
    with started_process(port, *argv):
        provisioner = ExternalProvisioner(build_spec(f"127.0.0.1:{port}"), allowed_networks=["127.0.0.0/8"])
        run = external_run(provisioner.start())
        assert run.cluster is not None and run.sweep is not None
        Machine.objects.filter(nodes__cluster=run.cluster).update(host_key=host_key())
        deployment = Deployment.objects.create(
            cluster=run.cluster, matrix=run.matrix, database=run.sweep.database, mode=run.mode
        )
        claim = uuid.uuid4()
        conductor = Conductor(run, claim, Heartbeat(run.pk, claim))
        conductor._standing = Standing(deployment, provisioner, provisioner.start(), fresh=False)
        [first] = conductor.standing.process_ids
        conductor._sampler = HostSampler(service=os.getpid(), registry=tmp_path, servers=[first])
    with started_process(port, *argv):
        [second] = conductor.standing.process_ids
        conductor._notice()
    assert first != second and conductor._sampler._roots[second] == conductor._sampler._roots[first] == "node1"


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
