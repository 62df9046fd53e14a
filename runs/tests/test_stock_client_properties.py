"""What YCSB's own clients are given: the addresses of all nodes they take, and the properties of each mode."""

import pytest

from runs.catalog import client_properties, load_catalog, secret_properties, site_files
from runs.ycsb.property_schema import PropertyError

NODES = [("10.0.0.1", 7001), ("10.0.0.2", 7001)]
MONGO = "mongodb://10.0.0.1:7001,10.0.0.2:7001/ycsb"
ONE = {"cassandra.writeconsistencylevel": "ONE", "cassandra.readconsistencylevel": "ONE"}
QUORUM = {"cassandra.writeconsistencylevel": "QUORUM", "cassandra.readconsistencylevel": "QUORUM"}
ZOOKEEPER = {"hbase.zookeeper.quorum": "10.0.0.1,10.0.0.2", "hbase.zookeeper.property.clientPort": "7001"}


def couchbase(persist: int, replicate: int) -> dict[str, str]:
    return {
        "couchbase.persistTo": str(persist),
        "couchbase.replicateTo": str(replicate),
        "couchbase.syncMutationResponse": "true",
    }


def mongodb(w: str, journal: str, concern: str = "local", preference: str = "primary") -> dict[str, str]:
    options = f"w={w}&journal={journal}&readConcernLevel={concern}&readPreference={preference}"
    return {"mongodb.url": f"{MONGO}?{options}"}


# system -> properties of every mode, and those of each; None: the client cannot request it
RENDERED: dict[str, tuple[dict[str, str], dict[str, dict[str, str] | None]]] = {
    "aerospike": (
        {"as.host": "10.0.0.1", "as.port": "7001"},
        {
            "in-memory-master": None,
            "master": None,
            "in-memory-all": {},
            "all": {},
            "commit-to-device": {},
            "commit-to-device-linearizable": None,
        },
    ),
    "cassandra": (
        {"hosts": "10.0.0.1,10.0.0.2", "port": "7001"},
        {
            "no-commitlog": ONE,
            "one-periodic": ONE,
            "one-group": ONE,
            "one-batch": ONE,
            "quorum-periodic": QUORUM,
            "all-one-periodic": {**ONE, "cassandra.writeconsistencylevel": "ALL"},
            "quorum-batch": QUORUM,
        },
    ),
    "couchbase": (
        {"couchbase.host": "10.0.0.1"},
        {
            "unchecked": {"couchbase.syncMutationResponse": "false"},
            "memory": couchbase(0, 0),
            "replicate-1": couchbase(0, 1),
            "majority": None,
            "persist-1": couchbase(1, 0),
            "persist-1-replicate-1": couchbase(1, 1),
            "majority-persist-active": None,
            "persist-2": couchbase(2, 0),
            "persist-majority": None,
        },
    ),
    "ferretdb": (
        {"mongodb.url": "mongodb://10.0.0.1:7001/ycsb"},
        {"sqlite-normal": {}, "sqlite": {}, "postgresql": {}},
    ),
    "hbase": (
        ZOOKEEPER,
        {
            "client-buffering": {"clientbuffering": "true"},
            "skip-wal": {"durability": "SKIP_WAL", "clientbuffering": "false"},
            "async-wal": {"durability": "ASYNC_WAL", "clientbuffering": "false"},
            "sync-wal-local": {"durability": "SYNC_WAL", "clientbuffering": "false"},
            "fsync-wal-local": {"durability": "FSYNC_WAL", "clientbuffering": "false"},
            "sync-wal-one-copy": {"durability": "SYNC_WAL", "clientbuffering": "false"},
            "sync-wal": {"durability": "SYNC_WAL", "clientbuffering": "false"},
            "fsync-wal": {"durability": "FSYNC_WAL", "clientbuffering": "false"},
        },
    ),
    "mariadb": (
        {
            "db.driver": "org.mariadb.jdbc.Driver",
            "db.url": "jdbc:mariadb://10.0.0.1:7001/ycsb?allowLocalInfile=false",
            "jdbc.autocommit": "true",
        },
        {"flush-0": {}, "flush-2": {}, "flush-1": {}, "flush-2-semi-sync": {}, "flush-1-semi-sync": {}},
    ),
    "memcached": (
        {"memcached.hosts": "10.0.0.1:7001,10.0.0.2:7001"},
        {
            "unchecked": {"memcached.checkOperationStatus": "false"},
            "none": {"memcached.checkOperationStatus": "true"},
        },
    ),
    "mongodb": (
        {},
        {
            "w0": mongodb("0", "false"),
            "w1-no-journal": mongodb("1", "false"),
            "w1-secondary-reads": mongodb("1", "false", preference="secondaryPreferred"),
            "w1": mongodb("1", "false"),
            "w2": mongodb("2", "false"),
            "majority-no-journal": mongodb("majority", "false"),
            "w1-j": mongodb("1", "true"),
            "majority": mongodb("majority", "true"),
            "majority-linearizable": mongodb("majority", "true", "linearizable"),
        },
    ),
    "postgresql": (
        {"db.driver": "org.postgresql.Driver"},
        {
            mode: {"db.url": f"jdbc:postgresql://10.0.0.1:7001/ycsb?options=-c%20synchronous_commit%3D{value}"}
            for mode, value in {
                "off": "off",
                "fsync-off": "on",
                "local": "local",
                "on": "on",
                "remote-write": "remote_write",
                "on-standby": "on",
                "remote-apply": "remote_apply",
            }.items()
        },
    ),
    "redis": (
        {"redis.host": "10.0.0.1", "redis.port": "7001"},
        {
            "off": {},
            "no": {},
            "everysec": {},
            "always": {},
            "off-wait-1": None,
            "everysec-wait-1": None,
            "always-wait-1": None,
        },
    ),
    "redis-cluster": (
        {"redis.host": "10.0.0.1", "redis.port": "7001", "redis.cluster": "true"},
        {"off": {}, "no": {}, "everysec": {}, "always": {}},
    ),
}


def rendered(slug: str, mode: str, nodes: list[tuple[str, int]] = NODES, /, **properties: str) -> dict[str, str]:
    system = load_catalog().system(slug, "ycsb")
    host, port = nodes[0]
    return client_properties(system, system.mode(mode), properties, host=host, port=port, nodes=nodes)


@pytest.mark.parametrize("slug", RENDERED)
def test_renders_every_mode(slug: str):
    system = load_catalog().system(slug, "ycsb")
    shared, modes = RENDERED[slug]
    assert system.modes.keys() == modes.keys()
    for mode, own in modes.items():
        assert bool(system.mode(mode).no_client) == (own is None)
        if own is not None:
            assert rendered(slug, mode) == shared | own, mode


def test_covers_every_system_with_a_server():
    assert RENDERED.keys() == {slug for slug, system in load_catalog().systems.items() if "ycsb" in system.flavours}


def test_quotes_credentials_and_places_options_in_urls():
    url = rendered("mongodb", "w1-j", **{"mongodb.user": "a@b", "mongodb.password": "p/?:", "replicaSet": "rs0"})
    assert url == {
        "mongodb.url": f"{MONGO.replace('//', '//a%40b:p%2F%3F%3A@')}"
        "?w=1&journal=true&readConcernLevel=local&readPreference=primary&replicaSet=rs0"
    }
    assert "mongodb.url" in secret_properties(load_catalog().system("mongodb", "ycsb"))
    assert rendered("postgresql", "on", **{"url.database": "lab", "db.user": "u", "db.passwd": "p"}) == {
        "db.driver": "org.postgresql.Driver",
        "db.url": "jdbc:postgresql://10.0.0.1:7001/lab?options=-c%20synchronous_commit%3Don",
        "db.user": "u",
        "db.passwd": "p",
    }


def test_writes_ipv6_addresses_in_brackets():
    assert rendered("memcached", "none", [("::1", 1), ("10.0.0.2", 2)])["memcached.hosts"] == "[::1]:1,10.0.0.2:2"


@pytest.mark.parametrize(
    ("slug", "mode", "properties", "words"),
    [
        ("mongodb", "w1", {"mongodb.url": "mongodb://elsewhere/"}, "made of the addresses of the cluster's nodes"),
        ("mongodb", "w1", {"w": "0"}, "decided by the durability mode"),
        ("mariadb", "flush-1", {"db.driver": "org.example.Driver"}, "is always org.mariadb.jdbc.Driver here"),
    ],
)
def test_refuses_what_is_not_for_people_to_set(slug: str, mode: str, properties: dict[str, str], words: str):
    with pytest.raises(PropertyError, match=words):
        rendered(slug, mode, NODES, **properties)


def test_refuses_several_ports_where_the_client_takes_one():
    with pytest.raises(PropertyError, match="one port for all nodes, and theirs are 1, 2"):
        rendered("cassandra", "one-periodic", [("10.0.0.1", 1), ("10.0.0.2", 2)])


def test_writes_the_address_of_hbase_into_its_configuration_file():
    hbase = load_catalog().system("hbase", "ycsb")
    [(name, text)] = site_files(hbase, rendered("hbase", "sync-wal")).items()
    assert name == "hbase-site.xml"
    for key, value in ZOOKEEPER.items():
        assert f"<name>{key}</name><value>{value}</value>" in text
    assert site_files(load_catalog().system("redis"), {}) == {}
