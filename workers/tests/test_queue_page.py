"""The queue: who holds machines, who waits, when and for what."""

import datetime as dt

import pytest
from django.utils import timezone

from runs.tests.factories import (
    make_cluster,
    make_conductors,
    make_database,
    make_load_generator,
    make_machine,
    make_run,
    make_sweep,
    make_team,
)
from runs.tests.pages import UGLY, count_queries, get_text, sign_in_viewer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
URL = "/queue/"


@pytest.fixture
def generator(db):
    return make_load_generator(name="load-1")


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A")


def waiting(client):
    make_conductors()
    return client.get(URL).context["waiting"]


def test_an_empty_queue_says_what_to_do(client_in):
    page = get_text(client_in.get(URL))
    assert "The queue is empty" in page
    assert "/matrices/new/" in page


def test_it_shows_who_holds_which_machines_and_who_waits(client_in, sweep, generator):
    make_run(sweep, threads=2, status="running", generators=[generator])
    make_run(sweep, threads=4, status="queued", generators=[generator])
    page = get_text(client_in.get(URL))
    assert generator.machine.name in page
    (line,) = waiting(client_in)
    assert line["row"].position == 1
    assert "held by redis always A 2t r1" in line["waits_for"]


def test_priority_comes_before_age(client_in, sweep):
    make_run(sweep, threads=2, status="queued", position=1)
    make_run(sweep, threads=4, status="queued", position=2, priority=5)
    assert [line["run"].threads for line in waiting(client_in)] == [4, 2]


def test_runs_on_other_machines_do_not_wait_for_each_other(client_in, team, generator):
    elsewhere = make_database(team=team, cluster=make_cluster(team=team, machines=[make_machine()]))
    make_run(make_sweep(team=team, database=elsewhere), status="queued")
    make_run(make_sweep(team=team), status="queued")
    assert [(line["row"].starts_at - timezone.now()).total_seconds() < 1 for line in waiting(client_in)] == [True] * 2


def test_a_silent_load_generator_makes_the_start_unknown(client_in, sweep):
    silent = make_load_generator(name="load-9", last_seen_at=timezone.now() - dt.timedelta(minutes=2))
    make_run(sweep, status="queued", generators=[silent])
    make_conductors()
    page = get_text(client_in.get(URL))
    assert "load generator load-9: no sign of life" in page
    assert "all done about" not in page
    assert "unknown" in page


def test_a_run_says_which_load_it_waits_for(client_in, sweep, team):
    load = make_run(make_sweep(team=team, phase="load", name="the load"), status="queued")
    make_run(sweep, status="queued", needs=load, position=2)
    assert waiting(client_in)[1]["waits_for"] == "its load, the load 2t r1"


def test_queue_hides_name_and_link_of_other_teams_runs(client_in, sweep, generator):
    foreign = make_run(
        make_sweep(team=make_team(), name="secret"), status="running", generators=[generator], stage="measuring"
    )
    make_run(sweep, status="queued", generators=[generator])
    page = get_text(client_in.get(URL))
    assert "secret" not in page
    assert str(foreign.pk) not in page
    assert waiting(client_in)[0]["waits_for"] == f"machine {generator.machine.name}, held by another team"


def test_a_viewer_cannot_cancel(team, sweep):
    make_run(sweep, status="queued")
    assert "/cancel/" not in get_text(sign_in_viewer(team).get(URL))


def test_run_waits_for_machine_that_is_reserved(client_in, team, generator):
    """The wide run keeps a free machine for itself; the run behind it says so."""
    wide = make_run(make_sweep(team=team), status="queued", generators=[generator], reserved_at=timezone.now())
    make_run(make_sweep(team=team, name="narrow"), status="queued", generators=[generator], position=2)
    first, second = waiting(client_in)
    assert first["waits_for"] == "the scheduler"
    assert second["waits_for"] == f"machine {generator.machine.name}, reserved for {wide.name}"


def test_runs_that_are_not_shown_count(client_in, team, monkeypatch, generator):
    """The page shows two of five runs; the predicted end and the home page's run follow from all of them."""
    monkeypatch.setattr("workers.views.MAX_WAITING_RUNS", 2)
    sweep = make_sweep(team=make_team())
    for position in range(4):
        make_run(sweep, status="queued", generators=[generator], position=position, repeat=position + 1, expected_s=100)
    make_run(make_sweep(team=team), status="queued", generators=[generator], position=9, expected_s=100)
    make_conductors()
    response = client_in.get(URL)
    assert [line["row"].position for line in response.context["waiting"]] == [1, 2]
    assert "The first 2 of 5." in get_text(response)
    home = client_in.get("/").context["home"]
    (line,) = home["queue"]
    assert (line["row"].position, home["others_waiting"]) == (5, 4)
    for seconds, moment in ((400, line["row"].starts_at), (500, response.context["ends_at"])):
        assert abs((moment - timezone.now()).total_seconds() - seconds) < 20


def test_ugly_text_stays_text(client_in, sweep):
    make_run(sweep, name=UGLY, status="queued")
    assert "<script>alert" not in get_text(client_in.get(URL))


def test_a_poll_gets_the_part_and_asks_again(client_in, sweep):
    make_run(sweep, status="queued")
    page = get_text(client_in.get(URL, headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert "hx-trigger" in page


def test_the_number_of_queries_does_not_grow_with_the_queue(client_in, sweep, generator, team):
    make_run(sweep, status="queued", generators=[generator])
    few = count_queries(client_in, URL)
    for _ in range(19):
        make_run(make_sweep(team=team), status="queued", generators=[generator])
    assert count_queries(client_in, URL) == few
