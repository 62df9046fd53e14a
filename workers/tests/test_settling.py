"""Before a run the background work of its server is waited for, as long as the plan allows."""

import time

import pytest

from workers.conductor.settling import await_settled, find_background_work
from workers.provision.administration.redis import RedisAdministration
from workers.tests.conftest import Servers

SAVE_S = 3


@pytest.mark.parametrize(
    ("values", "work"),
    [
        ({"compactions_pending": 0, "flushes_pending": 2.0, "clients": 40}, {"flushes_pending": 2.0}),
        ({"replication_lag_bytes": 900.0, "replication_lag_s": 0.2}, {}),
        (
            {"replication_lag_bytes": 5e6, "replication_lag_s": 30.0},
            {"replication_lag_bytes": 5e6, "replication_lag_s": 30.0},
        ),
        ({"requests_pending": 1.0, "reads_pending": 1.0, "writes_pending": 3.0}, {}),
        ({}, {}),
    ],
)
def test_work_and_lag_are_told_from_other_counters(values, work):
    assert find_background_work(values) == work


@pytest.fixture
def redis_that_saves(servers: Servers) -> RedisAdministration:
    """A server that begins to write a snapshot, which takes it SAVE_S seconds."""
    administration = servers("redis", "off").start().administration
    assert isinstance(administration, RedisAdministration)
    with administration.connect() as client:
        client.mset({f"key{number}": "x" for number in range(1000)})
        client.config_set("rdb-key-save-delay", SAVE_S * 1000)
        client.bgsave()
    return administration


@pytest.mark.slow
def test_a_snapshot_is_waited_for(redis_that_saves: RedisAdministration) -> None:
    looks = []

    settled = await_settled(redis_that_saves, 60, lambda: looks.append(time.monotonic()))

    assert settled["pending"] == {}
    assert SAVE_S * 0.8 <= settled["waited_s"] < 30
    assert len(looks) >= SAVE_S - 1


@pytest.mark.slow
def test_what_is_left_at_the_limit_is_stated(redis_that_saves: RedisAdministration) -> None:
    settled = await_settled(redis_that_saves, 1, lambda: None)

    assert settled["pending"] == {"snapshots_pending": 1}
    assert 1 <= settled["waited_s"] < 3


@pytest.mark.slow
def test_a_server_that_is_gone_is_not_waited_for(servers: Servers) -> None:
    provisioner = servers("redis", "off")
    administration = provisioner.start().administration
    provisioner.remove()

    assert await_settled(administration, 30, lambda: None)["pending"] == {}
