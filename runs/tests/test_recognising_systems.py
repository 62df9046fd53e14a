"""Which system an upload's class, binding, file name or JDBC address speaks of."""

import pytest
from hypothesis import given, strategies as st

from runs.catalog import load_catalog, recognise

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("site.ycsb.db.MongoDbClient", "mongodb"),
        ("com.yahoo.ycsb.db.AsyncMongoDbClient", "mongodb"),
        ("mongodb-async", "mongodb"),
        ("com.yahoo.ycsb.db.RedisClient", "redis"),
        ("org.benchsite.redis.RedisDB", "redis"),
        ("site.ycsb.postgrenosql.PostgreNoSQLDBClient", "postgresql"),
        ("org.benchsite.postgresql.PostgresqlDB", "postgresql"),
        ("pg", "postgresql"),
        ("cassandra-cql", "cassandra"),
        ("cassandra2-cql", "cassandra"),
        ("com.yahoo.ycsb.db.CassandraClient10", "cassandra"),
        ("site.ycsb.db.hbase12.HBaseClient12", "hbase"),
        ("hbase098", "hbase"),
        ("asynchbase", "hbase"),
        ("couchbase2", "couchbase"),
        ("com.yahoo.ycsb.db.couchbase2.Couchbase2Client", "couchbase"),
        ("com.yahoo.ycsb.db.MembaseClient", "couchbase"),
        ("site.ycsb.db.AerospikeClient", "aerospike"),
        ("memcached", "memcached"),
        ("site.ycsb.db.rocksdb.RocksDBClient", "rocksdb"),
        ("FerretDB", "ferretdb"),
        (" MariaDB ", "mariadb"),
        ("cassandra4.1-workloada.txt", "cassandra"),
        ("results/mongo_f_outputRun1.txt", "mongodb"),
        ("windows mariadb outputRun 3", "mariadb"),
    ],
)
def test_it_knows_the_names_that_outputs_use(said, slug):
    assert recognise(said) == slug


@pytest.mark.parametrize(
    "said",
    [
        "", ".", "...", "outputRun.txt", "basic", "site.ycsb.BasicDB", "jdbc", "site.ycsb.db.JdbcDBClient", "dynamodb",
        "scylla", "site.ycsb.db.scylla.ScyllaCQLClient", "scylla with cassandra-cql", "yugabyte cassandra-cql",
        "cosmosdb mongodb", "valkey redis", "mysql", "redis vs mongodb", "ferretdb mongodb", "predistribution",
        "site.ycsb.db.GoogleBigtableClient", "other", "unknown",
    ],
)  # fmt: skip
def test_it_does_not_take_one_system_for_another(said):
    assert recognise(said) is None


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("jdbc:mariadb://db1:3306/ycsb", "mariadb"),
        ("JDBC:PostgreSQL://db1/ycsb;jdbc:postgresql://db2/ycsb", "postgresql"),
        ("jdbc:mysql://db1/ycsb", None),
        ("jdbc:", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("said", ["jdbc", "com.yahoo.ycsb.db.JdbcDBClient"])
def test_it_asks_the_address_behind_jdbc(said, url, slug):
    assert recognise(said, {"db.url": url}) == slug


def test_no_name_belongs_to_two_systems():
    taken: dict[str, str] = {}
    for system in CATALOG.systems.values():
        of = system.recognition
        for name in {system.slug, *system.aliases, *of.bindings, *of.classes, *(f"jdbc:{one}" for one in of.jdbc)}:
            assert taken.setdefault(name, system.slug) == system.slug, name


@pytest.mark.slow
@given(st.text(max_size=300))
def test_it_answers_whatever_is_said(said):
    assert recognise(said) in {None, *CATALOG.systems}
    assert recognise("jdbc", {"db.url": said}) in {None, *CATALOG.systems}
