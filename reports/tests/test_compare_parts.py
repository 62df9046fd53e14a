"""The compare page's menus and chips, its movable line, and what is fetched only when it is opened."""

import re
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reports.tests.test_compare_page import numbers, page, study
from runs.models import Run, Status
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HTMX = {"HX-Request": "true"}


def links(html, text):
    return [href.replace("&amp;", "&") for href in re.findall(rf'<a[^>]*href="([^"]+)"[^>]*>{re.escape(text)}', html)]


def test_menu_returns_changed_parts_and_canonical_address(client_in, team):
    matrix = study(team)
    address = f"/compare/?v=1&op=&matrix={matrix.pk}&stat=p95&scale=auto"
    response = client_in.get(address, headers=HTMX)
    html = response.content.decode()
    assert response.status_code == 200 and "HX-Request" in response["Vary"]
    assert response["HX-Push-Url"] == f"/compare/?v=1&matrix={matrix.pk}&stat=p95"
    assert "<html" not in html and 'id="comparison"' in html and 'id="page-head"' in html
    assert "stat=p95" in re.search(r'id="permalink" hidden>([^<]+)', html)[1]
    whole = client_in.get(response["HX-Push-Url"])
    assert whole.status_code == 200 and "<html" in whole.content.decode() and "HX-Request" in whole["Vary"]
    assert html.partition('id="comparison"')[2].strip() in whole.content.decode()


def test_each_facet_is_a_menu_with_the_number_of_its_values(client_in, team):
    study(team, modes=("off", "everysec", "always"))
    html = page(client_in)
    assert "A write waits for" in html and "What varies" in html and "Published results" in html
    assert 'name="mode" value="everysec"' in html and 'name="class"' in html
    assert 'name="system"' not in html  # One system leaves nothing to choose.


def test_what_is_set_is_a_chip_that_lets_it_go(client_in, team):
    study(team, modes=("off", "everysec", "always"))
    html = page(client_in, "?mode=always&mode=off&since=2020-01-31&vary=mode")
    assert "2 of 3" in html
    chips = re.findall(r'<a class="chip" id="chip-[1-9]" href="([^"]+)" title="([^"]+)"', html)
    found = {title: parse_qs(urlsplit(href.replace("&amp;", "&")).query) for href, title in chips}
    assert set(found) == {"Mode: always", "Mode: off", "What varies: durability mode", "Since: 2020-01-31"}
    assert found["Mode: off"]["mode"] == ["always"] and found["Mode: off"]["since"] == ["2020-01-31"]
    assert "since" not in found["Since: 2020-01-31"]


def test_a_chosen_value_that_nothing_has_stays_in_its_menu(client_in, team):
    study(team)
    html = page(client_in, "?mode=never")
    assert re.search(r'name="mode" value="never"[^>]* checked', html)


@pytest.mark.parametrize(
    "query, sweeps",
    [
        ("?class=the+disk", 1),
        ("?since=2020-01-01&until=2030-01-01", 2),
        ("?until=2020-01-01", 0),
        ("?source=uploaded", 0),
        ("?source=scheduled&source=uploaded", 2),
        ("?label=nightly", 1),
        ("?version=7.0", 2),
        ("?cluster=nowhere", 0),
    ],
)
def test_facets_choose_sweeps(client_in, team, query, sweeps):
    matrix = study(team)
    first = matrix.sweeps.order_by("name").first()
    first.tags = ["nightly"]
    first.save()
    html = page(client_in, query)
    assert f"{sweeps} sweep" in html if sweeps else "No sweep matches" in html


def test_loads_have_the_same_page(client_in, team):
    matrix = study(team)
    load = make_sweep(matrix=matrix, database=make_database(team=team), workload=make_workload(team=team), phase="load")
    make_run(load, threads=8, throughput=5000.0)
    html = page(client_in, "?phase=load")
    assert (
        "Comparing 1 sweep<" in html and load.database.name in html and "the loads instead of what was measured" in html
    )


def test_the_line_stands_at_a_load_that_every_side_reaches(client_in, team):
    study(team)
    html = page(client_in)
    assert "At equal load" in html and "is known of 2 of 2 sides" in html
    assert 'type="range"' in html and 'aria-label="The movable line"' in html
    assert re.search(r'data-src="/figures/latency/\?[^"]*load=', html)


def test_default_load_is_no_condition_of_the_answer(client_in, team):
    """The form sends it with a limit."""
    study(team)
    number = re.search(r'id="load-number"[^>]*value="([^"]+)"', page(client_in))[1]
    answer = re.search(r'id="decision">\s*<p><b>([^<]+)', page(client_in, f"?v=1&load={number}&within=5"))[1]
    assert " at most 5.00" in answer and "sustaining" not in answer
    answer = re.search(r'id="decision">\s*<p><b>([^<]+)', page(client_in, "?v=1&load=123&within=5"))[1]
    assert "sustaining at least 123" in answer


def test_menus_show_how_long_names_differ(client_in, team):
    study(team)
    for number in (1, 2):
        make_run(make_sweep(matrix=make_matrix(team=team, name=f"A study of every durability mode, 2026-12-0{number}")))
    html = page(client_in, "?matrix=all")
    names = re.findall(r"<option[^>]*>([^<]*2026-12-0.)</option>", html)
    assert len(set(names)) == 2 and all(len(name) <= 40 for name in names)


def test_the_moved_line_is_kept_by_every_form(client_in, team):
    study(team)
    html = page(client_in, "?load=2500&within=2&mode=always&mode=off")
    assert "At equal load, ops/s</label>" in html and "This is a custom load" in html
    # The form of the menus carries the line along, and the forms of the line the menus.
    assert html.count('<input type="hidden" name="load" value="2500">') == 1
    assert html.count('<input type="hidden" name="mode" value="always">') == 2
    assert "with p99 ≤" in html


def test_a_load_that_nobody_reaches_is_said(client_in, team):
    study(team)
    assert "not reached: the highest is" in page(client_in, "?load=1e9")


@pytest.mark.parametrize(
    "query", ["?load=nan", "?load=-1", "?within=1e400", "?baseline=x", "?since=2026-13-01", "?vary=x"]
)
def test_a_broken_state_is_a_sentence(client_in, team, query):
    study(team)
    html = page(client_in, query)
    assert "Not everything in the address could be used" in html and "2 sweeps" in html


def test_an_unknown_study_is_a_sentence(client_in, team):
    study(team)
    assert "“nobody-2099” is no published study" in page(client_in, "?published=nobody-2099")


def test_one_sweep_is_told_what_it_could_be_compared_with(client_in, team):
    matrix = study(team)
    html = page(client_in, f"?sweep={matrix.sweeps.first().pk}")
    assert "One sweep has nothing to be compared with" in html
    assert links(html, f"the other sweeps of {matrix.name}") == [f"/compare/?v=1&matrix={matrix.pk}"]

    alone = study(team, modes=["off"], name="Alone")
    assert "the other sweeps of" not in page(client_in, f"?sweep={alone.sweeps.get().pk}")


def test_ten_thousand_things_in_the_address_are_a_sentence(client_in, team):
    study(team)
    query = "&".join(f"sweep={uuid.UUID(int=number)}" for number in range(10_000))
    response = client_in.get(f"/compare/?{query}")
    assert response.status_code == 200 and "names too many values" in response.content.decode()


def test_nothing_measured_has_no_line_and_no_failure(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, status="failed")
    make_run(sweep, status="cancelled", threads=4)
    html = page(client_in)
    assert "did not complete: of 2 runs 1 failed, 1 cancelled" in " ".join(html.split())
    assert "At equal load" not in html


def test_zero_throughput_is_no_failure(client_in, team):
    matrix = study(team)
    make_run(matrix.sweeps.first(), threads=64, throughput=0.0, measurements=[])
    assert "2 sweeps" in page(client_in)


def test_what_people_left_out_is_said_with_its_effect(client_in, team):
    matrix = study(team)
    run = Run.objects.filter(sweep__matrix=matrix, threads=16).order_by("sweep__name").first()
    run.excluded_reason = "a <b>neighbour</b> was compiling"
    run.save()
    html = page(client_in)
    assert "What does not count" in html and "1 run left out by people" in html
    assert "neighbour&lt;/b&gt; was compiling" in html and "with what people left out" in html


@pytest.mark.parametrize("name", ["compare-pictures", "compare-numbers", "compare-points"])
def test_what_is_opened_later_is_a_part_or_a_page(client_in, team, name):
    study(team)
    assert reverse(name) in page(client_in)
    part = client_in.get(reverse(name), headers=HTMX).content.decode()
    whole = re.sub("<noscript>.*?</noscript>", "", client_in.get(reverse(name)).content.decode())
    assert "<html" not in part and "<html" in whole and part.strip() in whole
    assert 'href="/compare/"' in whole


def test_page_of_a_finished_matrix_begins_with_its_result(client_in, team):
    matrix = study(team)
    address = f"{reverse('compare-headline')}?matrix={matrix.pk}"

    assert f'hx-get="{address}"' in client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    part = client_in.get(address, headers=HTMX).content.decode()
    first = re.search(r'<p class="headline__first">([^<]+)', part)[1]
    assert "<html" not in part and first in page(client_in, f"?matrix={matrix.pk}")
    assert client_in.get(address)["Location"].endswith(f"matrix={matrix.pk}")

    make_run(matrix.sweeps.first(), repeat=2, status=Status.QUEUED)
    assert address not in client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()


def test_no_other_picture_is_fetched_before_it_is_opened(client_in, team):
    study(team)
    first = re.findall(r'data-src="([^"?]+)', page(client_in))
    assert first == ["/figures/ceilings/", "/figures/latency/"]
    later = re.findall(r'data-src="([^"]+)"', client_in.get(reverse("compare-pictures"), headers=HTMX).content.decode())
    assert any("with=UPDATE" in url for url in later) and any("/percentiles/" in url for url in later)
    for url in later:
        assert client_in.get(url.replace("&amp;", "&")).status_code == 200, url


@pytest.mark.parametrize(
    "name", ["compare", "compare-headline", "compare-pictures", "compare-numbers", "compare-points"]
)
def test_another_teams_sweeps_are_nowhere(client_in, team, name):
    study(team)
    foreign = make_sweep()
    make_run(foreign)
    for query in (f"?sweep={foreign.pk}", f"?matrix={foreign.matrix_id}", f"?baseline={foreign.pk}"):
        html = client_in.get(reverse(name) + query, follow=True).content.decode()
        assert foreign.database.name not in html and foreign.matrix.name not in html


def test_queries_do_not_grow_with_the_sweeps(client_in, team):
    names = ("compare", "compare-pictures", "compare-numbers", "compare-points")
    cluster, workload = make_cluster(team=team), make_workload(team=team)
    counts = {}
    for number in (2, 5, 40):
        matrix = make_matrix(team=team, name=f"Of {number}")
        database = make_database(team=team, cluster=cluster)
        for mode in range(number):
            make_run(make_sweep(matrix=matrix, database=database, workload=workload, mode=f"mode-{mode}"))
        for name in names:
            with CaptureQueriesContext(connection) as context:
                assert client_in.get(f"{reverse(name)}?v=1&matrix={matrix.pk}").status_code == 200
            counts.setdefault(name, set()).add(len(context))
    assert all(len(count) == 1 for count in counts.values()), counts


def test_sides_are_compared_with_a_baseline_that_can_be_pinned(client_in, team):
    matrix = study(team, modes=("off", "always"))
    html = page(client_in)
    assert "reference: the most durable mode" in html and "1 run each: no interval" in html
    weak = matrix.sweeps.get(mode="off")
    assert f'<option value="{weak.pk}">' in html
    html = page(client_in, f"?v=1&matrix={matrix.pk}&baseline={weak.pk}")
    assert f"Against {weak.database.name} · off" in html and "the reference that you set" in html


def test_mixed_workloads_have_no_verdict_unless_asked_for(client_in, team):
    cluster = make_cluster(team=team)
    database = make_database(team=team, cluster=cluster)
    sweeps = [
        make_sweep(team=team, database=database, workload=make_workload(team=team, name=name, properties=properties))
        for name, properties in (("A", {"readproportion": "0.5"}), ("B", {"readproportion": "0.95"}))
    ]
    for sweep in sweeps:
        make_run(sweep)
    query = "?" + "&".join(f"sweep={sweep.pk}" for sweep in sweeps)
    html = page(client_in, query)
    assert "not comparable</span>" in html and "The workloads differ in readproportion" in html
    (anyway,) = links(numbers(client_in, query), "compare anyway")
    assert "not comparable" in client_in.get(anyway).content.decode()
    html = numbers(client_in, "?" + urlsplit(anyway).query)
    assert "mean nothing by themselves" in html and "The workloads differ in readproportion" in html
    assert 'class="better"' not in html and 'class="worse"' not in html
