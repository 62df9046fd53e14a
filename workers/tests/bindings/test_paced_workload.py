"""A target is offered on a schedule that begins with the measured window: real Redis, stalled by CLIENT PAUSE."""

import signal
import time

import pytest
import redis

from runs.ycsb.ingest import ingest
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.window import Cut
from workers.tests.bindings.clients import StartedClient
from workers.tests.bindings.conftest import Target

pytestmark = pytest.mark.slow
TARGET_OPS_S = 1000
WARMUP_S = 2
RUN_S = 5
PACED = {"window.start_s": str(WARMUP_S)}
READS = {
    "target": str(TARGET_OPS_S), "maxexecutiontime": str(RUN_S), "measurement.interval": "both",
    "readproportion": "1", "updateproportion": "0", "dataintegrity": "false",
}  # fmt: skip


def measure(target: Target, properties: dict[str, str], *, stall_at_s: float, stall_s: float) -> MergedRun:
    """A run whose server stops answering for a while; cut as the conductor does."""
    client = started(target, properties)
    client.wait_for("BENCHSITE STARTED")
    time.sleep(stall_at_s)
    with redis.Redis(port=target.server.port) as connection:
        connection.client_pause(round(stall_s * 1000), all=True)
    return merged_run(client)


def started(target: Target, properties: dict[str, str]) -> StartedClient:
    client = target.start({**READS, **properties}, threads=4)
    client.go()
    return client


def merged_run(client: StartedClient) -> MergedRun:
    ended = client.end()
    assert ended.exit_code == 0, ended.stderr
    logs = [ended.log(name) for name in ("READ", "Intended-READ")]
    return ingest([ClientLogs(0, logs)], Cut(WARMUP_S), has_series=False)[0]


def response_us(merged: MergedRun, percentile: float) -> float:
    histogram = next(entry.histogram for entry in merged.operations if entry.kind == "response")
    value = histogram.percentile(percentile)
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("properties", "least", "most"),
    [
        pytest.param({}, 1.15, 2.0, id="ycsb-catches-up", marks=pytest.mark.long),
        pytest.param(PACED, 0.9, 1.01, id="paced"),
    ],
)
def test_stall_before_the_window_is_not_made_up_for(redis_target: Target, properties, least, most):
    redis_target.load()
    merged = measure(redis_target, properties, stall_at_s=0.7, stall_s=1.6)
    assert least < merged.throughput_ops_s / TARGET_OPS_S < most
    # Both answer at once when the backlog is gone; only YCSB's own schedule has one from before the window.
    assert (response_us(merged, 90) > 300_000) is (not properties)


def until_status_line(client: StartedClient, second: int) -> None:
    until = time.monotonic() + 20
    while not any(f" {second} sec: " in line for line in client.output["stderr"]):
        assert time.monotonic() < until, client.output["stderr"]
        time.sleep(0.01)


def test_client_stall_at_window_start_is_not_caught_up(redis_target: Target):
    """It delays the status line with which the window begins, so the window is shorter by as much."""
    redis_target.load()
    client = started(redis_target, PACED)
    # The window begins with the line of second 2, or of second 3 where the first operation came late.
    for second in (1, 2):
        until_status_line(client, second)
        time.sleep(0.8)
        client.process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)
        client.process.send_signal(signal.SIGCONT)
    merged = merged_run(client)
    assert merged.throughput_ops_s / TARGET_OPS_S < 1.02


def test_stall_in_the_window_is_made_up_for_and_seen(redis_target: Target):
    redis_target.load()
    merged = measure(redis_target, PACED, stall_at_s=3.0, stall_s=0.8)
    assert 0.95 < merged.throughput_ops_s / TARGET_OPS_S < 1.02
    # A quarter of the window's operations were due in the stall: service time shows four of them.
    assert response_us(merged, 90) > 200_000
    service = next(entry.histogram for entry in merged.operations if entry.kind == "service")
    assert (service.percentile(99) or 0) < 100_000


def test_stall_is_not_made_up_for_where_catching_up_is_limited(redis_target: Target):
    redis_target.load()
    merged = measure(redis_target, {**PACED, "window.catch_up_ms": "100"}, stall_at_s=3.0, stall_s=0.8)
    # 0.7 s of the 3 s are dropped, and no response time is longer than the stall and what may be made up for.
    assert 0.65 < merged.throughput_ops_s / TARGET_OPS_S < 0.85
    assert response_us(merged, 90) < 100_000


def test_more_than_the_target_is_never_offered(redis_target: Target):
    redis_target.load()
    merged = measure(redis_target, {**PACED, "target": "20000"}, stall_at_s=0, stall_s=0.3)
    assert merged.throughput_ops_s < 20_200
