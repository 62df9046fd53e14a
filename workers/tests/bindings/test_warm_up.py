"""`warmup.duration_ms`: clients use the database before the agreed instant, and nothing of it is measured."""

import time

import pytest
import redis

from runs.ycsb.tests.hdrlogs import each_interval
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
# Workload F and inserts; a single client.
WARM = {
    "maxexecutiontime": "1", "warmup.duration_ms": "1000", "readproportion": "0.4", "updateproportion": "0",
    "readmodifywriteproportion": "0.4", "insertproportion": "0.2", "requestdistribution": "uniform",
}  # fmt: skip


def reads(target: Target) -> int:
    """How many records clients have read from the server."""
    with redis.Redis(port=target.server.port) as connection:
        stats = connection.info("commandstats")
    return sum(stats[name]["calls"] for name in ("cmdstat_hgetall", "cmdstat_hmget") if name in stats)


def test_uses_the_database_without_inserts_or_measurements(redis_target: Target):
    redis_target.load()
    before = reads(redis_target)
    client = redis_target.start(WARM)
    client.wait_for("BENCHSITE READY")
    with redis.Redis(port=redis_target.server.port) as connection:
        assert connection.zcard("_indices") in (0, 1000)
        assert sum(1 for _ in connection.scan_iter("user*", count=1000)) == 1000
    ready = reads(redis_target)
    assert ready - before > 100
    client.go(in_s=1)
    time.sleep(0.9)
    after = reads(redis_target)
    assert after > ready, "it goes on until shortly before the instant"
    ended = client.end()
    counts = {operation: sum(codes.values()) for operation, codes in ended.returns.items()}
    assert counts["INSERT"] > 0 and each_interval(ended.log("READ-MODIFY-WRITE"))
    assert counts["READ"] == counts["VERIFY"] == reads(redis_target) - after


def test_works_by_reads_alone_where_it_is_told_to(redis_target: Target):
    redis_target.load()
    with redis.Redis(port=redis_target.server.port) as connection:
        connection.config_resetstat()
        client = redis_target.start({**WARM, "warmup.reads_only": "true", "updateproportion": "1"})
        client.wait_for("BENCHSITE READY")
        used = connection.info("commandstats")
    client.go(in_s=0.5)
    client.end()
    assert used["cmdstat_hmget"]["calls"] > 100 and not {"cmdstat_hset", "cmdstat_hmset"} & set(used)


def test_errors_of_the_warm_up_are_not_counted(redis_target: Target):
    redis_target.empty()
    ended = redis_target.run({**WARM, "insertproportion": "0", "readproportion": "1", "readmodifywriteproportion": "0"})
    assert ended.lines("BENCHSITE ERRORS ") == [f"READ NOT_FOUND {ended.returns['READ']['NOT_FOUND']}"]


def test_refuses_what_is_no_whole_number(redis_target: Target):
    ended = redis_target.start({**WARM, "warmup.duration_ms": "soon"}).end()
    assert ended.exit_code == 3
    assert ended.lines("BENCHSITE FAILED ")[0].startswith('warmup.duration_ms must be a whole number, not "soon"')
