"""The figure of a run that goes on: the merged rate, every client apart, the target, and what is said without data."""

import pytest

from runs.queue import live
from runs.tests.factories import make_run, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run(team):
    made = make_run(make_sweep(team=team), status="running", threads=4, target_ops_s=500)
    yield made
    live.connection().delete(live.build_key(made.pk))


def answer(client, run, **query):
    return client.get(f"/figures/runs/{run.pk}/live/", query).json()


def say(run, seconds=3, clients=2):
    status = live.OperationStatus(count=100.0, mean_us=900.0, p99_us=3_000.0)
    for second in range(1, seconds + 1):
        for client in range(clients):
            rate_ops_s = 100.0 + client
            line = live.StatusLine(client, second, 1000 + second, 100 * second, rate_ops_s, {"READ": status})
            live.publish(run.pk, line)


def traces(found):
    return {trace["name"]: trace for trace in found["figure"]["data"]}


def test_it_draws_the_merged_rate_and_every_client_apart(client_in, run):
    say(run)
    found = traces(answer(client_in, run))
    assert found["all operations"]["y"] == [201.0, 201.0, 201.0]
    assert found["client 0"]["y"] == [100.0] * 3
    assert found["client 1"]["y"] == [101.0] * 3
    assert "READ p99" in found
    assert found["target"]["y"] == [500, 500]


def test_it_says_that_p99_is_of_the_highest_client(client_in, run):
    say(run)
    assert "highest client" in answer(client_in, run)["caption"]


def test_the_axis_is_as_long_as_the_run_is_to_be(client_in, run):
    say(run)
    assert answer(client_in, run)["figure"]["layout"]["xaxis"]["range"] == [0, 13]


def test_one_client_alone_is_not_drawn_twice(client_in, run):
    say(run, clients=1)
    assert "client 0" not in traces(answer(client_in, run))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_drawn_in_both_themes_and_on_a_telephone(client_in, run, theme):
    say(run)
    assert answer(client_in, run, theme=theme, narrow="1")["figure"]["data"]


def test_before_the_first_line_it_says_so_and_asks_again(client_in, run):
    response = answer(client_in, run)
    assert response["empty"] == "No client has begun yet."
    assert response["live"] is True


def test_after_the_end_it_asks_no_more(client_in, team):
    ended = make_run(make_sweep(team=team))
    response = answer(client_in, ended)
    assert response["live"] is False
    assert "has ended" in response["empty"]


def test_without_redis_it_says_that_there_is_no_live_view(client_in, run, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    live.connection.cache_clear()
    try:
        assert "No live view" in answer(client_in, run)["empty"]
    finally:
        live.connection.cache_clear()
