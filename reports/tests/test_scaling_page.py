"""Cluster sizes against databases: the pure table, and the page of it."""

import pytest
from django.urls import reverse

from reports.analysis.scalability import Measured, pivot
from reports.curves import Setup
from reports.tests.curves import curve, point
from reports.views.scaling import measured_of, printed_of
from runs.studies import studies
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_workload,
)
from runs.tests.pages import UGLY, text_of
from runs.tests.world import make_world

pytestmark = pytest.mark.slow


def on(nodes, ceiling, row=("Redis", "always"), **changes):
    return Measured(row, nodes, ceiling, **changes)


def test_rows_have_scores_and_missing_sizes_are_none():
    # Cassandra, read-heavy, of the study of 2014: E = 53.26 % (analysis 3).
    table = pivot([on(4, 60_281), on(8, 99_089), on(6, 72_983), on(6, 500, row=("PostgreSQL", "on"))])
    assert table.sizes == (4, 6, 8)
    redis, postgresql = table.rows
    assert redis.score.score == pytest.approx(0.532606, abs=1e-6)
    assert [cell and cell.nodes for cell in postgresql.cells] == [None, 6, None]
    assert postgresql.score is None


def test_highest_of_a_size_is_shown_and_others_are_counted():
    [row] = pivot([on(4, 100), on(4, 300, database="Redis b"), on(4, None)]).rows
    assert (row.cells[0].others, row.cells[0].database) == (2, "Redis b")
    assert (row.cells[0].ceiling_ops_s, row.others) == (300, 2)


def test_it_takes_nothing_from_sizes_that_are_none():
    assert pivot([on(0, 100), on(-1, 100)]).rows == ()
    assert pivot([]).sizes == ()
    [row] = pivot([on(1, None), on(3, 0.0)]).rows
    assert row.score is None


def test_an_interval_needs_ten_repeats_of_every_size():
    many = {"repeats_ops_s": (100.0, 101.0, 99.0, 100.5, 99.5) * 2}
    [row] = pivot([on(4, 100, **many), on(8, 200, repeats_ops_s=(200.0, 201.0, 199.0, 200.5, 199.5) * 2)]).rows
    assert row.interval[0] < row.score.score < row.interval[1]
    [row] = pivot([on(4, 100, **many), on(8, 200, repeats_ops_s=(200.0, 201.0, 199.0) * 3)]).rows
    assert row.interval is None


def test_a_version_is_named_only_where_a_system_has_several():
    def sized(nodes, version):
        return curve(setup=Setup(nodes=nodes, version=version, records=1000 * nodes), points=[point(4, 100.0 * nodes)])

    same = list(measured_of([sized(1, "7"), sized(3, "7")]))
    assert {m.row for m in same} == {("Redis", "always")}
    assert [m.records for m in same] == [1000, 3000]
    assert {m.row for m in measured_of([sized(1, "7"), sized(3, "8")])} == {
        ("Redis", "7", "always"), ("Redis", "8", "always"),
    }  # fmt: skip
    assert list(measured_of([curve(setup=Setup())])) == []


def test_printed_tables_hold_what_was_printed_disputes_included():
    table = pivot(printed_of(["thumbtack-2014", "nonsense"]))
    assert table.sizes == (4, 6, 8)
    rows = {row.names[0].partition(" ")[0] + " " + row.names[1][:4]: row for row in table.rows}
    assert rows["Cassandra Read"].score.score == pytest.approx(0.532606, abs=1e-6)
    assert rows["Couchbase Read"].score.score == pytest.approx(0.961061, abs=1e-6)  # not the printed 86.95 %
    assert rows["Couchbase Read"].disputed
    assert rows["MongoDB Bala"].cells[0].knee_us == pytest.approx(2098.5)
    assert printed_of([study.slug for study in studies() if study.slug != "thumbtack-2014"]) == ()


URL = "/scaling/"
RUNGS = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3800.0))


def scaling_set(team, sizes=(1, 3), name="", modes=("always",)):
    """A matrix with one database of Redis for each number of nodes, every ladder measured."""
    workload = make_workload(team=team, name="Workload A")
    matrix = make_matrix(team=team, workloads=[workload], purpose="measured")
    for nodes in sizes:
        cluster = make_cluster(team=team, machines=[make_machine() for _ in range(nodes)])
        database = make_database(team=team, cluster=cluster, name=f"{name}Redis {nodes}"[:80])
        for mode in modes:
            sweep = make_sweep(team=team, matrix=matrix, database=database, workload=workload, mode=mode)
            for threads, throughput in RUNGS:
                make_run(sweep, threads=threads, throughput=throughput * nodes * 0.9 ** (nodes - 1))
    return matrix


@pytest.mark.django_db
def test_the_page_says_ceilings_scores_and_knees(client_in, team):
    scaling_set(team)
    page = text_of(client_in.get(URL))
    for words in ("1 node<", "3 nodes<", "3.90k", "9.48k", "Score", "Latency at the knee", "records<"):
        assert words in page, words
    assert "No scaling to see yet" not in page
    assert reverse("figure-scalability") in page


@pytest.mark.django_db
def test_one_size_says_how_to_build_a_scaling_set(client_in, team):
    scaling_set(team, sizes=(3,))
    page = text_of(client_in.get(URL))
    assert "These sweeps stand on clusters of 3 nodes" in page
    assert "Build a scaling set" in page
    assert reverse("matrix-add") in page


@pytest.mark.django_db
def test_nothing_at_all_says_so_too(client_in):
    page = text_of(client_in.get(URL))
    assert "No sweep matches" in page
    assert "Build a scaling set" in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query",
    [
        {"matrix": "nonsense"}, {"sweep": "nonsense"}, {"published": "nonsense"}, {"v": "99"}, {"load": "NaN"},
        {"sweep": "00000000-0000-0000-0000-000000000000"}, {"stat": "\0"}, {"more": "x" * 5000},
    ],
)  # fmt: skip
def test_malformed_addresses_get_a_page(client_in, team, query):
    scaling_set(team)
    assert client_in.get(URL, query).status_code == 200


@pytest.mark.django_db
def test_published_results_stand_apart_when_they_are_asked_for(client_in, team):
    scaling_set(team)
    assert "Published, not comparable" not in text_of(client_in.get(URL))
    page = text_of(client_in.get(URL, {"published": "thumbtack-2014"}))
    assert "Published, not comparable: ceilings" in page
    assert "disputed" in page
    assert "96.1" in page


@pytest.mark.django_db
def test_names_are_escaped_and_other_teams_stay_away(client_in, team):
    other = make_team()
    make_world(other)
    scaling_set(other, name="theirs ")
    scaling_set(team, name=UGLY[:60])
    page = client_in.get(URL, {"matrix": "all"}).content.decode()
    assert "<script>alert" not in page
    assert "theirs" not in page
    foreign = make_sweep(team=other)
    assert foreign.name not in client_in.get(URL, {"sweep": str(foreign.pk)}).content.decode()


@pytest.mark.django_db
def test_the_number_of_queries_does_not_grow(client_in, team, django_assert_max_num_queries):
    scaling_set(team, sizes=(1, 2, 3), modes=("always", "off", "everysec"))
    client_in.get(URL)
    with django_assert_max_num_queries(12):
        client_in.get(URL, {"matrix": "all"})


@pytest.mark.django_db
def test_strangers_have_to_sign_in(client):
    assert client.get(URL).status_code == 302
