"""Counting and deleting the records with certain keys, and nothing else."""

import time

import psycopg
import pytest
import redis

from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for, get_address
from workers.provision.servers import Server

pytestmark = pytest.mark.slow


def redis_client(server: Server) -> "redis.Redis":
    return redis.Redis(server.host, server.port, password=server.password, decode_responses=True)


def postgresql_session(server: Server) -> "psycopg.Connection":
    return psycopg.connect(
        host=server.host, port=server.port, user="ycsb", password=server.password, dbname="ycsb", autocommit=True
    )


def test_redis_deletes_only_these_keys(servers):
    server = servers("redis", "off").start()
    administration = server.administration
    with redis_client(server) as client:
        assert administration.content("usertable") == ""
        for number in range(7):
            client.hset(f"user{number}", "field0", "x")
            client.zadd("usertable:index", {f"user{number}": 0})
        keys = ["user0", "user1", "user9"]
        assert administration.count_keys("usertable", keys) == 2
        assert administration.delete_keys("usertable", keys) == 2
        assert client.dbsize() == 6 and client.zcard("usertable:index") == 5
        assert administration.delete_keys("usertable", [f"user{number}" for number in range(7)]) == 5
        assert client.dbsize() == 0


def test_redis_size_counts_the_index_where_nothing_is_marked(servers):
    server = servers("redis", "off").start()
    with redis_client(server) as client:
        client.zadd("usertable:index", {"user0": 0})
        assert server.administration.size("usertable") == 1
        assert server.administration.content("usertable") == "the key 'usertable:index'"
        server.administration.write_marker("usertable", "{}", replaces="")
        assert server.administration.size("usertable") == 0


def test_postgresql_deletes_only_these_rows(servers):
    server = servers("postgresql", "off").start()
    administration = server.administration
    assert administration.content("usertable") == ""
    assert administration.create_table("usertable", ["f0", "f1"], "{}")
    assert not administration.create_table("usertable", ["f0", "f1"], "{}")
    with postgresql_session(server) as session:
        session.execute("INSERT INTO usertable SELECT 'user' || n, 'a', 'b' FROM generate_series(1, 5) n")
        assert administration.content("usertable") == "the rows of table usertable"
        keys = ["user1", "user2", "user9"]
        assert administration.count_keys("usertable", keys) == 2
        assert administration.delete_keys("usertable", keys) == 2
        assert administration.size("usertable") == 3
        assert not administration.drop_empty_table("usertable")
        session.execute("DELETE FROM usertable")
        assert administration.drop_empty_table("usertable")
        assert session.execute("SELECT to_regclass('usertable')").fetchone() == (None,)


@pytest.mark.parametrize("system", ["redis", "postgresql"])
def test_marker_is_written_only_over_the_expected_marker(servers, system):
    administration = servers(system, "off").start().administration
    if system == "postgresql":
        administration.create_table("usertable", ["f0"], "")
    assert administration.write_marker("usertable", '{"n": 1}', replaces="")
    assert not administration.write_marker("usertable", '{"n": 2}', replaces="")
    assert not administration.write_marker("usertable", '{"n": 2}', replaces='{"n": 0}')
    assert administration.read_marker("usertable") == '{"n": 1}'
    assert administration.write_marker("usertable", '{"n": 2}', replaces='{"n": 1}')
    assert administration.read_marker("usertable") == '{"n": 2}'


def test_postgresql_marker_keeps_the_comment_of_the_owner(servers):
    server = servers("postgresql", "off").start()
    with postgresql_session(server) as session:
        session.execute("CREATE TABLE usertable (ycsb_key text PRIMARY KEY, f0 text)")
        session.execute("COMMENT ON TABLE usertable IS 'ours: ask Ada'")
        assert server.administration.write_marker("usertable", "{}", replaces="", fields=["f0"])
        comment = session.execute("SELECT obj_description('usertable'::regclass)").fetchone()
        assert comment == ("ours: ask Ada\nBenchsite data set: {}",)
        with pytest.raises(AdministrationError, match="has no column f1"):
            server.administration.write_marker("usertable", "{}", replaces="{}", fields=["f0", "f1"])


@pytest.mark.parametrize(("system", "mode"), [("redis", "off"), ("postgresql", "off")])
def test_it_names_the_server_and_never_the_password(servers, system, mode):
    server = servers(system, mode).start()
    names = server.wanted.system.binding.endpoint
    wrong = administration_for(server.wanted.system, {**server.client_properties(), names.password: "Wrong-Horse"})
    with pytest.raises(AdministrationError, match=f"127.0.0.1:{server.port}") as refused:
        wrong.ping()
    assert "Wrong-Horse" not in str(refused.value)
    assert "Wrong-Horse" not in repr(wrong.address)


def test_postgresql_administration_encrypts_where_clients_must(servers):
    """The server of the test has no TLS, so that it is not asked."""
    server = servers("postgresql", "off").start()
    properties = server.client_properties()
    assert get_address(server.wanted.system, properties).ssl == "disable"
    demanding = administration_for(server.wanted.system, {**properties, "postgresql.ssl": "require"})
    with pytest.raises(AdministrationError, match="does not support SSL"):
        demanding.ping()


@pytest.mark.parametrize(
    ("system", "mode", "growing", "momentary"),
    [
        ("redis", "everysec", {"cache_hits", "cache_misses", "commands"}, {"memory_used_bytes", "log_syncs_pending"}),
        ("postgresql", "on", {"cache_hits", "transactions", "log_bytes", "log_writes", "log_syncs"}, set()),
    ],
    ids=["redis", "postgresql"],
)
def test_counters_grow_with_the_work_of_the_server(servers, system, mode, growing, momentary):
    server = servers(system, mode).start()
    with server.administration.open_counters() as read:
        before = read()
        if system == "redis":
            with redis_client(server) as client:
                client.set("user0", "x")
                client.get("user0")
                client.get("user1")
        else:
            with postgresql_session(server) as session:
                session.execute("CREATE TABLE usertable AS SELECT generate_series(1, 1000) AS n")
                session.execute("SELECT count(*) FROM usertable").fetchone()
        # PostgreSQL's backends report what they did when they end.
        end = time.monotonic() + 20
        while not growing <= (grown := {n for n, count in read().counts.items() if count > before.counts[n]}):
            assert time.monotonic() < end, growing - grown
            time.sleep(0.1)
        assert momentary <= set(read().values)


def test_counters_of_a_server_that_went_away_are_an_error(servers):
    provisioner = servers("redis", "off")
    administration = provisioner.start().administration
    with administration.open_counters() as read:
        read()
        provisioner.stop(planned=False)
        with pytest.raises(AdministrationError, match="Redis at 127"):
            read()
