"""Counting and emptying what a load has written, and nothing else."""

import psycopg
import pytest
import redis

from workers.provision import AdministrationError, administration_for

pytestmark = pytest.mark.slow


def test_it_counts_redis_records_without_the_index(servers):
    server = servers("redis", "off").start()
    administration = server.administration
    with redis.Redis(server.host, server.port, password=server.password) as client:
        for number in range(7):
            client.hset(f"user{number}", "field0", "x")
        assert administration.count_rows("usertable") == 7
        client.zadd("usertable:index", {"user0": 0})
        assert administration.count_rows("usertable") == 7
        administration.drop_data("usertable")
        assert client.dbsize() == 0


def test_it_never_empties_a_redis_with_other_keys(servers):
    server = servers("redis", "off").start()
    with redis.Redis(server.host, server.port, password=server.password) as client:
        client.set("orders:1", "x")
        with pytest.raises(AdministrationError, match=r"'orders:1' among them.*redis\.database"):
            server.administration.create_schema("usertable", 10)
        assert client.exists("orders:1")


def test_it_makes_and_drops_its_own_table(servers):
    server = servers("postgresql", "off").start()
    administration = server.administration
    administration.create_schema("usertable", 3, "f")
    with psycopg.connect(
        host=server.host, port=server.port, user="ycsb", password=server.password, dbname="ycsb", autocommit=True
    ) as session:
        session.execute("INSERT INTO usertable (ycsb_key, f0, f1, f2) VALUES ('user1', 'a', 'b', 'c')")
        assert administration.count_rows("usertable") == 1
        administration.create_schema("usertable", 3)
        assert administration.count_rows("usertable") == 0
        administration.drop_data("usertable")
        administration.drop_data("usertable")
        session.execute("CREATE TABLE usertable (mine int)")
    with pytest.raises(AdministrationError, match="that Benchsite did not make"):
        administration.create_schema("usertable", 3)


@pytest.mark.parametrize(("system", "mode"), [("redis", "off"), ("postgresql", "off")])
def test_it_names_the_server_and_never_the_password(servers, system, mode):
    server = servers(system, mode).start()
    names = server.wanted.system.binding.endpoint
    wrong = administration_for(server.wanted.system, {**server.client_properties(), names.password: "Wrong-Horse"})
    with pytest.raises(AdministrationError, match=f"127.0.0.1:{server.port}") as refused:
        wrong.ping()
    assert "Wrong-Horse" not in str(refused.value)
    assert "Wrong-Horse" not in repr(wrong.address)
