"""Every list of rows has a .csv and a .json twin: the same filter and numbers, and no cell is a formula."""

import csv
import io
import json

import pytest

from runs.models import Run
from runs.tests.factories import make_matrix, make_run, make_sweep
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
LISTS = {"runs": "/runs/", "sweeps": "/sweeps/", "histories": "/history/", "matrices": "/matrices/"}
FORMULA = '=HYPERLINK("http://example","x")'


def downloaded(client, url):
    response = client.get(url)
    assert response.status_code == 200
    name = url.partition("?")[0].removeprefix("/")
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    return b"".join(response.streaming_content).decode()


def get_rows(client, url):
    return list(csv.DictReader(io.StringIO(downloaded(client, url))))


@pytest.fixture
def some(team):
    sweep = make_sweep(team=team, name=FORMULA, tags=["-quiet"], notes="@all")
    return [make_run(sweep, threads=threads, throughput=1000.0 * threads) for threads in (2, 4)]


@pytest.mark.parametrize("name", LISTS)
def test_both_twins_have_the_same_rows(client_in, some, name):
    table, document = get_rows(client_in, f"/{name}.csv"), json.loads(downloaded(client_in, f"/{name}.json"))
    assert len(table) == len(document) > 0
    assert list(table[0]) == list(document[0])


@pytest.mark.parametrize("name", LISTS)
def test_the_page_links_them(client_in, some, name):
    page = get_text(client_in.get(LISTS[name]))
    assert f'href="/{name}.csv' in page
    assert f'href="/{name}.json' in page


@pytest.mark.parametrize("name", LISTS)
def test_without_a_row_they_are_empty(client_in, name):
    assert get_rows(client_in, f"/{name}.csv") == []
    assert json.loads(downloaded(client_in, f"/{name}.json")) == []


@pytest.mark.parametrize("name", LISTS)
def test_another_team_sees_none_of_it(stranger, some, name):
    assert get_rows(stranger, f"/{name}.csv") == []
    assert json.loads(downloaded(stranger, f"/{name}.json")) == []


def test_no_cell_is_a_formula_and_the_document_keeps_the_text(client_in, some):
    (row,) = get_rows(client_in, "/sweeps.csv")
    assert (row["name"], row["tags"], row["notes"]) == (f"'{FORMULA}", "'-quiet", "'@all")
    (load,) = json.loads(downloaded(client_in, "/sweeps.json"))
    assert (load["name"], load["tags"]) == (FORMULA, ["-quiet"])


def test_sweeps_have_the_numbers_of_the_page(client_in, some):
    (load,) = json.loads(downloaded(client_in, "/sweeps.json"))
    assert load["ceiling_ops_s"] == 4000.0
    assert (load["runs"], load["runs_succeeded"]) == (2, 2)


def test_sweeps_have_the_version_that_the_server_said(client_in, some):
    Run.objects.filter(phase="measure").update(evidence={"server_version": "7.0.15"})
    (row,) = get_rows(client_in, "/sweeps.csv")
    assert row["version"] == "7.0.15"


def test_histories_have_the_newest_point(client_in, some):
    newest = {
        row["threads"]: row["newest_throughput_ops_s"] for row in json.loads(downloaded(client_in, "/histories.json"))
    }
    assert newest == {2: 2000.0, 4: 4000.0}


def test_the_filter_of_the_page_is_kept(client_in, some, team):
    make_matrix(team=team, name="another")
    assert len(json.loads(downloaded(client_in, "/runs.json?status=failed"))) == 0
    assert [row["name"] for row in get_rows(client_in, "/matrices.csv?q=another")] == ["another"]


def test_matrices_count_their_runs(client_in, some):
    (load,) = json.loads(downloaded(client_in, "/matrices.json"))
    assert (load["runs_total"], load["runs_succeeded"], load["state"]) == (2, 2, "succeeded")
