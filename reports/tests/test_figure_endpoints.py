"""The figures' addresses: formats, themes, states, and that nobody sees another team's numbers."""

import csv
import io
import uuid

import pytest
from django.urls import reverse

from runs.tests.factories import make_run, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
KEYS = {"figure", "caption", "conditions", "table", "empty", "live", "height", "csv", "json", "md", "tex"}
COMPARED = ["ceilings", "latency", "percentiles", "over-time", "scalability", "loss"]


@pytest.fixture
def sweep(team):
    sweep = make_sweep(team=team, mode="always")
    for threads in (2, 4, 8):
        make_run(sweep, threads=threads, throughput=threads * 400.0)
    return sweep


def addresses(sweep):
    run = sweep.runs.first()
    return [
        *(reverse(f"figure-{name}") for name in COMPARED),
        reverse("figure-sweep", args=[sweep.pk]),
        reverse("figure-matrix", args=[sweep.matrix_id]),
        reverse("figure-run-percentiles", args=[run.pk]),
        reverse("figure-run-series", args=[run.pk]),
    ]


def test_every_figure_answers_in_both_themes_and_widths(client_in, sweep):
    for url in addresses(sweep):
        texts = set()
        for query in ({"theme": "light"}, {"theme": "dark"}, {"theme": "dark", "narrow": "1"}):
            answer = client_in.get(url, query).json()
            assert set(answer) == KEYS
            assert (answer["figure"] is None) == bool(answer["empty"])
            assert answer["live"] is False
            texts.add(str(answer["figure"]))
        assert len(texts) == 3 or answer["empty"], url


def test_every_figure_has_its_numbers_as_csv_and_json(client_in, sweep):
    for url in addresses(sweep):
        answer = client_in.get(url, {"theme": "dark"}).json()
        assert "theme" not in answer["csv"]
        twin = client_in.get(answer["csv"])
        rows = list(csv.reader(io.StringIO(twin.content.decode())))
        assert twin["Content-Type"].startswith("text/csv") and rows[0] == answer["table"]["columns"]
        assert len(rows) - 1 == len(answer["table"]["rows"])
        assert client_in.get(answer["json"]).json()["rows"] == answer["table"]["rows"]


def test_every_figure_has_its_numbers_as_markdown_and_latex(client_in, sweep):
    for url in addresses(sweep):
        answer = client_in.get(url).json()
        markdown, latex = (client_in.get(answer[form]) for form in ("md", "tex"))
        assert markdown["Content-Disposition"].endswith('.md"') and latex["Content-Type"].startswith("text/x-tex")
        assert len(markdown.content.decode().splitlines()) == len(answer["table"]["rows"]) + 2
        assert latex.content.decode().startswith("\\begin{tabular}")


def test_a_figure_answers_whatever_its_address_says(client_in, sweep):
    for query in ("with=%3Cb%3E&zoom=9&load=nan&within=-1", "at=nowhere&load=1e999", "medium=wall&op=%00", "sweep=x"):
        for name in COMPARED:
            assert client_in.get(reverse(f"figure-{name}") + "?" + query).status_code == 200


def test_a_download_has_its_own_sizes(client_in, sweep):
    url = reverse("figure-latency")
    fonts = [
        client_in.get(url, {"medium": m}).json()["figure"]["layout"]["font"]["size"] for m in ("", "slide", "paper")
    ]
    assert fonts == [12, 16, 10.67]


def test_the_twins_keep_the_state_of_the_page(client_in, sweep):
    answer = client_in.get(f"/figures/latency/?v=1&sweep={sweep.pk}&op=UPDATE&theme=dark&narrow=1").json()
    assert answer["csv"] == f"/figures/latency.csv?v=1&sweep={sweep.pk}&op=UPDATE"
    assert {row[7] for row in answer["table"]["rows"]} == {"UPDATE"}


def test_a_latency_that_was_not_measured_is_said(client_in, sweep):
    answer = client_in.get("/figures/latency/?op=SCAN").json()
    assert answer["figure"] is None
    assert answer["empty"] == "No service time of SCAN here. Measured was: READ, UPDATE."


def test_an_unfinished_sweep_is_live(client_in, sweep):
    make_run(sweep, threads=16, status="queued")
    for url in addresses(sweep)[: len(COMPARED) + 2]:
        assert client_in.get(url).json()["live"] is True, url


def test_before_the_first_point_it_says_so(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, status="queued")
    answer = client_in.get(reverse("figure-sweep", args=[sweep.pk])).json()
    assert answer["figure"] is None and answer["live"] and answer["empty"].startswith("Nothing has been measured yet")


def test_another_team_is_told_nothing(stranger, sweep):
    for url in addresses(sweep)[len(COMPARED) :]:
        assert stranger.get(url).status_code == 404
    for url in addresses(sweep)[: len(COMPARED)]:
        answer = stranger.get(url + f"?sweep={sweep.pk}").json()
        assert answer["figure"] is None and answer["table"]["rows"] == []


def test_what_is_not_there_is_not_found(client_in, team):
    for name in ("figure-sweep", "figure-matrix", "figure-run-series", "figure-run-percentiles"):
        assert client_in.get(reverse(name, args=[uuid.uuid4()])).status_code == 404


def test_it_only_reads(client_in, sweep):
    for url in addresses(sweep):
        assert client_in.post(url).status_code == 405


def test_a_spreadsheet_is_never_handed_a_formula(client_in, team):
    from runs.tests.factories import make_database

    make_run(make_sweep(database=make_database(team=team, name="=cmd|' /C calc'!A0")))
    text = client_in.get("/figures/ceilings.csv").content.decode()
    assert "'=cmd" in text
