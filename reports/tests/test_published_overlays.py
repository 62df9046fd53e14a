"""Published numbers beside measured ones."""

import math

from reports.compare.curves import Setup
from reports.compare.figure_registry import build_figure
from reports.compare.figures.ceilings import published_bars
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.overlay import (
    NAMED,
    choices,
    choose_overlays,
    list_rates,
    list_throughputs,
    published_missing,
)
from reports.compare.figures.sweeps_over_time import SweepsOverTimeFigure
from reports.compare.figures.theme import LIGHT
from reports.compare.pages.charts import ceilings_picture, picture_link
from reports.compare.selection import Selection
from reports.tests.curves import curve, point
from reports.tests.test_figures import FRAMES
from reports.tests.test_sweeps_over_time import series


def make_side(reads, distribution, records, nodes=None, **changes):
    """A side of so many percent of reads, the rest updates."""
    properties = {
        "readproportion": str(reads / 100),
        "updateproportion": str(1 - reads / 100),
        "requestdistribution": distribution,
    }
    return curve(setup=Setup(records=records, nodes=nodes, workload_properties=properties), **changes)


def list_labels(slug, *curves, among=()):
    return [result.label for result in list_throughputs(choose_overlays([slug], curves=curves, among=among))]


def test_overlays_are_throughputs_and_say_what_they_are():
    published = list_throughputs(choose_overlays(["aerospike-2017"]))
    assert [(overlay.throughput_ops_s, overlay.latency_us) for overlay in published] == [
        (820_000, 300.0),
        (103_600, 21_860.0),
        (226_000, 202.0),
    ]
    assert all(
        "sum of the printed rates" in overlay.note and (overlay.study, overlay.year) == ("Aerospike", 2017)
        for overlay in published
    )


def test_a_latency_is_laid_only_over_its_own_kind():
    assert [overlay.latency_us for overlay in list_throughputs(choose_overlays(["vari-2013"]), ["READ"], "mean")] == [
        400.0,
        401.87,
        None,
    ]
    assert not any(overlay.latency_us for overlay in list_throughputs(choose_overlays(["vari-2013"]), ["READ"], "p99"))
    assert not any(
        overlay.latency_us for overlay in list_throughputs(choose_overlays(["vari-2013"]), ["UPDATE"], "mean")
    )


def test_missing_study_says_why_it_has_no_point():
    chosen = list_throughputs(choose_overlays(["vari-2013", "thumbtack-2014"]), ["READ"], "mean")
    sentence = published_missing(chosen, "READ", "mean")
    assert sentence == ("Not in the latency figure: Thumbtack 2014, which printed no READ mean beside a throughput")
    assert sentence in LatencyFigure([curve()], Choice(statistic="mean"), chosen).caption
    assert published_missing(list_throughputs(choose_overlays(["vari-2013"]), ["READ"], "mean"), "READ", "mean") == ""


def test_load_overlays_are_loads_and_unknown_study_has_none():
    assert not choose_overlays(["columbia-2016"]) and len(choose_overlays(["columbia-2016"], "load")) == 3
    assert not choose_overlays(["nobody-1999", ""])


def test_a_disputed_number_is_disputed_in_the_overlay_too():
    published = {overlay.label: overlay for overlay in list_throughputs(choose_overlays(["thumbtack-2014"]))}
    assert "107.89 %" in published["Couchbase, 8 nodes, 95/5"].disputed
    assert not published["MongoDB, 8 nodes, 95/5"].disputed
    assert all(overlay.latency_us is None for overlay in published.values())


def test_published_bars_stand_by_their_value():
    bars = published_bars(list_throughputs(choose_overlays(["thumbtack-2014"])), LIGHT)
    values = [bar.value for bar in bars]
    assert len(set(values)) > 2 and values == sorted(values, reverse=True)


def test_every_overlay_has_a_place_on_a_logarithmic_axis():
    slugs = [slug for slug, _ in choices()]
    published = list_throughputs([*choose_overlays(slugs), *choose_overlays(slugs, "load")])
    assert len(published) > 10
    assert all(0 < result.throughput_ops_s < math.inf for result in published)
    assert all(0 < result.latency_us < math.inf for result in published if result.latency_us is not None)


def test_the_figure_grows_with_the_published_bars():
    alone, beside = (
        picture_link(ceilings_picture(Selection(published=published)), [curve()])
        for published in ((), ("thumbtack-2013",))
    )
    assert alone["height_px"] == 0 and beside["height_px"] > 300


def test_only_numbers_of_the_mix_are_laid_over():
    uniform, zipfian = make_side(50, "uniform", 1_000_000_000), make_side(50, "zipfian", 215_000_000)

    assert list_labels("aerospike-2017", uniform) == ["Aerospike, 1 billion uniform", "Couchbase, 1 billion uniform"]
    assert list_labels("aerospike-2017", zipfian) == ["Couchbase, 215 m. zipfian"]
    assert list_labels("aerospike-2017", make_side(95, "uniform", 1_000_000_000)) == []
    assert len(list_labels("aerospike-2017", curve())) == 3, "nothing is known of its mix"


def test_only_numbers_of_as_many_records_are_laid_over():
    four, eight = make_side(95, "zipfian", 20_000_000), make_side(95, "zipfian", 40_000_000)

    assert list_labels("thumbtack-2014", four) == [
        "Cassandra, 4 nodes, 95/5", "Couchbase, 4 nodes, 95/5", "MongoDB, 4 nodes, 95/5",
    ]  # fmt: skip
    assert len(list_labels("thumbtack-2014", four, eight)) == 6


def test_records_of_a_study_made_smaller_keep_their_order():
    sides = [make_side(95, "zipfian", records) for records in (10_000, 5_000, 7_500)]

    labels = list_labels("thumbtack-2014", sides[1], among=sides)

    assert {label.split(", ")[1] for label in labels} == {"4 nodes"}


def test_reads_and_updates_have_their_own_printed_latencies():
    side = make_side(50, "uniform", 1_000_000_000)
    selection = Selection(published=("aerospike-2017",), operation="READ", statistic="p95")

    figure = build_figure("latency", [side], selection, {"with": "UPDATE"}).draw(FRAMES[0])

    printed = {trace["name"]: trace["y"] for trace in figure["data"] if "not comparable" in trace["name"]}
    assert printed == {
        "published, not comparable: READ": [0.3, 21.86],
        "published, not comparable: UPDATE": [0.69, 10.45],
    }


def test_scalability_has_the_sizes_that_a_study_printed():
    sides = [
        make_side(95, "zipfian", nodes * 5_000_000, nodes, points=[point(8, nodes * 10_000.0)]) for nodes in (4, 6, 8)
    ]

    figure = build_figure("scalability", sides, Selection(published=("thumbtack-2014",)), {})

    for frame in FRAMES:
        drawn = figure.draw(frame)
        printed = [trace for trace in drawn["data"] if trace["name"] == NAMED]
        assert (printed[0]["x"], printed[0]["y"]) == ([4, 6, 8], [60281, 72983, 99089])
        assert [trace["showlegend"] for trace in printed] == [True, False, False]
        assert drawn["layout"]["yaxis"]["type"] == "log", "one printed far more than was measured"
        low, high = drawn["layout"]["yaxis"]["range"]
        assert low < math.log10(40_000) and math.log10(1_878_120) < high < 7
    assert "not comparable: Thumbtack 2014" in figure.caption


def test_scalability_stays_linear_beside_near_numbers():
    sides = [make_side(95, "zipfian", n * 5_000_000, n, points=[point(8, n * 200_000.0)]) for n in (4, 6)]

    layout = build_figure("scalability", sides, Selection(published=("thumbtack-2014",)), {}).draw(FRAMES[0])["layout"]

    assert "type" not in layout["yaxis"] and layout["yaxis"]["range"][0] == 0


def test_rates_over_time_stand_beside_the_printed_rate():
    side = make_side(50, "uniform", 1_000_000_000)
    rates = list_rates(choose_overlays(["aerospike-2017"], "", [side]), "UPDATE")

    figure = SweepsOverTimeFigure([side], {side.sweep_id: series(10.0, 30.0)}, operation="UPDATE", published=rates)

    drawn = figure.draw(FRAMES[0])
    assert [(trace["name"], trace["x"], trace["y"]) for trace in drawn["data"][:2]] == [
        ("published, not comparable: Aerospike, 1 billion uniform", [0, 1.0], [410_000] * 2),
        ("published, not comparable: Couchbase, 1 billion uniform", [0, 1.0], [51_800] * 2),
    ]
    assert drawn["layout"]["yaxis"]["type"] == "log"
    assert list_rates(choose_overlays(["vari-2013"], "", []), "READ") == []
