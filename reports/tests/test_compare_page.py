"""The compare page: what it shows, whose things it shows, and what it says to a broken address."""

import json
import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Matrix, Run, Sweep
from runs.tests.factories import make_cluster, make_database, make_matrix, make_run, make_sweep, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
COMPARE = "/compare/"
HOSTILE = "<script>alert(1)</script>"


def study(team, *, modes=("off", "always"), name="Quick study", purpose="demo", rungs=(2, 4, 8, 16)):
    """A matrix of Redis in these modes, measured."""
    cluster = make_cluster(team=team)
    database = make_database(team=team, cluster=cluster)
    workload = make_workload(team=team)
    matrix = make_matrix(team=team, name=name, purpose=purpose)
    for number, mode in enumerate(modes):
        sweep = make_sweep(matrix=matrix, database=database, workload=workload, mode=mode)
        for threads in rungs:
            make_run(sweep, threads=threads, throughput=1000.0 * threads / (1 + threads / 8) / (number + 1))
    return matrix


def sources(html):
    return re.findall(r'data-src="([^"]+)"', html)


def page(client, query=""):
    response = client.get(COMPARE + query, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def numbers(client, query=""):
    """The part with all percentiles, ratios and checks, which the page fetches when it is opened."""
    return client.get(reverse("compare-numbers") + query, headers={"HX-Request": "true"}).content.decode()


def test_without_anything_measured_it_says_what_to_do(client_in):
    html = page(client_in)
    assert "Nothing to compare yet" in html and reverse("matrix-add") in html


def test_it_shows_the_newest_matrix_with_both_pictures(client_in, team):
    study(team, name="Older")
    newest = study(team, name="Newer")
    html = page(client_in)
    assert "Newer" in html and "2 sweeps" in html
    found = sources(html)
    assert [url.split("?")[0] for url in found] == ["/figures/ceilings/", "/figures/latency/"]
    # The figures name the matrix, so that they stay what they were when a newer one arrives meanwhile.
    assert all(str(newest.pk) in url for url in found)
    assert "op=READ" in found[1]


def test_newest_is_the_newest_matrix_with_a_result(client_in, team):
    measured = study(team, name="Measured")
    cancelled = make_sweep(team=team, matrix=make_matrix(team=team, name="Cancelled"))
    make_run(cancelled, status="cancelled")

    html = page(client_in)

    assert "2 sweeps" in html
    assert str(measured.pk) in sources(html)[0]


def test_newest_prefers_a_matrix_with_a_counting_point(client_in, team):
    measured = study(team, name="Measured")
    rejected = make_sweep(team=team, matrix=make_matrix(team=team, name="Rejected"))
    make_run(rejected, threads=2, verdict="reject")
    assert str(measured.pk) in sources(page(client_in))[0]


def test_compare_begins_with_the_study_of_the_home_page(client_in, team):
    """A later first curve, trial or matrix that is still measured hides no finished study, and the menu names it."""
    finished = study(team, name="Finished")
    study(team, name="First curve", purpose="tuning")
    trial = study(team, name="Trial")
    Matrix.objects.filter(pk=trial.pk).update(trial_of=finished)
    make_run(study(team, name="Going").sweeps.first(), threads=32, status="queued")
    cancelled = study(team, name="Cancelled")
    make_run(cancelled.sweeps.first(), threads=32, status="cancelled")
    html = " ".join(page(client_in).split())
    assert str(finished.pk) in sources(html)[0] and '<option value="">latest study: Finished</option>' in html
    assert client_in.get(reverse("news")).context["result"]["matrix"] == finished
    other = " ".join(page(client_in, f"?matrix={trial.pk}").split())
    assert '<option value="">latest study</option>' in other


def test_newest_upload_of_a_test_prefers_one_that_counts(client_in, team):
    database, workload = make_database(team=team), make_workload(team=team)
    sweeps = []
    for commit, verdict in (("aaaa1111", "pass"), ("bbbb2222", "reject")):
        sweep = make_sweep(team=team, purpose="measured", database=database, workload=workload)
        make_run(sweep, commit=commit, verdict=verdict)
        sweeps.append(str(sweep.pk))
    Run.objects.update(matrix=None, source="uploaded")
    Sweep.objects.update(matrix=None)
    assert len(set(Run.objects.values_list("config_key"))) == 1
    html = page(client_in, "?matrix=all")
    assert sweeps[0] in html and sweeps[1] not in html


def test_defaults_are_values_and_examples_are_called_so(client_in, team):
    study(team)
    html = page(client_in)
    load = re.search(r'id="load-number"[^>]*', html)[0]
    number = re.search(r' value="([0-9.]+)"', load)[1]

    assert "placeholder" not in load and 'placeholder="e.g. 2"' in html
    assert "Default: 80 % of the lowest ceiling in two digits" in page(client_in, f"?v=1&load={number}")
    assert "This is a custom load." in page(client_in, "?v=1&load=123")


def test_headline_leads_to_why_its_sides_differ(client_in, team):
    off, always = study(team).sweeps.order_by("-mode")
    address = f"{reverse('why')}?a={always.pk}&amp;b={off.pk}"
    for html in (page(client_in), client_in.get(reverse("news")).content.decode()):
        assert re.search(rf'<a class="button[^>]*href="{re.escape(address)}">Why they differ</a>', html)
    assert f'href="{address}">Why different</a>' in page(client_in)


def test_planned_differences_are_named_first(client_in, team):
    study(team)
    html = " ".join(page(client_in).split())
    assert (
        "Planned differences: durability mode. Beside the plan these sides differ in nothing that is recorded" in html
    )
    assert 'durability mode <span class="chip">planned</span>' in html


def test_chosen_study_without_a_result_is_named(client_in, team):
    study(team)
    html = " ".join(page(client_in, "?v=1&published=columbia-2016").split())  # It printed loads alone.
    assert "Nothing is drawn of Columbia 2016: no number was printed of this mix" in html
    assert "Grey and hollow" not in html


def test_every_figure_of_the_page_answers(client_in, team):
    study(team)
    for url in sources(page(client_in)):
        for theme in ("light", "dark"):
            answer = client_in.get(url.replace("&amp;", "&"), {"theme": theme} if "?" not in url else None).json()
            assert answer["figure"]["data"] and answer["caption"] and answer["table"]["rows"] and not answer["empty"]


def test_it_says_that_it_is_a_demonstration_on_one_machine(client_in, team):
    study(team)
    html = page(client_in)
    assert "Everything ran on one machine (2 cores): compare the shapes, not the numbers." in html
    assert "too short to publish" in html


def test_an_address_is_made_canonical(client_in, team):
    study(team)
    response = client_in.get(COMPARE + "?stat=p99&op=&scale=linear&matrix=")
    assert response.status_code == 302 and response["Location"] == "/compare/?v=1&scale=linear"
    assert client_in.get("/compare/?v=1&scale=linear").status_code == 200


@pytest.mark.parametrize(
    "query",
    ["?matrix=x", "?sweep=y", "?stat=p1", "?v=99", "?nonsense=1", "?op=%00%27", "?scale=%F0%28%8C", "?highlight=<i>"],
)
def test_a_broken_address_is_a_sentence(client_in, team, query):
    study(team)
    html = page(client_in, query)
    assert "2 sweeps" in html or "No sweep matches" in html
    assert "<i>" not in html


def test_another_teams_sweeps_are_left_out_with_a_sentence(client_in, team):
    mine, theirs = make_sweep(team=team), make_sweep()
    make_run(mine)
    make_run(theirs)
    html = page(client_in, f"?sweep={mine.pk}&sweep={theirs.pk}")
    assert "1 chosen sweep<" in html and "1 of the 2 chosen sweeps is not among your team" in html
    assert theirs.database.name not in html


def test_another_teams_matrix_is_not_shown(client_in, team):
    study(team, name="Mine")
    foreign = make_sweep()
    make_run(foreign)
    html = page(client_in, f"?matrix={foreign.matrix_id}")
    assert "That matrix is not among your team" in html and "Mine" in html and foreign.matrix.name not in html


def test_all_matrices_leaves_out_demos_unless_selected(client_in, team):
    matrix = study(team, name="A demonstration", purpose="demo")
    study(team, name="For real", purpose="measured", modes=("everysec",))
    assert "1 sweep<" in page(client_in, "?matrix=all")
    assert "2 sweeps<" in page(client_in, "?matrix=all&purpose=demo")
    html = client_in.get(f"/matrices/{matrix.pk}/").content.decode()
    assert "comparisons across matrices and sizing leave these points out unless asked for." in html


def test_facets_narrow_what_is_shown(client_in, team):
    study(team, modes=("off", "everysec", "always"))
    assert "3 sweeps" in page(client_in)
    assert "Comparing 1 sweep<" in page(client_in, "?mode=always")
    assert "No sweep matches" in page(client_in, "?mode=never")


def test_what_the_sides_differ_in_is_said(client_in, team):
    first = make_sweep(team=team)
    second = make_sweep(team=team, workload=make_workload(team=team, name="Workload B", short_name="B"))
    for sweep in (first, second):
        make_run(sweep)
    html = " ".join(page(client_in, f"?sweep={first.pk}&sweep={second.pk}").split())
    assert re.search(r"<summary> ?These sides differ in [^<]*workload", html)
    assert '<span class="chip">planned</span>' not in html


def test_what_speaks_against_comparing_is_said(client_in, team):
    study(team)
    html = numbers(client_in)
    assert "May these be compared?" in html and "A write waits for" in html
    # One side alone is compared with nothing.
    assert "May these be compared?" not in numbers(client_in, "?mode=always")


def test_an_interpolated_latency_states_its_bounds(client_in, team):
    study(team)
    html = page(client_in, "?v=1&load=1700")
    assert re.search(r'title="By the rungs beside it from [^<>"]+ to [^<>"]+" *>\s*≈ ', html)


def test_names_are_escaped(client_in, team):
    database = make_database(team=team, name=HOSTILE)
    make_run(make_sweep(database=database))
    html = page(client_in)
    assert HOSTILE not in html and "&lt;script&gt;" in html
    # Captions are set as text.
    assert HOSTILE not in json.dumps(client_in.get("/figures/ceilings/").json()["figure"])


def test_strangers_sign_in_first(client):
    assert client.get(COMPARE)["Location"].startswith("/sign-in/")


def test_more_sweeps_ask_no_more_queries(client_in, team):
    def queries():
        page(client_in)
        with CaptureQueriesContext(
            connection,
        ) as context:
            assert client_in.get(COMPARE).status_code == 200
        return len(context)

    study(team, modes=("off", "always"), rungs=(2,))
    few = queries()
    study(team, modes=[f"mode-{number}" for number in range(20)], rungs=(2, 4))
    assert "20 sweeps" in page(client_in)
    assert queries() == few


def test_too_many_sweeps_are_said(client_in, team, monkeypatch):
    monkeypatch.setattr("reports.compare.queries.sweep_selection.MAX_SWEEPS", 2)
    study(team, modes=("off", "everysec", "always"), rungs=(2,))
    html = page(client_in)
    assert "More than 2 sweeps match" in html and "Comparing 2 sweeps<" in html


def test_unknown_sweeps_only_is_an_empty_page_with_a_way_out(client_in, team):
    study(team)
    html = page(client_in, f"?sweep={uuid.uuid4()}")
    assert "No sweep matches" in html and "not among your team" in html


def test_operations_are_drawn_alone_or_in_one_figure(client_in, team):
    study(team)
    latency = sources(page(client_in))[1]
    assert "op=READ" in latency and "with=" not in latency
    assert "op=UPDATE" in sources(page(client_in, "?op=UPDATE"))[1]
    both = sources(page(client_in, "?op=BOTH"))[1].replace("&amp;", "&")
    assert "op=READ" in both and "with=UPDATE" in both


def test_ten_of_many_sides_are_drawn(client_in, team):
    matrix = study(team, modes=[f"m{number}" for number in range(12)])
    html = page(client_in)
    assert "10 of 12" in html and html.count("data-side=") in (10, 11)  # with the reference
    more = re.search(r'hx-get="(/compare/sides/[^"]+)"', html)[1].replace("&amp;", "&")
    rows = client_in.get(more, headers={"HX-Request": "true"}).content.decode()
    assert rows.count('class="beyond"') == rows.count("data-side=") == 12 - html.count("data-side=")
    assert client_in.get(more)["Location"].endswith("&side=all")
    key = str(matrix.sweeps.first().pk)
    drawn = client_in.get(sources(page(client_in, f"?side={key}"))[0].replace("&amp;", "&")).json()["figure"]["data"]
    assert [trace["meta"] for trace in drawn] == [key]
    every = client_in.get(sources(page(client_in, "?side=all"))[0].replace("&amp;", "&")).json()["figure"]["data"]
    assert len(every) == 12
