"""Reports have a figure of the reads and writes of each workload, where there are several."""

from reports.compare.figure_registry import build_figure
from reports.compare.pages.charts import every_picture
from reports.compare.selection import Selection
from reports.tests.curves import curve, operation, point


def make_curves(*mixes):
    return [
        curve(workload=workload, points=[point(2, 900.0, operations=tuple(operation(name, 500.0) for name in names))])
        for workload, *names in mixes
    ]


def list_mixes(curves):
    pictures = every_picture(Selection(statistic="mean"), curves)
    return [picture for picture in pictures if picture.key.startswith("mix-")]


def test_each_workload_has_its_reads_and_writes():
    curves = make_curves(("A: half", "READ", "UPDATE"), ("C", "READ"), ("D", "READ", "INSERT"))

    mixes = list_mixes(curves)

    assert [picture.key for picture in mixes] == ["mix-a-half", "mix-c", "mix-d"]
    assert [picture.title for picture in mixes] == [
        "A: half: READ and UPDATE mean against throughput",
        "C: READ mean against throughput",
        "D: READ and INSERT mean against throughput",
    ]
    assert [picture.says for picture in mixes] == ["dotted: UPDATE", "", "dotted: INSERT"]


def test_figure_draws_the_sides_of_its_workload():
    curves = make_curves(("A", "READ", "UPDATE"), ("C", "READ"))
    mix, _ = list_mixes(curves)

    figure = build_figure(mix.name, curves, mix.selection, dict(mix.options))

    assert {row[2] for row in figure.table.rows} == {"A"}
    assert {row[7] for row in figure.table.rows} == {"READ", "UPDATE"}


def test_single_workload_needs_no_further_figure():
    assert list_mixes(make_curves(("A", "READ", "UPDATE"))) == []


def test_workload_without_results_does_no_harm():
    curves = [*make_curves(("A", "READ")), curve(workload="B", points=[])]

    assert [picture.key for picture in list_mixes(curves)] == ["mix-a", "mix-b"]
