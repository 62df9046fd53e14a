"""Every CSV of the site loads with `pandas.read_csv`."""

import csv
import io
from zipfile import ZipFile

import pytest

from reports.compare.figure_registry import PICTURES
from reports.published.links import find_link
from reports.tests.snapshots import published
from runs.tests.factories import finding, make_run, make_sweep, measurement

pandas = pytest.importorskip("pandas")
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def read_csv(text):
    """The table as pandas reads it. It renames columns without a name or with that of another one, and takes the first
    column for the names of rows where a row is longer than the first line: neither happens.
    """
    names, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    table = pandas.read_csv(io.StringIO(text))
    assert list(table.columns) == names
    assert len(table) == len(rows)
    return table


def list_mixed_columns(table):
    """Columns that are text although some of their cells are numbers."""
    texts = table.select_dtypes(exclude=["number", "bool"])
    return [name for name in texts if pandas.to_numeric(texts[name], errors="coerce").notna().any()]


def load(client, url):
    response = client.get(url)
    assert response.status_code == 200
    return read_csv(response.getvalue().decode())


@pytest.fixture
def run(team):
    sweep = make_sweep(team=team, name="redis always A", notes="two\nlines, and a comma")
    reasons = [finding("V25", "reject", title="Interference", measured="1.07 of 2 cores", threshold="0.5 cores")]
    measured = [measurement("READ", 80.0), measurement("READ", 95.5, kind="response"), measurement("UPDATE", 120.0)]
    run = make_run(
        sweep, throughput=20_000.0, commit="c0ffee" * 6, verdict="reject", findings=reasons, measurements=measured
    )
    make_run(sweep, repeat=2, throughput=10_000.5, measurements=[measurement("SCAN", 1000.0, p99_us=None)])
    make_run(sweep, repeat=3, status="failed")
    return run


def test_runs_have_their_latencies_by_operation(client_in, run):
    table = load(client_in, "/runs.csv?sort=oldest")

    first = table.iloc[0]
    assert (first["database"], first["workload"]) == (run.sweep.database_name, run.workload_name)
    assert (first["mode"], first["test"]) == ("always", run.config_key)
    assert (first["commit"], first["verdict"], first["throughput_ops_s"]) == (run.commit, "reject", 20_000.0)
    assert first["rejected_by"] == "V25 Interference: 1.07 of 2 cores (limit: 0.5 cores)"
    assert (first["READ_mean_us"], first["READ_response_mean_us"], first["UPDATE_mean_us"]) == (80.0, 95.5, 120.0)
    assert first["READ_p50_us"] < first["READ_p99_us"] < first["READ_p999_us"]
    assert list(table["READ_p95_us"].notna()) == [True, False, False]
    assert list(table["SCAN_mean_us"].fillna(0.0)) == [0.0, 1000.0, 0.0]
    assert list(table["throughput_ops_s"].fillna(0.0)) == [20_000.0, 10_000.5, 0.0]
    assert table["SCAN_p99_us"].isna().all()
    assert set(list_mixed_columns(table)) <= {"version"}  # 18.4 reads as a number, 7.0.15 does not


def test_runs_take_as_many_queries_however_many_they_are(client_in, run, django_assert_num_queries):
    make_run(run.sweep, repeat=4, throughput=1.0)
    with django_assert_num_queries(5):
        client_in.get("/runs.csv").getvalue()


@pytest.mark.parametrize("name", ["runs", "sweeps", "histories", "matrices"])
@pytest.mark.parametrize("query", ["", "?q=nothing-has-this-name"])
def test_every_list_is_one_table(client_in, run, name, query):
    load(client_in, f"/{name}.csv{query}")


@pytest.mark.parametrize("name", PICTURES)
def test_every_figure_is_one_table(client_in, run, name):
    assert not list_mixed_columns(load(client_in, f"/figures/{name}.csv?v=1&sweep={run.sweep_id}"))


def test_published_numbers_are_one_table(client_in):
    load(client_in, "/published/facts.csv")


def test_every_file_of_a_report_is_one_table(team, client):
    data = client.get(f"/r/{find_link(published(team)).token}.zip").content
    with ZipFile(io.BytesIO(data)) as files:
        tables = {name: read_csv(files.read(name).decode()) for name in files.namelist()}

    assert not [name for name, table in tables.items() if list_mixed_columns(table)]
    (points,) = (table for name, table in tables.items() if name.endswith("-points.csv"))
    numbers = set(points.select_dtypes("number"))
    with_unit = {name for name in points if name.endswith(("(µs)", "(ops/s)"))}
    assert len(with_unit) > 3 and with_unit <= numbers
    assert not [name for name, table in tables.items() if len(table.columns) < 2]
