"""The live stream: what clients publish comes back merged per second, and a Redis that is away breaks nothing."""

import logging
import uuid
from collections.abc import Iterator

import pytest

from runs.queue import live
from runs.queue.live import StatusLine


@pytest.fixture
def run_id() -> Iterator[uuid.UUID]:
    made = uuid.uuid4()
    yield made
    live.connection().delete(live.build_key(made))


@pytest.fixture
def no_redis(settings) -> Iterator[None]:
    """Port 1 answers to nobody."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    live.connection.cache_clear()
    yield
    live.connection.cache_clear()
    live._patience.succeeded()


def said(
    client: int, elapsed: float, rate: float, *, at: float | None = None, **operations: tuple[float, float, float]
):
    """One line; an operation is (count, mean, p99)."""
    by_operation = {
        name: live.OperationStatus(count=count, mean_us=mean, p99_us=p99)
        for name, (count, mean, p99) in operations.items()
    }
    return StatusLine(client, elapsed, 1000.0 + elapsed if at is None else at, int(elapsed * rate), rate, by_operation)


def test_it_adds_the_rates_of_all_clients_second_by_second(run_id):
    for second in (1, 2, 3):
        for client in (0, 1):
            live.publish(run_id, said(client, second, 100 * second + client))

    series = live.read(run_id)

    assert series.available
    assert series.seconds == (1, 2, 3)
    assert series.rate_ops_s == (201, 401, 601)
    assert [client.number for client in series.clients] == [0, 1]
    assert series.clients[1].rates_ops_s == (101, 201, 301)


def test_it_gives_only_what_is_new(run_id):
    for second in range(1, 6):
        live.publish(run_id, said(0, second, 10))
    assert live.read(run_id, after=3).seconds == (4, 5)
    assert len(live.read(run_id, newest=2).clients[0].lines) == 2


def test_it_never_averages_percentiles():
    series = live.merge([said(0, 1, 10, READ=(10, 100.0, 900.0)), said(1, 1, 30, READ=(30, 200.0, 400.0))])
    assert series.operations["READ"].highest_p99_us == (900.0,)
    # Means may be weighted by their counts.
    assert series.operations["READ"].mean_us == (175.0,)
    assert series.clients[1].p99_us == {"READ": 400.0}


def test_it_shares_a_clients_rate_among_its_operations():
    series = live.merge([said(0, 1, 100, READ=(75, 1.0, 1.0), UPDATE=(25, 1.0, 1.0))])
    assert series.operations["READ"].rate_ops_s == (75.0,)
    assert series.operations["UPDATE"].rate_ops_s == (25.0,)


def test_leaves_out_second_that_a_client_has_not_reported():
    lines = [said(client, second, 100) for second in (1, 2) for client in (0, 1)]
    assert live.merge([*lines, said(0, 3, 100)]).seconds == (1, 2)


def test_it_keeps_the_seconds_in_which_a_client_stays_silent():
    lines = [said(0, second, 100) for second in range(1, 11)] + [said(1, 1, 100)]
    series = live.merge(lines)
    assert series.seconds[-1] == 7  # the last three may still come
    assert series.rate_ops_s[0] > series.rate_ops_s[1]


def test_it_makes_no_holes_when_lines_are_read_late():
    """The moment at which a line was read jitters; the client's own clock does not."""
    jitter = {1: 0.4, 2: 0.0, 3: 0.45, 4: 0.02}
    series = live.merge([said(0, second, 100, at=1000.0 + second + jitter[second]) for second in jitter])
    assert series.seconds == (1, 2, 3, 4)


def test_it_shifts_clients_by_when_they_began():
    series = live.merge([said(0, 1, 10), said(0, 2, 10), said(0, 3, 10), said(1, 1, 5, at=1003.0)])
    assert series.seconds == (1, 2, 3)
    assert series.rate_ops_s == (10, 10, 15)


def test_it_holds_a_line_for_the_seconds_since_the_line_before():
    series = live.merge([said(0, 5, 100), said(0, 10, 200)])
    assert series.seconds == (5, 6, 7, 8, 9, 10)
    assert series.rate_ops_s == (100, 200, 200, 200, 200, 200)


def test_it_shows_the_clients_own_lines(run_id):
    live.publish(run_id, StatusLine(0, 1, 1001.0, 5, 5.0, {}, "2026-01-01 00:00:01:000 1 sec: 5 operations"))
    assert live.read(run_id).clients[0].lines == ("2026-01-01 00:00:01:000 1 sec: 5 operations",)


def test_it_writes_lines_of_published_numbers(run_id):
    live.publish(run_id, StatusLine(0, 12.0, 1012.0, 41_234, 3_436.17, {}))
    (line,) = live.read(run_id).clients[0].lines
    assert line.replace("\N{NARROW NO-BREAK SPACE}", " ") == "12 s: 41,234 operations; 3.44k ops/s"


def test_it_is_capped_and_goes_by_itself(run_id):
    live.publish(run_id, said(0, 1, 1))
    assert 0 < live.connection().ttl(live.build_key(run_id)) <= live.KEPT_S


def test_an_unknown_run_has_an_empty_series():
    series = live.read(uuid.uuid4())
    assert series.available
    assert series.seconds == ()
    assert series.current_ops_s is None


def test_publishing_without_redis_warns_once(no_redis, caplog):
    with caplog.at_level(logging.WARNING, logger="runs.queue.live"):
        for second in range(1, 5):
            live.publish(uuid.uuid4(), said(0, second, 1))
    assert len(caplog.records) == 1
    assert "No live view" in caplog.text


def test_reading_without_redis_says_that_there_is_no_live_view(no_redis):
    assert live.read(uuid.uuid4()) == live.NO_LIVE_VIEW
    assert not live.NO_LIVE_VIEW.available
