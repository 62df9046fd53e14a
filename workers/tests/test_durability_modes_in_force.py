"""Every mode of one server is rendered, started and read back, and seen to be gone when somebody changes it."""

import time

import psycopg
import pytest
import redis

from runs.catalog import load_catalog
from workers.generator.executables import find_postgresql, find_redis
from workers.provision.readback import read_back, same_value
from workers.provision.servers import Server

pytestmark = pytest.mark.slow

CATALOG = load_catalog()
SINGLE = [
    (system.slug, mode.slug)
    for system in CATALOG.systems.values()
    for mode in system.modes.values()
    if system.slug in ("redis", "postgresql") and not mode.replicas_needed
]
# One setting of each mode, and what somebody might change it to while the server runs.
CHANGES = {
    ("redis", "off"): ("appendonly", "yes"),
    ("redis", "no"): ("appendfsync", "everysec"),
    ("redis", "everysec"): ("appendfsync", "no"),
    ("redis", "always"): ("no-appendfsync-on-rewrite", "yes"),
    ("postgresql", "off"): ("wal_writer_delay", "300ms"),
    ("postgresql", "fsync-off"): ("fsync", "on"),
    ("postgresql", "local"): ("full_page_writes", "off"),
    ("postgresql", "on"): ("synchronous_commit", "off"),
}


def change_behind_its_back(server: Server, setting: str, value: str) -> None:
    if server.spec.system.slug == "redis":
        with redis.Redis(server.host, server.port, password=server.password) as client:
            client.config_set(setting, value)
        return
    with connect(server) as session:
        session.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
        session.execute("SELECT pg_reload_conf()")


def connect(server: Server) -> psycopg.Connection:
    return psycopg.connect(
        host=server.host, port=server.port, user="ycsb", password=server.password, dbname="ycsb", autocommit=True
    )


def read(server: Server):
    return read_back(server.spec.system, server.spec.mode, server.administration)


def read_until_changed(server: Server):
    """PostgreSQL reads its files a moment after it was told to."""
    for _ in range(100):
        content = read(server)
        if not content.in_force:
            break
        time.sleep(0.05)
    return content


@pytest.mark.parametrize(("system", "mode"), SINGLE)
def test_it_reads_back_what_it_started(servers, system, mode):
    server = servers(system, mode).start()
    content = read(server)
    assert content.in_force, content.differences
    assert set(content.found) == set(server.spec.mode.expected_settings)

    setting, value = CHANGES[system, mode]
    change_behind_its_back(server, setting, value)
    content = read_until_changed(server)
    assert [difference.split(" ")[0] for difference in content.differences] == [setting]
    assert value in content.differences[0]
    assert content.as_dict()["in_force"] is False


def test_it_sees_what_the_clients_role_was_given(servers):
    """A setting of the role overrides the server's file for every session of the clients."""
    server = servers("postgresql", "on").start()
    with connect(server) as session:
        session.execute("ALTER ROLE ycsb SET synchronous_commit = off")
    assert not read(server).in_force


def test_it_reads_servers_own_spelling(servers):
    """A redis-server answers 64MB in bytes, and PostgreSQL 1000ms as 1s."""
    server = servers("redis", "off", settings={"maxmemory": "64MB"}).start()
    assert server.administration.read_settings(["maxmemory"]) == {"maxmemory": "67108864"}
    assert server.administration.read_settings(["no-such-setting"]) == {}


def test_settings_of_the_database_are_read_back_and_not_judged(servers):
    server = servers("redis", "off", settings={"maxmemory": "64MB"}).start()
    spec = server.spec
    stated = {"maxmemory": "64MB", "maxmemory-policy": "allkeys-lru", "nodes": "1"}

    answer = read_back(spec.system, spec.mode, server.administration, stated=stated)

    assert answer.in_force and answer.as_dict()["stated"] == {
        "maxmemory": {"stated": "64MB", "answer": "67108864", "is_equal": True},
        "maxmemory-policy": {"stated": "allkeys-lru", "answer": "noeviction", "is_equal": False},
    }


def test_binary_units_are_the_same_sizes():
    declared = load_catalog().system("cassandra").settings["row_cache_size"]

    assert same_value(declared, "64MB", "64MiB") and not same_value(declared, "64MB", "65MiB")


@pytest.mark.parametrize("version", [program.version for program in find_postgresql()])
def test_it_runs_every_postgresql_of_this_machine(servers, version):
    server = servers("postgresql", "off", version=version).start()
    assert server.version.split(".")[0] == version.split(".")[0]
    assert read(server).in_force


@pytest.mark.parametrize("number", range(len(find_redis())))
def test_it_runs_every_redis_of_this_machine(servers, monkeypatch, number):
    program = find_redis()[number]
    monkeypatch.setattr("workers.generator.executables.find_redis", lambda: (program,))
    server = servers("redis", "always").start()
    product = "Valkey " if program.product == "Valkey" else ""
    assert server.version == f"{product}{program.version}"
    assert read(server).in_force


@pytest.mark.parametrize(("system", "mode"), [("redis", "off-wait-1"), ("postgresql", "remote-apply")])
def test_it_refuses_modes_that_need_a_replica(servers, system, mode):
    with pytest.raises(Exception, match="waits for 1 replica, and a single node starts"):
        servers(system, mode).start()
