"""benchsite.Start: ready, the agreed instant, and what keeps a client from starting."""

import time

import pytest

from workers.provision.ports import free_port
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
SHORT = {"maxexecutiontime": "1", "dataintegrity": "false"}


def test_it_begins_at_the_agreed_instant(redis_target: Target):
    client = redis_target.start(SHORT)
    java, histograms = client.wait_for("BENCHSITE READY").split()
    instant = round((time.time() + 1) * 1000)
    client.say(f"START {instant}")
    begun = int(client.wait_for("BENCHSITE STARTED"))
    ended = client.end()
    assert int(java.split(".")[0]) >= 11
    assert histograms == "2.2.2"
    assert begun >= instant
    assert ended.log("UPDATE").start_time_s * 1000 >= begun
    assert ended.stderr.index("BENCHSITE STARTED") < ended.stderr.index("Starting test.")


def test_it_begins_at_once_when_the_instant_has_passed(redis_target: Target):
    client = redis_target.start(phase="-load")
    client.wait_for("BENCHSITE READY")
    client.say("START 1000")
    assert int(client.wait_for("BENCHSITE STARTED")) > 1_700_000_000_000
    assert client.end().returns == {"INSERT": {"OK": 1000}}


@pytest.mark.parametrize("target", [{}, {"target": "500", "window.start_s": "0"}], ids=["threads", "target"])
def test_it_ends_at_an_agreed_instant(redis_target: Target, target: dict[str, str]):
    """With the whole output of a client whose time is up."""
    client = redis_target.start({"maxexecutiontime": "60", "dataintegrity": "false", **target})
    client.go()
    client.wait_for("BENCHSITE STARTED")
    instant = time.time() + 2
    client.say(f"END {round(instant * 1000)}")

    ended = client.end()

    assert ended.exit_code == 0
    assert instant < time.time() < instant + 10
    assert ended.returns["READ"]["OK"] > 100


def test_it_does_nothing_when_nobody_says_start(redis_target: Target):
    client = redis_target.start(SHORT, phase="-load")
    client.wait_for("BENCHSITE READY")
    ended = client.end()
    assert ended.exit_code == 4
    assert "STARTED" not in ended.stderr
    assert ended.stdout == ""
    assert [path.name for path in ended.folder.iterdir()] == ["ycsb.properties"]


def test_it_refuses_any_other_word(redis_target: Target):
    client = redis_target.start(SHORT)
    client.wait_for("BENCHSITE READY")
    client.say("BEGIN now")
    ended = client.end()
    assert ended.exit_code == 3
    assert ended.lines("BENCHSITE FAILED ") == ['expected START and epoch milliseconds, not "BEGIN now"']


@pytest.mark.parametrize(
    ("name", "wrong", "nearest"),
    [
        ("redis", "redis.wait.replica", "redis.wait.replicas"),
        ("redis", "benchsite.retry.delay", "benchsite.retry.delay_ms"),
        ("postgresql", "postgresql.synchronous_comit", "postgresql.synchronous_commit"),
    ],
)
def test_it_refuses_an_unknown_property_with_the_nearest_name(request, name: str, wrong: str, nearest: str):
    target = request.getfixturevalue(f"{name}_target")
    ended = target.start({**SHORT, wrong: "1"}).end()
    assert ended.exit_code == 3
    assert ended.lines("BENCHSITE FAILED ") == [f"there is no property {wrong}; did you mean {nearest}?"]
    assert "READY" not in ended.stderr


def test_it_refuses_a_value_that_cannot_be(postgresql_target: Target):
    ended = postgresql_target.start({**SHORT, "postgresql.synchronous_commit": "always"}).end()
    assert ended.exit_code == 3
    assert "must be one of off, local, remote_write, on, remote_apply" in ended.lines("BENCHSITE FAILED ")[0]


def test_it_says_when_the_server_does_not_answer(target: Target):
    port = {name: str(free_port()) for name in target.port}
    ended = target.start({**SHORT, **port}).end()
    assert ended.exit_code == 3
    [reason] = ended.lines("BENCHSITE FAILED ")
    assert "refused" in reason.lower()
    assert "READY" not in ended.stderr


def test_it_says_when_not_every_thread_gets_a_connection(postgresql_target: Target):
    """YCSB itself would run with the threads that are left, and report success."""
    ended = postgresql_target.run(SHORT, threads=40)
    assert ended.exit_code == 3
    [reason] = set(ended.lines("BENCHSITE FAILED "))
    assert reason.startswith("a thread could not connect: ")
    assert "[OVERALL]" not in ended.stdout


def test_it_refuses_a_run_that_would_start_no_threads(redis_target: Target):
    ended = redis_target.start({**SHORT, "operationcount": "0"}).end()
    assert ended.exit_code == 3
    assert "operationcount must be set" in ended.lines("BENCHSITE FAILED ")[0]
