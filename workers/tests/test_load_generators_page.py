"""Load generators: who is up, what each does, what it holds."""

import datetime as dt
import uuid
from collections import Counter

import pytest
from django.utils import timezone

from runs.tests.factories import make_client_run, make_load_generator, make_machine, make_run, make_sweep, make_team
from runs.tests.pages import UGLY, count_queries, get_text
from workers.models import Lease

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
URL = "/load-generators/"


def states(client):
    """By what each row says; the numbers above the list must say the same."""
    context = client.get(URL).context
    found = {generator.name: generator.state for generator in context["generators"]}
    assert dict(Counter(found.values())) == dict(context["health"]["states"])
    return found


def test_without_any_it_says_how_to_start_one(client_in):
    page = get_text(client_in.get(URL))
    assert "No load generator yet" in page
    assert "manage.py component generator" in page


def test_each_has_its_state(client_in, team):
    make_load_generator(name="up")
    make_load_generator(name="silent", last_seen_at=timezone.now() - dt.timedelta(seconds=60))
    make_load_generator(name="never", last_seen_at=None)
    make_load_generator(name="off", enabled=False)
    busy = make_load_generator(name="busy")
    make_client_run(
        make_run(make_sweep(team=team), status="running"), generator=busy, state="running", claim=uuid.uuid4()
    )
    expected = {"up": "up", "silent": "silent", "never": "never seen", "off": "off", "busy": "busy"}
    assert states(client_in) == expected


def test_it_names_what_a_generator_does_now(client_in, team):
    run = make_run(make_sweep(team=team, name="redis always A"), status="running")
    make_client_run(run, generator=make_load_generator(), state="running")
    page = get_text(client_in.get(URL))
    assert f"/runs/{run.pk}/" in page
    assert "redis always A 2t r1" in page


def test_what_it_does_for_another_team_has_no_name(client_in, team):
    run = make_run(make_sweep(team=make_team(), name="secret"), status="running")
    generator = make_load_generator()
    make_client_run(run, generator=generator, state="running")
    Lease.objects.create(machine=generator.machine, run=run)
    page = get_text(client_in.get(URL))
    assert "a client of another team" in page
    assert "secret" not in page


def test_facts_and_digests_are_shown(client_in):
    machine = make_machine(facts={"cores": {"value": 16, "how": "observed"}, "memory_bytes": {"value": 64 << 30}})
    make_load_generator(machine=machine, bindings={"redis": "abcdef1234567890"})
    page = get_text(client_in.get(URL))
    assert "cores 16" in page
    assert "64.0" in page
    assert "abcdef123456" in page


def test_one_without_bindings_says_how_to_get_them(client_in):
    make_load_generator(bindings={})
    assert "make bindings" in get_text(client_in.get(URL))


def test_a_generator_of_other_teams_is_not_there(client_in, team):
    theirs, ours = make_load_generator(name="theirs"), make_load_generator(name="ours")
    theirs.teams.add(make_team())
    ours.teams.add(team)
    make_load_generator(name="everybodys")
    assert set(states(client_in)) == {"ours", "everybodys"}


def test_ugly_text_stays_text(client_in):
    make_load_generator(machine=make_machine(name=UGLY[:70], facts={"<b>": UGLY}), bindings={"<b>x": "<b>y"})
    page = get_text(client_in.get(URL))
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_it_shows_a_page_of_many_and_counts_them_all(client_in):
    machine = make_machine()
    for number in range(52):
        make_load_generator(name=f"g-{number:02}", machine=machine, enabled=number > 0)
    page = client_in.get(URL)
    assert len(page.context["generators"]) == 50
    assert page.context["health"]["states"] == [("up", 51), ("off", 1)]
    assert "of 52" in get_text(page)
    assert [generator.name for generator in client_in.get(URL, {"page": 2}).context["generators"]] == [
        "g-50",
        "g-51",
    ]


def test_filters_by_state_name_machine_binding_and_team(client_in, team):
    make_load_generator(name="lab-1", bindings={"redis": "aaaa1"}, machine=make_machine(name="rack-7"))
    make_load_generator(name="lab-2", bindings={"redis": "bbbb1"}, last_seen_at=None)
    make_load_generator(name="ours", bindings={"my-sql": "aaaa1"}).teams.add(team)

    def asked(**query):
        return {generator.name for generator in client_in.get(URL, query).context["generators"]}

    assert asked(q="LAB") == {"lab-1", "lab-2"}
    assert asked(q="rack-7") == {"lab-1"}
    assert asked(state="never seen") == {"lab-2"}
    assert asked(binding="redis:aaaa") == {"lab-1"}
    assert asked(binding="my-sql") == {"ours"}
    assert asked(whose="some") == {"ours"}
    assert asked(whose="everybody", state="up", q="lab") == {"lab-1"}
    assert asked(state="nonsense", whose="x", page="99") == {"lab-1", "lab-2", "ours"}
    for binding in ("contains:a", "x__y", "'", "%"):
        assert asked(binding=binding) == set()


def test_the_states_of_a_narrowed_list_lead_to_each_other(client_in):
    make_load_generator(name="lab-1")
    make_load_generator(name="lab-2", last_seen_at=None)
    make_load_generator(name="other")
    page = client_in.get(URL, {"q": "lab", "state": "up"})
    assert dict(page.context["health"]["states"]) == {"up": 1, "never seen": 1}
    assert "?q=lab&amp;state=never+seen" in page.content.decode()
    assert "No load generator matches" in get_text(client_in.get(URL, {"q": "none of these"}))


def test_a_poll_asks_again_for_the_same_part(client_in):
    make_load_generator(name="lab-1")
    page = get_text(client_in.get(URL, {"q": "lab"}, headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert 'hx-get="/load-generators/?q=lab"' in page


def test_the_number_of_queries_does_not_grow(client_in, team):
    make_load_generator()
    few = count_queries(client_in, URL)
    for _ in range(10):
        make_client_run(
            make_run(make_sweep(team=team), status="running"), generator=make_load_generator(), state="running"
        )
    assert count_queries(client_in, URL) == few
