"""Operations that do not wait for each other: a real client on Redis, and on queues of known service time."""

import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import redis
from scipy.stats import kstest

from benchmarks.calibration.open_load import Measured, compute_ideal, draw_gaps, fifo_server, measure
from benchmarks.speed.open_load import judge_arrivals
from workers.tests.bindings.conftest import Target, bindings, redis_target, shared_redis

__all__ = ["bindings", "redis_target", "shared_redis"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def offer(target: Target, **options: Any) -> list[Measured]:
    target.load({"fieldcount": "1", "fieldlength": "10", "dataintegrity": "false"})
    return measure(target.manifest, target.server.port, **{"threads": 8, "seconds": 4, **options})


@pytest.mark.parametrize("clients", [1, 4])
def test_every_arrival_was_begun_or_dropped(redis_target: Target, clients: int):
    runs = offer(redis_target, rate_ops_s=600, patience_ms=0.05, clients=clients)
    assert len(runs) == clients
    for run in runs:
        counts = run.arrivals
        assert (counts.offered == counts.started + counts.dropped).all()
        assert counts.started.sum() == run.service.count == run.response.count


def test_killed_client_leaves_what_it_counted(redis_target: Target):
    def kill_one(processes: Sequence[subprocess.Popen[str]]) -> None:
        time.sleep(3.6)
        processes[0].send_signal(signal.SIGKILL)

    killed, other = offer(redis_target, rate_ops_s=400, clients=2, seconds=5, on_started=kill_one)
    # A second is written when the second but one after it begins: up to two are lost.
    assert 200 < killed.arrivals.offered.sum() < 800
    assert (killed.arrivals.offered == killed.arrivals.started + killed.arrivals.dropped).all()
    assert other.arrivals.offered.sum() == pytest.approx(1000, rel=0.15)


def test_arrivals_are_the_poisson_process_of_their_seed(redis_target: Target):
    """Python draws the same gaps; of four clients together they are exponential too."""
    runs = offer(redis_target, rate_ops_s=800, clients=4)
    due = []
    for run in runs:
        gaps = draw_gaps(run.seed, int(run.arrivals.offered.sum()))
        assert run.arrivals.gaps.sum() == pytest.approx(gaps.sum(), rel=1e-9)
        assert run.arrivals.squares.sum() == pytest.approx((gaps**2).sum(), rel=1e-9)
        due.append(np.cumsum(gaps) / run.rate_ops_s)
    all_due = np.sort(np.concatenate(due))
    together = np.diff(all_due[all_due < min(part[-1] for part in due)]) * 800
    assert kstest(together, "expon").pvalue > 1e-4


def test_gaps_of_all_seeds_are_exponential():
    """Of one client, and of four together."""
    assert judge_arrivals().met


def test_clients_begin_together_and_their_equal_gaps_in_turn(redis_target: Target):
    """Four at 100 ops/s in all: one operation each 10 ms, as the server sees them."""
    seen_s: list[float] = []

    def watch(processes: object) -> None:
        end = time.time() + 4.5
        with redis.Redis(port=redis_target.server.port) as connection, connection.monitor() as monitor:
            for command in monitor.listen():
                if command["command"].startswith("HSET"):
                    seen_s.append(command["time"])
                if command["time"] > end:
                    return

    runs = offer(redis_target, rate_ops_s=100, arrivals="constant", clients=4, seconds=6, on_started=watch)
    assert len(runs) == 4 and len(seen_s) > 200
    # In each 40 ms each client begins one operation, 10 ms behind the one before.
    turn = 2 * np.pi * np.array(seen_s) / 0.01
    assert abs(np.exp(1j * turn).mean()) > 0.7
    place = np.round(np.array(seen_s) / 0.01 - np.angle(np.exp(1j * turn).mean()) / (2 * np.pi)).astype(int) % 4
    assert np.bincount(place, minlength=4).min() > 0.15 * len(seen_s)


def test_constant_arrivals_follow_a_profile_exactly(redis_target: Target):
    profile = [[0, 0], [2, 100], [4, 100]]
    (run,) = offer(redis_target, rate_ops_s=500, arrivals="constant", profile=profile, seconds=5)
    by_second = np.bincount(run.arrivals.second - run.arrivals.second[0], run.arrivals.offered)
    # A ramp of 2 s makes half of what as many full seconds do.
    assert run.arrivals.offered.sum() == pytest.approx(500 * (2 / 2 + 3), rel=0.03)
    assert by_second[3] == pytest.approx(500, rel=0.03)


def test_stalled_server_is_not_caught_up(redis_target: Target):
    """1.6 s at 1,000 ops/s: 32 operations wait for their answers, and the others are dropped."""

    def pause(processes: object) -> None:
        time.sleep(2.0)
        with redis.Redis(port=redis_target.server.port) as connection:
            connection.client_pause(1600, all=True)

    (run,) = offer(
        redis_target, rate_ops_s=1000, arrivals="constant", patience_ms=1.0, threads=32, seconds=6, on_started=pause
    )
    # Without the first second, in which threads connect. A busy machine drops more.
    assert run.arrivals.dropped[1:].sum() > 0.95 * 1568
    assert run.arrivals.started.max() <= 1030


def test_overload_without_drops_counts_what_was_never_begun(redis_target: Target):
    """4 s at 500 ops/s, of which a server of 250 does half."""
    with fifo_server(1, 4000) as (port, _):
        (run,) = measure(redis_target.manifest, port, rate_ops_s=500, seconds=4, threads=4)
    offered, dropped = int(run.arrivals.offered.sum()), int(run.arrivals.dropped.sum())
    assert 1600 < offered < 2400
    assert 0.4 < dropped / offered < 0.8


def test_response_times_hold_the_queue(redis_target: Target):
    """At 80 % of the capacity of one server no percentile is below that of the ideal client on the same arrivals."""
    with fifo_server(1, 4000) as (port, _):
        (run,) = measure(redis_target.manifest, port, rate_ops_s=200, seconds=6, threads=32, seed="queue")
    due_s = np.cumsum(draw_gaps(run.seed, int(run.arrivals.started.sum()))) / run.rate_ops_s
    ideal_us = compute_ideal(due_s, 1, 0.004) * 1e6
    assert run.response.count == ideal_us.size
    for percentile in (50, 90, 99):
        value_us = run.response.percentile(percentile)
        assert value_us is not None
        assert value_us >= 0.99 * float(np.percentile(ideal_us, percentile, method="lower"))
    # Service times do not hold it.
    assert (run.service.percentile(50) or 0) <= (run.response.percentile(50) or 0)


def test_other_workloads_are_offered_too(redis_target: Target):
    """Every kind of operation is counted under the name that YCSB measures it by."""
    mix = {
        "readproportion": "0.3", "updateproportion": "0.3", "insertproportion": "0.2",
        "readmodifywriteproportion": "0.2", "requestdistribution": "latest", "client.number": "1", "client.count": "2",
    }  # fmt: skip
    (run,) = offer(redis_target, rate_ops_s=400, properties=mix)
    names = set(run.arrivals.operation)
    assert names == {"READ", "UPDATE", "INSERT", "READ-MODIFY-WRITE"}
