"""A server that somebody else runs is checked, connected to and left alone."""

import pytest

from runs.catalog import load_catalog
from workers.provision import ExternalProvisioner, ServerDidNotStart, Wanted, own_servers, provisioner_for
from workers.provision.servers import ProvisionError

REDIS = load_catalog().system("redis")


def wanted(address: str, **properties) -> Wanted:
    return Wanted(
        deployment="one", system=REDIS, mode=REDIS.mode("off"), address=address, binding_properties=properties
    )


def test_it_refuses_this_machine():
    with pytest.raises(ServerDidNotStart, match="loopback"):
        ExternalProvisioner(wanted("localhost"), allowed_networks=["0.0.0.0/0", "::/0"]).start()


@pytest.mark.slow
def test_it_connects_and_leaves_the_server_alone(servers, monkeypatch):
    """The one server at hand is on loopback, so the check of the address is the only thing left out."""
    monkeypatch.setattr("workers.provision.external.refuse_address", lambda host, port, *args, **options: host)
    running = servers("redis", "off").start()
    external = ExternalProvisioner(
        wanted(f"127.0.0.1:{running.port}", **{"redis.password": running.password}), allowed_networks=[]
    )
    server = external.start()
    assert (server.version, server.folder, server.process) == (running.version, "", {})
    assert external.alive()
    external.stop()
    external.remove()
    running.administration.ping()
    wrong = ExternalProvisioner(wanted(f"127.0.0.1:{running.port}", **{"redis.password": "wrong"}), allowed_networks=[])
    with pytest.raises(ServerDidNotStart, match="does not answer"):
        wrong.start()
    assert not wrong.alive()


def test_it_knows_the_sites_own_servers(settings):
    settings.DATABASE_URL = "postgresql://u:p@db.example/benchsite"
    settings.REDIS_URL = "redis://127.0.0.1:6399/4"
    assert own_servers() == [("db.example", 5432), ("127.0.0.1", 6399)]
    settings.DATABASE_URL = "postgresql://benchsite@/benchsite?host=/run/sockets"
    settings.REDIS_URL = "unix:///run/redis.sock?db=0"
    assert own_servers() == []


def test_it_says_which_clusters_it_cannot_start():
    with pytest.raises(ProvisionError, match="no clusters of kind borrowed"):
        provisioner_for("borrowed", wanted("db.example"))
