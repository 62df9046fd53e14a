"""What the figures draw, as far as a program can see it: traces, names, units, marks, states, escaping."""

import json
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from reports.compare.analysis.points import Spread, spread
from reports.compare.curves import Operation, Progress, Setup, Standing
from reports.compare.figures.ceilings import CeilingsFigure, build_bars
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.layout import Frame
from reports.compare.figures.percentiles import PercentilesFigure
from reports.compare.figures.run_series import OverTime, RunSeriesFigure, Window, total_rate
from reports.compare.figures.theme import DARK, LIGHT, get_labels, looks
from reports.compare.messages import NO_POINT
from reports.compare.pages.tables import sustained_table
from reports.tests.curves import DISK, MEMORY, curve, one, operation, point

pytestmark = pytest.mark.slow

FRAMES = [Frame(LIGHT), Frame(DARK, narrow=True, notes=("Demonstration: too short to publish",))]
HOSTILE = '<b onclick="x">A & B</b>'


def over_time(length=5, **changes):
    values = {
        "operation": "READ",
        "kind": "service",
        "seconds": np.arange(length, dtype=float),
        "rate_ops_s": np.full(length, 100.0),
        "failed": np.zeros(length),
        "mean_us": np.full(length, 800.0),
        "p99_us": np.full(length, 2000.0),
    }
    return OverTime(**{**values, **changes})


PERCENTILES = {"p50": 800.0, "p90": 1500.0, "p99": 3000.0, "p999": 9000.0, "p9999": 20000.0, "max": 50_000.0}


def percentiles(*operations):
    return PercentilesFigure("percentiles", point(2, 100.0, operations=operations))


def measured(name="READ", kind="service", ok=100_000, latencies_us=PERCENTILES, **changes):
    spreads = {statistic: one(latency_us) for statistic, latency_us in latencies_us.items()}
    return Operation(name, kind, ok, 0, spreads, **changes)


def every_figure(curves, frame):
    return {
        "ceilings": CeilingsFigure(curves).draw(frame),
        "latency": LatencyFigure(curves, Choice()).draw(frame),
        "ladder": LadderFigure(curves).draw(frame),
    }


def get_lines(figure):
    return [trace for trace in figure["data"] if trace["mode"] == "lines+markers" and trace["x"] != [None]]


def find_hollow_traces(figure):
    return [t for t in figure["data"] if t["mode"] == "markers" and t["x"] != [None] and "not counted" in t["name"]]


STATES = {
    "nothing": [],
    "no points": [curve(points=[])],
    "one point": [curve(points=[point(8, 1000.0)])],
    "zero throughput": [curve(points=[point(8, 0.0)])],
    "rejected only": [curve(points=[point(8, 1000.0, standing=Standing.REJECTED)])],
    "not a number": [curve(points=[point(2, 900.0), point(4, 1000.0, operations=(operation("READ", math.nan),))])],
    "no latencies": [curve(points=[point(2, 900.0, operations=())])],
    "five": [curve(mode=mode) for mode in ("off", "everysec", "always")]
    + [curve("PostgreSQL", m) for m in ("off", "on")],
    "many databases": [curve(f"Database {number}") for number in range(8)],
    "repeats": [curve(points=[point(2, 900.0, throughput_ops_s=Spread(900.0, 800.0, 950.0, 3)), point(4, 1500.0)])],
    "targets": [
        curve(ladder="target", points=[point(8, target * 0.99, target_ops_s=target) for target in (1000, 2000)]),
    ],
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("state", STATES)
def test_it_makes_valid_figures_in_every_state(state, frame):
    for figure in every_figure(STATES[state], frame).values():
        text = json.dumps(figure, allow_nan=False)
        go.Figure(json.loads(text))
        assert "title" not in figure["layout"]
        for name in ("width", "height"):
            assert name not in figure["layout"]
        axes = [axis for name, axis in figure["layout"].items() if "axis" in name]
        assert {axis["ticklabeloverflow"] for axis in axes} == {"allow"}


@pytest.mark.parametrize("frame", FRAMES)
def test_it_makes_valid_figures_of_one_run(frame):
    series = [over_time(), over_time(operation="UPDATE", kind="response", p99_us=np.array([np.nan, 1, 2, 3, 4.0]))]
    figures = [
        RunSeriesFigure("series", series, Window(1.0, 4.0, 500)).draw(frame),
        RunSeriesFigure("series", [], Window()).draw(frame),
        RunSeriesFigure("series", [over_time(1)], Window()).draw(frame),
        percentiles(measured(), measured("UPDATE", "response")).draw(frame),
        PercentilesFigure("percentiles", None).draw(frame),
        percentiles(measured(ok=1, latencies_us={"p50": 10.0, "max": 10.0})).draw(frame),
    ]
    for figure in figures:
        go.Figure(json.loads(json.dumps(figure, allow_nan=False)))


def test_axes_name_their_units():
    ceilings, latency, ladder = every_figure([curve()], FRAMES[0]).values()
    assert ceilings["layout"]["xaxis"]["title"]["text"] == "throughput ceiling (ops/s)"
    assert latency["layout"]["xaxis"]["title"]["text"] == "throughput, all operations (ops/s)"
    assert latency["layout"]["yaxis"]["title"]["text"] == "READ p99, service time (ms)"
    assert ladder["layout"]["yaxis"]["title"]["text"] == "throughput (ops/s)"
    assert "threads" in ladder["layout"]["xaxis"]["title"]["text"]
    assert CeilingsFigure([curve()]).draw(FRAMES[1])["layout"]["xaxis"]["title"]["text"] == "throughput ceiling (ops/s)"


def test_latency_figure_shows_chosen_statistic_in_ms():
    figure = LatencyFigure([curve()], Choice("UPDATE", "p999")).draw(FRAMES[0])
    (line,) = get_lines(figure)
    assert line["x"] == [1000.0, 1900.0, 3300.0, 3900.0, 3800.0]
    assert line["y"][0] == pytest.approx(2 / 1000 * 1.2 * 7 * 1e3)
    assert "UPDATE p99.9 16.8" in line["text"][0] and "1.00k" in line["text"][0]


def test_a_curve_follows_its_ladder_even_when_throughput_falls():
    (line,) = get_lines(LatencyFigure([curve()], Choice()).draw(FRAMES[0]))
    assert line["x"][-1] < line["x"][-2]
    rungs = next(t for t in LatencyFigure([curve()], Choice()).draw(FRAMES[0])["data"] if "rungs" in t["name"])
    assert rungs["text"] == ["2", "4", "8", "16", "32"]


@pytest.mark.parametrize("standing", [Standing.REJECTED, Standing.EXCLUDED])
def test_points_that_do_not_count_are_hollow_and_not_joined(standing):
    points = [point(2, 1000.0), point(4, 9000.0, standing=standing), point(8, 3000.0)]
    for figure in (
        LatencyFigure([curve(points=points)], Choice()).draw(FRAMES[0]),
        LadderFigure([curve(points=points)]).draw(FRAMES[0]),
    ):
        (line,), (hollow,) = get_lines(figure), find_hollow_traces(figure)
        assert len(line["x"]) == 2 and len(hollow["x"]) == 1
        assert hollow["marker"]["symbol"].endswith("-open")
        assert ("rejected" if standing is Standing.REJECTED else "left out") in hollow["text"][0]
        assert any("hollow" in trace["name"] for trace in figure["data"])
    assert build_bars([curve(points=points)], LIGHT)[0].value == 3000.0


def test_the_ceiling_and_the_knee_are_marked():
    figure = LatencyFigure([curve()], Choice()).draw(FRAMES[0])
    rings = {trace["name"].split(", ")[-1]: trace["x"] for trace in figure["data"] if ", " in trace["name"]}
    assert rings["highest measured"] == [3900.0]  # No repeats confirm a ceiling.
    assert rings["knee"] == [3300.0]


def test_knee_of_targets_is_marked_at_its_rung():
    """A rung counts no more than its target of each repeat; the point is drawn where the repeats lie."""
    achieved = (1000.0, 2000.0, 4000.0, 4400.0, 4410.0)
    means_us = (500.0, 500.0, 600.0, 5000.0, 20_000.0)
    points = [
        point(
            64,
            ops_s,
            target_ops_s=target,
            throughput_ops_s=Spread(ops_s, ops_s * 0.99, ops_s * 1.01, 2, (ops_s * 0.99, ops_s * 1.01)),
            operations=(operation("READ", mean_us),),
        )
        for target, ops_s, mean_us in zip((1000, 2000, 4000, 8000, 16_000), achieved, means_us, strict=True)
    ]
    side = curve(points=points, ladder="target")
    figure = LatencyFigure([side], Choice()).draw(FRAMES[0])

    assert side.knee.reached and side.knee.throughput_ops_s < 4000.0
    assert [trace["x"] for trace in figure["data"] if trace["name"].endswith(", knee")] == [[4000.0]]


def test_folded_entry_of_the_legend_hides_whole_curves():
    curves = [curve(mode=mode) for mode in ("off", "always")]
    figure = LatencyFigure(curves, Choice(load_ops_s=2000.0)).draw(Frame(LIGHT, narrow=True))

    groups = {trace["legendgroup"] for trace in figure["data"] if trace.get("legendgroup")}
    entries = [trace for trace in figure["data"] if trace.get("legendgroup") and trace["showlegend"]]
    assert len(entries) == len(groups) == 1
    assert any(trace["name"].endswith(", curve") for trace in figure["data"])


def test_repeats_are_a_band():
    repeated = point(2, 900.0, throughput_ops_s=Spread(900.0, 800.0, 950.0, 3))
    figure = LadderFigure([curve(points=[repeated, point(4, 1500.0)])]).draw(FRAMES[0])
    band = next(trace for trace in figure["data"] if trace.get("fill") == "toself")
    assert band["y"] == [950.0, 1500.0, 1500.0, 800.0]
    assert "mean of 3 repeats, 800 to 950" in get_lines(figure)[0]["text"][0]


def test_bars_begin_with_the_highest():
    curves = [curve(mode=f"m{ops_s}", points=[point(2, ops_s)]) for ops_s in (500.0, 900.0, 700.0)]
    bars = build_bars([*curves, curve(mode="none", points=[])], LIGHT)
    assert [bar.detail for bar in bars] == ["m900.0", "m700.0", "m500.0", "none"]


def test_pattern_says_what_may_be_lost():
    seconds = {**DISK, "loss_window_s": 1.0}
    records = {"none": DISK, "seconds": seconds, "any": MEMORY, "unknown": {}}
    curves = [curve(mode=mode, durability=record) for mode, record in records.items()]
    assert [look.pattern for look in looks(curves, LIGHT).values()] == ["", "/", ".", ""]
    texts = [note["text"] for note in CeilingsFigure(curves).draw(FRAMES[0])["layout"]["annotations"]]
    assert "solid: loses none · hatched: may lose some · dotted: may lose any" in texts
    assert not any(
        "solid" in note["text"] for note in CeilingsFigure(curves[:1]).draw(FRAMES[0])["layout"]["annotations"]
    )


def test_colours_are_those_of_all_sides():
    curves = [curve(f"{name} {n}", system_name=name) for name in ("Redis", "MariaDB", "MongoDB") for n in (1, 2)]
    figure = CeilingsFigure(curves[4:])
    figure.among = curves
    shown = {trace["marker"]["color"] for trace in figure.draw(FRAMES[0])["data"]}
    assert shown == {looks(curves, LIGHT)[curves[4].sweep_id].colour}
    assert len({look.colour for look in looks(curves, LIGHT).values()}) == 3
    assert "2 of 6 sides are shown" in figure.caption


def test_bars_carry_their_value_and_by_how_much_they_are_lower():
    repeats = [spread((x, x * 0.99, x * 1.01)) for x in (505.0, 1818.0)]
    slow = curve("Redis", "always", points=[point(2, 500.0), point(4, 505.0, throughput_ops_s=repeats[0])])
    fast = curve("Redis", "off", points=[point(2, 1000.0), point(4, 1818.0, throughput_ops_s=repeats[1])])
    high, low = build_bars([slow, fast], LIGHT)
    assert (high.value_label, high.note) == ("≥ 1.82k", "best, short ladder")
    assert (low.value_label, low.note) == ("505", "≤ 0.28\N{MULTIPLICATION SIGN} of off")


def test_a_sweep_without_a_ceiling_is_no_bar_of_zero():
    going = curve(points=[], progress=Progress(runs=4, succeeded=0))
    failed = curve("Other", points=[], progress=Progress(runs=4, failed=4))
    unknown = curve("Third", points=[], progress=Progress(runs=4, succeeded=3, failed=1))
    bars = build_bars([going, failed, unknown], LIGHT)
    labels = sorted(bar.value_label for bar in bars)
    assert labels == ["did not complete", "measuring", NO_POINT]
    assert NO_POINT in sustained_table([unknown], {}).rows[0] and NO_POINT in CeilingsFigure([unknown]).table.rows[0]
    assert all(trace["x"] == [None] for trace in CeilingsFigure([going, failed]).draw(FRAMES[0])["data"])


def test_names_cannot_speak_html():
    hostile = curve(HOSTILE, HOSTILE, mode_name=HOSTILE, points=[point(2, 10.0, worst_finding=HOSTILE), point(4, 11.0)])
    for figure in every_figure([hostile, curve()], FRAMES[0]).values():
        text = json.dumps(figure)
        assert "<b onclick" not in text and "onclick" in text
        assert "&lt;b onclick" in text and "A &amp; B" in text
    series = RunSeriesFigure("series", [over_time(operation=HOSTILE)], Window()).draw(FRAMES[0])
    assert "<b onclick" not in json.dumps([series, percentiles(measured(HOSTILE)).draw(FRAMES[0])])


def test_colour_means_the_database_and_dash_with_marker_the_mode():
    curves = [curve("A", "always"), curve("A", "off"), curve("B", "on"), curve("B", "off")]
    found = {(c.database_name, c.mode): looks(curves, LIGHT)[c.sweep_id] for c in curves}
    assert found["A", "always"].colour == found["A", "off"].colour != found["B", "on"].colour
    # The same promise looks the same in both databases, and the strongest is solid.
    assert found["A", "always"].dash == found["B", "on"].dash == "solid"
    assert found["A", "off"].symbol == found["B", "off"].symbol != found["A", "always"].symbol
    assert {look.colour for look in found.values()} <= set(LIGHT.series)


def test_two_curves_of_one_database_never_look_alike():
    curves = [curve("A", mode, durability=DISK) for mode in ("one", "two", "three")]
    plan = looks(curves, LIGHT)
    assert len({(look.dash, look.symbol) for look in plan.values()}) == 3


def test_many_databases_have_the_colours_of_their_systems():
    curves = [curve(f"Database {n}", system_name=("Redis", "PostgreSQL")[n % 2]) for n in range(8)]
    plan = looks(curves, LIGHT)
    colours = {side.system_name: plan[side.sweep_id].colour for side in curves}
    assert len(set(colours.values())) == 2 and not any(look.faded for look in plan.values())
    assert all(plan[side.sweep_id].colour == colours[side.system_name] for side in curves)
    assert looks(curves, LIGHT, highlight="Database 3")[curves[0].sweep_id].faded


def test_only_the_highlight_has_colour_beyond_five_databases():
    curves = STATES["many databases"]
    plan = looks(curves, LIGHT, highlight="Database 3")
    assert [c.database_name for c in curves if plan[c.sweep_id].colour == LIGHT.series[0]] == ["Database 3"]
    assert {plan[c.sweep_id].colour for c in curves if c.database_name != "Database 3"} == {LIGHT.grey}
    fastest = replace(curves[5], points=(point(2, 1e6),))
    assert not looks([*curves, fastest], LIGHT)[fastest.sweep_id].faded


def test_labels_say_what_tells_curves_apart():
    first, second = curve(workload="A"), curve(workload="B")
    assert list(get_labels([first, second]).values()) == ["Redis 7.0 · always · A", "Redis 7.0 · always · B"]
    alone, all_three = (curve(setup=Setup(generators=names)) for names in (("a",), ("a", "b", "c")))
    labels = ["Redis 7.0 · always · 1 generator", "Redis 7.0 · always · 3 generators"]
    assert list(get_labels([alone, all_three]).values()) == labels
    assert list(get_labels([curve(), curve()]).values()) == ["Redis 7.0 · always #1", "Redis 7.0 · always #2"]
    assert list(get_labels([curve()]).values()) == ["Redis 7.0 · always"]


def test_axes_become_logarithmic_where_ceilings_lie_far_apart():
    slow, fast = curve("A"), curve("B", points=[point(2, 50_000.0), point(4, 60_000.0)])
    assert LatencyFigure([slow], Choice()).draw(FRAMES[0])["layout"]["xaxis"].get("type") is None
    assert LatencyFigure([slow, fast], Choice()).draw(FRAMES[0])["layout"]["xaxis"]["type"] == "log"
    linear = LatencyFigure([slow, fast], Choice(scale="linear")).draw(FRAMES[0])["layout"]
    assert linear["xaxis"]["range"][0] == linear["yaxis"]["range"][0] == 0


def test_notes_stand_in_the_picture_itself():
    for figure in every_figure([curve()], FRAMES[1]).values():
        assert any(
            "too short to publish" in note["text"].replace("<br>", " ") for note in figure["layout"]["annotations"]
        )


def test_total_rate_counts_each_read_modify_write_once():
    series = [
        over_time(3),
        over_time(3, operation="UPDATE", rate_ops_s=np.full(3, 40.0)),
        over_time(3, operation="READ-MODIFY-WRITE", rate_ops_s=np.full(3, 40.0)),
        over_time(3, kind="response"),
    ]
    seconds, rate = total_rate(series)
    assert seconds.tolist() == [0.0, 1.0, 2.0] and rate.tolist() == [100.0, 100.0, 100.0]


def test_a_second_that_no_client_covers_is_a_gap_and_not_a_zero():
    gappy = over_time(2, seconds=np.array([0.0, 3.0]))
    _, rate = total_rate([gappy])
    assert rate.tolist()[0] == 100.0 and np.isnan(rate[1:3]).all()
    figure = RunSeriesFigure("series", [gappy], Window()).draw(FRAMES[0])
    assert figure["data"][0]["y"] == [100.0, None, None, 100.0]


def test_the_warm_up_and_what_came_after_the_window_are_shaded():
    figure = RunSeriesFigure("series", [over_time(12)], Window(2.0, 10.0, 300)).draw(FRAMES[0])
    assert [(shape["x0"], shape["x1"]) for shape in figure["layout"]["shapes"]] == [(0.0, 2.0), (10.0, 12.0)]
    assert next(trace for trace in figure["data"] if trace["name"] == "target")["y"] == [300, 300]


def test_a_long_series_is_thinned_without_losing_its_dip():
    rate = np.full(40_000, 100.0)
    rate[12_345] = 0.0
    long = over_time(40_000, rate_ops_s=rate)
    figure = RunSeriesFigure("series", [long], Window()).draw(FRAMES[0])
    assert all(len(trace["x"]) <= 2_000 for trace in figure["data"])
    assert 0.0 in figure["data"][0]["y"]


def test_percentiles_beyond_what_was_counted_are_not_shown():
    (trace,) = percentiles(measured(ok=200)).draw(FRAMES[0])["data"]
    assert trace["x"][-1] == pytest.approx(math.log10(201), abs=1e-4)
    assert len(trace["x"]) == 4  # p50, p90, p99 and the greatest: 200 operations have no p99.9
    assert trace["y"][-1] == 50.0


def test_equal_values_and_modes_without_a_record_are_drawn():
    same = [curve(f"D{i}", points=[point(2, 100.0), point(4, 100.0)], durability={}) for i in range(3)]
    for figure in every_figure(same, FRAMES[0]).values():
        go.Figure(figure)
    assert one(3.0).geomean == 3.0 and MEMORY["loss_window_s"] is None


def test_percentile_known_as_bounds_is_a_bar_without_line():
    bounds_us = {"p99": (10_000.0, 100_000.0), "p999": (100_000.0, None)}
    bounded = percentiles(measured(latencies_us={"p50": 800.0, "max": 50_000.0}, bounds_us=bounds_us))

    points, bars = bounded.draw(FRAMES[0])["data"]

    assert points["mode"] == "markers"
    assert bars["y"] == [10.0, 100.0, None, 100.0, 100.0, None]
    assert "10.0\N{EN DASH}100" in bars["text"][0]
    assert "bounds, histograms missing" in bars["text"][0]
    assert ("READ", "service", 100_000, 99.0, 10_000.0, 100_000.0) in bounded.table.rows


def test_percentiles_without_counts_are_shown_as_stated():
    stated = {name: latency_us for name, latency_us in PERCENTILES.items() if name != "max"}
    (trace,) = percentiles(measured(ok=None, latencies_us=stated)).draw(FRAMES[0])["data"]
    assert len(trace["x"]) == 5
