"""Reports beside published results have every number of the study, as it printed it, beside what was measured here."""

import pytest

from reports.compare.pages.tables import list_published
from reports.tests.curves import curve, operation, point
from reports.tests.test_published_overlays import make_side
from runs.plans.studies import studies


def make_table(slug, *curves):
    """Each row of the study's table by the names of its columns."""
    (item,) = list_published((slug,), curves, {})
    table = item.table()
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_each_chosen_study_has_its_table():
    items = list(list_published(("columbia-2016", "nobody-1999", "vari-2013"), [], {}))

    assert [item.name for item in items] == ["table-published-vari-2013", "table-published-columbia-2016"]


def test_table_has_every_number_in_the_order_of_the_study():
    (study,) = [study for study in studies() if study.slug == "thumbtack-2014"]

    rows = make_table("thumbtack-2014")

    assert [row["printed"] for row in rows] == [fact.value for fact in study.facts]
    assert rows[0]["of"] == "Cassandra" and rows[0]["unit"] == "ops/s"
    assert sum(bool(row["disputed because"]) for row in rows) == len(study.disputed)
    assert {row["measured"] for row in rows} == {None}


def test_measured_throughput_stands_beside_that_of_its_size():
    sides = [
        make_side(95, "zipfian", records, system="cassandra", database=f"Cassandra {records}", points=[point(8, ops_s)])
        for records, ops_s in ((20_000, 30_140.5), (30_000, 72_983.0), (40_000, 80_000.0))
    ]

    rows = make_table("thumbtack-2014", *sides)

    pairs = [(row["printed"], row["measured"], row["measured / printed"]) for row in rows if row["unit"] == "ops/s"]
    assert [pair for pair in pairs if pair[1]] == [(60281, 30140, 0.5), (72983, 72980, 1.0), (99089, 80000, 0.807)]
    assert rows[0]["by side"] == "Cassandra 20000 · always"


def test_latencies_and_parts_stand_in_the_unit_of_the_study():
    rates = (operation("READ", 100.0, ok=3000), operation("UPDATE", 150.0, ok=1000))
    side = make_side(50, "uniform", 1_000_000_000, system="aerospike", points=[point(8, 40_000.0, operations=rates)])

    rows = {row["metric"]: row for row in reversed(make_table("aerospike-2017", side)) if row["of"] == "Aerospike"}

    assert rows["read throughput"]["measured"] == 30_000
    assert rows["p95 update latency"]["measured"] == pytest.approx(0.3)
    assert rows["p95 update latency"]["measured / printed"] == pytest.approx(0.435)


def test_loads_stand_beside_printed_loads():
    load = curve(system="hbase", phase="load", points=[point(2, 700.0, operations=(operation("INSERT", 1943.306),))])

    rows = {row["metric"]: row for row in make_table("columbia-2016", load) if row["of"] == "HBase"}

    assert (rows["throughput"]["measured"], rows["insert avg latency"]["measured / printed"]) == (700, 1.0)
    assert make_table("columbia-2016", curve(system="hbase"))[15]["measured"] is None
