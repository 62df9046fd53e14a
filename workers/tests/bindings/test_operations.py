"""The bindings against real servers: every operation, every durability knob, nothing swallowed."""

import pytest
import redis

from workers.tests.bindings.conftest import Target
from workers.tests.bindings.servers import administration

pytestmark = pytest.mark.slow
RUN = {"maxexecutiontime": "1"}
SCANS = {
    "readproportion": "0",
    "updateproportion": "0",
    "insertproportion": "0.1",
    "scanproportion": "0.9",
    "maxscanlength": "20",
    "operationcount": "500",
    "dataintegrity": "false",
}


def test_it_loads_and_runs_workload_a(target: Target):
    loaded = target.load()
    assert loaded.returns == {"INSERT": {"OK": 1000}}
    ended = target.run(RUN)
    assert set(ended.returns) == {"READ", "UPDATE", "VERIFY"}
    # With dataintegrity every value read is compared with the one that belongs to its key.
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    for operation in ("READ", "UPDATE"):
        assert ended.returns[operation]["OK"] > 100
        assert ended.log(operation).total == ended.returns[operation]["OK"]
        payloads = [line for line in (ended.folder / f"{operation}.hdr").read_text().splitlines() if line[0].isdigit()]
        assert payloads
        assert all(line.split(",")[3].startswith("HISTFA") for line in payloads)
    assert ended.lines("BENCHSITE ERROR") == []


def test_it_reads_and_writes_only_the_fields_asked_for(target: Target):
    target.load()
    ended = target.run({**RUN, "readallfields": "false", "writeallfields": "true"})
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())


def test_it_scans_in_the_order_of_the_keys(target: Target):
    index = {"redis.index": "true"} if target.manifest.binding == "redis" else {}
    target.load(index)
    ended = target.run({**SCANS, **index})
    assert set(ended.returns) == {"INSERT", "SCAN"}
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    assert sum(ended.returns["SCAN"].values()) > 300


def test_it_keeps_the_index_that_scans_read(redis_target: Target):
    redis_target.load({"redis.index": "true"})
    with redis.Redis(port=redis_target.server.port, decode_responses=True) as connection:
        keys = connection.zrange("usertable:index", 0, -1)
        assert connection.dbsize() == 1001
    assert len(keys) == 1000
    assert keys == sorted(keys)


def test_it_refuses_scans_without_an_index(redis_target: Target):
    ended = redis_target.start(SCANS).end()
    assert ended.exit_code == 3
    assert "set redis.index=true" in ended.lines("BENCHSITE FAILED ")[0]


def test_a_missing_record_is_not_found(target: Target):
    """Redis makes what an update names, as its HSET does; PostgreSQL has no row to change."""
    ended = target.run({"operationcount": "200", "dataintegrity": "false"})
    if target.manifest.binding == "postgresql":
        assert set(ended.returns["UPDATE"]) == {"NOT_FOUND"}
    assert "NOT_FOUND" in ended.returns["READ"]
    assert "READ NOT_FOUND there is no record with this key" in ended.lines("BENCHSITE ERROR ")


def test_a_write_that_too_few_replicas_have_is_an_error(redis_target: Target):
    redis_target.load()
    waits = {"redis.wait.replicas": "1", "redis.wait.timeout_ms": "20", "operationcount": "40"}
    ended = redis_target.run(waits)
    assert set(ended.returns["UPDATE"]) == {"ERROR"}
    assert set(ended.returns["READ"]) == {"OK"}
    assert "UPDATE ERROR 0 of 1 replicas acknowledged the write in time" in ended.lines("BENCHSITE ERROR ")


def test_commits_of_its_own_keep_what_was_written(postgresql_target: Target):
    loaded = postgresql_target.load({"postgresql.autocommit": "false", "postgresql.synchronous_commit": "off"})
    assert loaded.returns == {"INSERT": {"OK": 1000}}
    assert administration(postgresql_target.server.port).size("usertable") == 1000


def test_a_table_that_is_not_there_is_a_bad_request(postgresql_target: Target):
    ended = postgresql_target.run({"operationcount": "20", "table": "nowhere", "dataintegrity": "false"})
    assert set(ended.returns["READ"]) == {"BAD_REQUEST"}
    assert any('"nowhere" does not exist' in line for line in ended.lines("BENCHSITE ERROR "))
    reads = str(ended.returns["READ"]["BAD_REQUEST"])
    assert ended.lines("BENCHSITE CODES READ BAD_REQUEST 42P01 ") == [reads], "the server's own code"


def test_failed_insert_ends_its_thread_unless_ignored(redis_target: Target):
    let_no_memory(redis_target)
    ended = redis_target.run(phase="-load")
    assert ended.returns["INSERT"] == {"SERVICE_UNAVAILABLE": 2}
    ignoring = redis_target.run({"benchsite.ignore_insert_errors": "true"}, phase="-load")
    assert ignoring.returns["INSERT"] == {"SERVICE_UNAVAILABLE": 1000}
    assert ignoring.lines("BENCHSITE ERRORS INSERT SERVICE_UNAVAILABLE ") == ["1000"]
    assert ignoring.lines("BENCHSITE CODES INSERT SERVICE_UNAVAILABLE OOM ") == ["1000"]


def test_retries_are_told_and_count_once(redis_target: Target):
    let_no_memory(redis_target)
    ended = redis_target.run({"benchsite.retries.insert": "3", "benchsite.retry.delay_ms": "1"}, phase="-load")
    assert ended.returns["INSERT"] == {"SERVICE_UNAVAILABLE": 2}
    assert ended.lines("BENCHSITE RETRIES INSERT ") == ["6"]


def let_no_memory(target: Target) -> None:
    """From now on Redis refuses every write."""
    with redis.Redis(port=target.server.port) as connection:
        connection.config_set("maxmemory", "1")
