"""Counters of a real server are read once a second beside the load, and never hold up or end a run."""

import time

import pytest

from runs.results.measures.host import read_columns
from workers.generator.clock import Clock
from workers.probe.server_counters import CounterSampler
from workers.tests.test_administration import redis_client
from workers.tests.trees import until

pytestmark = pytest.mark.slow


def rows(sampler, number):
    """The columns, once there are so many rows."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        columns = read_columns(sampler.text)
        if columns is not None and columns["at_s"].size >= number:
            return columns
        time.sleep(0.05)
    raise AssertionError(f"not sampled: {sampler.text!r}")


def test_counts_become_rates(servers):
    server = servers("redis", "off").start()
    sampler = CounterSampler(server.administration, clock=Clock(100.0))
    with redis_client(server) as client:
        client.set("user0", "x")
        until(lambda: sampler._last is not None, "the counters were not read")
        for _ in range(20):
            client.get("user0")
        columns = rows(sampler, 2)
        hits = (columns["cache_hits_per_s"] * columns["interval_s"]).sum()
        assert hits == pytest.approx(20, abs=0.1)
        assert (columns["memory_used_bytes"] > 0).all()
        assert columns["at_s"][-1] == pytest.approx(time.time() + 100, abs=5)
        # Over one connection: this client's and the sampler's.
        assert client.info("clients")["connected_clients"] == 2
    sampler.reader.stop()
    number = len(sampler.text.splitlines())
    time.sleep(1.2)
    assert len(sampler.text.splitlines()) == number


def test_what_was_read_stays_when_the_server_goes(servers):
    provisioner = servers("redis", "off")
    sampler = CounterSampler(provisioner.start().administration)
    rows(sampler, 1)
    provisioner.stop(planned=False)
    sampler.reader._thread.join(30)  # It gives up by itself.
    assert not sampler.reader._thread.is_alive()
    assert read_columns(sampler.text) is not None
    sampler.reader.stop()
