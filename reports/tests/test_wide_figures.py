"""Pictures that look at several sweeps from one side: tail, scaling, durability, price, evenness, heat."""

import json
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from reports.analysis.heat import MAX_CELLS, Gathering
from reports.analysis.points import Spread
from reports.curves import Setup, Standing
from reports.figures.ceilings import CeilingsFigure
from reports.figures.durability import DurabilityFigure, cost_said, promises_of
from reports.figures.heat import HeatFigure
from reports.figures.ladder import LadderFigure
from reports.figures.layout import Frame
from reports.figures.loss import LossFigure
from reports.figures.percentiles import RUNG, SweepsPercentilesFigure, choose
from reports.figures.price import PriceFigure
from reports.figures.run_series import Window
from reports.figures.scalability import ScalabilityFigure, scalings_of
from reports.figures.stability import Ridge, StabilityFigure
from reports.figures.theme import DARK, LIGHT, PAPER
from reports.tests.curves import DISK, MEMORY, curve, operation, point
from runs.ycsb.encoded import Counts
from runs.ycsb.histogram import indices_of

pytestmark = pytest.mark.slow

FRAMES = [
    Frame(LIGHT),
    Frame(DARK, narrow=True, notes=("Demonstration: too short to publish",)),
    Frame(PAPER, narrow=True),
]
HOSTILE = '<b onclick="x">A & B</b>'


def sized(nodes, ops_s, **changes):
    return curve(
        f"Redis n{nodes}",
        points=[point(2, ops_s * 0.9), point(4, ops_s), point(8, ops_s * 0.9)],
        setup=Setup(version="7", nodes=nodes, price_per_hour=0.5 * nodes),
        **changes,
    )


def ridge(rate, of=None, interval_s=1):
    values = np.asarray(rate, dtype=float)
    return Ridge(of or curve(), "16 threads", np.arange(values.size, dtype=float) * interval_s, values, interval_s)


def heat_of(*seconds, length_s=10.0):
    gathering = Gathering(length_s)
    for second, values in enumerate(seconds):
        index = np.unique(indices_of(np.array(values)), return_counts=True)
        counts = Counts(np.array([index[0].size]), index[0].astype(np.int32), index[1].astype(np.int64))
        gathering.add(np.array([second + 0.5]), counts)
    return gathering.heat("READ", "service")


STATES = {
    "nothing": [],
    "no points": [curve(points=[])],
    "one point": [curve(points=[point(8, 1000.0)])],
    "zero throughput": [curve(points=[point(8, 0.0)])],
    "not a number": [curve(points=[point(2, 900.0, operations=(operation("READ", math.nan),))])],
    "rejected only": [curve(points=[point(8, 1000.0, standing=Standing.REJECTED)])],
    "sizes": [sized(4, 1000.0), sized(6, 1400.0), sized(8, 2200.0)],
    "no promise known": [curve(durability={})],
    "many databases": [curve(f"Database {n}", setup=Setup(nodes=n + 1, price_per_hour=1.0)) for n in range(8)],
    "hostile": [curve(HOSTILE, HOSTILE, system_name=HOSTILE, setup=Setup(nodes=1, price_per_hour=1.0)), sized(2, 10.0)],
}


def every_figure(curves, frame):
    return {
        "percentiles": SweepsPercentilesFigure(curves).draw(frame),
        "scalability": ScalabilityFigure(curves).draw(frame),
        "durability": DurabilityFigure(curves).draw(frame),
        "loss": LossFigure(curves).draw(frame),
        "price": PriceFigure(curves).draw(frame),
        "stability": StabilityFigure(
            [], [ridge([100.0] * 70 + [10.0] * 5 + [math.nan], curve) for curve in curves]
        ).draw(frame),
    }


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("state", STATES)
def test_it_makes_valid_figures_in_every_state(state, frame):
    for figure in every_figure(STATES[state], frame).values():
        text = json.dumps(figure, allow_nan=False)
        go.Figure(json.loads(text))
        assert "<b onclick" not in text
        assert "width" not in figure["layout"] and "title" not in figure["layout"]


@pytest.mark.parametrize("state", STATES)
def test_every_sheet_shows_a_picture_or_says_what_to_do(state):
    curves = STATES[state]
    sheets = [
        SweepsPercentilesFigure(curves),
        ScalabilityFigure(curves),
        DurabilityFigure(curves),
        LossFigure(curves),
        PriceFigure(curves),
        StabilityFigure(curves, [ridge([1.0] * 60, curve) for curve in curves if curve.ceiling]),
    ]
    for sheet in sheets:
        answer = sheet.answer(theme="dark", narrow=False, medium="slide")
        assert (answer["figure"] is None) == bool(answer["empty"])
        if answer["figure"]:
            assert answer["figure"]["data"] and answer["table"]["rows"], sheet.name
        json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    "figure",
    [
        CeilingsFigure,
        LadderFigure,
        SweepsPercentilesFigure,
        ScalabilityFigure,
        DurabilityFigure,
        LossFigure,
        PriceFigure,
    ],
)
def test_stated_modes_are_named_in_every_figure(figure):
    setup = Setup(nodes=1, price_per_hour=1.0)
    stated = [replace(each, mode_verified=False) for each in curve().points]
    sides = [curve("Ours", "always", stated, setup=setup), curve("Theirs", "everysec", setup=setup)]
    assert "Durability mode stated, not read back: Ours · always" in figure(sides).notes


def test_percentiles_are_at_each_ceiling_or_the_common_rung():
    short = curve("Other", points=[point(2, 500.0), point(8, 800.0)])
    assert [rung.threads for _, rung in choose([curve(), short])[0]] == [8, 16]
    common, sentence = choose([curve(), short], at=RUNG)
    assert [rung.threads for _, rung in common] == [8, 8] and "8 threads" in sentence
    assert choose([short, curve(points=[point(3, 1.0)])], at=RUNG)[0] == []
    data = SweepsPercentilesFigure([curve(), short]).draw(FRAMES[0])["data"]
    assert [trace["name"].rpartition(", ")[2] for trace in data] == ["8 threads", "16 threads"]


def test_percentiles_stand_at_the_highest_rung_up_to_a_load():
    chosen, _ = choose([curve(), curve("Fast", points=[point(2, 9000.0)])], load_ops_s=2000.0)
    assert [(side.database_name, rung.threads) for side, rung in chosen] == [("Redis 7.0", 4)]
    assert (
        "Fast" in SweepsPercentilesFigure([curve(), curve("Fast", points=[point(2, 9000.0)])], load_ops_s=2000).caption
    )


def test_only_bounds_are_bars_in_the_percentiles_of_sweeps():
    held = replace(operation("READ", 1000.0), bounds_us={"p99": (10_000.0, None)}, latencies_us={})
    figure = SweepsPercentilesFigure([curve(points=[point(2, 5.0, operations=(held,))])]).draw(FRAMES[0])
    assert [trace["name"].endswith("bounds") for trace in figure["data"]] == [False, True]


def test_scaling_is_scored_and_super_linear_sizes_are_marked():
    (scaling,) = scalings_of([sized(8, 2200.0), sized(4, 1000.0), sized(6, 1400.0)])
    assert [size.nodes for size in scaling.sizes] == [4, 6, 8]
    assert scaling.score.score == pytest.approx((0.4 / 0.5 + 1.2 / 1.0) / 2)
    assert scaling.score.super_linear == (8,)
    figure = ScalabilityFigure(STATES["sizes"]).draw(FRAMES[0])
    ideal = next(trace for trace in figure["data"] if trace["name"].endswith("ideal"))
    assert ideal["y"][1] / ideal["x"][1] == pytest.approx(250.0)
    assert any("account for" in trace["name"] for trace in figure["data"])
    assert ScalabilityFigure([curve()]).empty.startswith("Every sweep stands on a cluster of one size")


def test_durability_cost_is_relative_to_the_weakest_mode():
    slow = curve(mode="always", durability=DISK, points=[point(1, 200.0), point(2, 400.0), point(4, 300.0)])
    fast = curve(mode="off", durability=MEMORY, points=[point(1, 500.0), point(2, 1000.0), point(4, 900.0)])
    unknown = curve(mode="strange", durability={})
    promises = promises_of([slow, fast, unknown])
    assert promises.names == ("memory, may lose any", "disk, loses none")
    (trade,) = promises.trades
    assert [step.change for step in trade.steps] == [None, pytest.approx(-0.6)]
    assert "strange" in DurabilityFigure([slow, fast, unknown]).caption
    texts = [note["text"] for note in DurabilityFigure([slow, fast]).draw(FRAMES[0])["layout"]["annotations"]]
    assert cost_said(-0.6) in texts and cost_said(-0.001).startswith("\N{PLUS-MINUS SIGN}")


def test_a_dollar_buys_operations_and_what_has_no_price_is_named():
    sheet = PriceFigure([sized(4, 1000.0), curve("Free")])
    assert sheet.table.rows[0][-3] == pytest.approx(1000.0 * 3600 / 2.0)
    assert "Without a price or a ceiling: Free" in sheet.caption


def test_slow_seconds_are_coloured_and_gaps_stay_gaps():
    rate = [100.0] * 100
    rate[40:45] = [20.0] * 5
    rate[70] = math.nan
    line, slow = StabilityFigure([], [ridge(rate)]).draw(FRAMES[0])["data"]
    assert line["y"][70] is None and line["text"][40] == "20.0\N{NARROW NO-BREAK SPACE}ops/s"
    assert slow["line"]["color"] != line["line"]["color"] and len(slow["x"]) == 15
    (row,) = StabilityFigure([], [ridge(rate)]).table.rows
    assert dict(zip(StabilityFigure([], [ridge(rate)]).table.columns, row, strict=True))["longest dip (s)"] == 5


def test_marks_cut_off_values_and_grades_no_short_window():
    rate = [100.0] * 50 + [400.0] * 3
    line, cut = StabilityFigure([], [ridge(rate)]).draw(FRAMES[0])["data"]
    assert cut["x"] == [50.0, 51.0, 52.0] and cut["marker"]["symbol"] == "triangle-up"
    assert set(cut["y"]) == {max(line["y"])}
    sheet = StabilityFigure([], [ridge(rate)])
    assert "Cut off at 1.5\N{MULTIPLICATION SIGN} the median (triangles): 3 seconds" in sheet.caption
    said = [note["text"] for note in StabilityFigure([], [ridge(rate)]).draw(FRAMES[0])["layout"]["annotations"]]
    assert any("too short to grade, CV" in text for text in said) and sheet.table.rows[0][-1] == "too short to grade"
    assert ridge(rate * 2).grade == "erratic" and ridge([100.0] * 60).grade == "flat"


def test_a_dead_run_is_no_ridge_but_a_sentence():
    figure = StabilityFigure([], [ridge([0.0] * 100)]).draw(FRAMES[0])
    assert figure["data"] == []
    assert any("too little" in note["text"] for note in figure["layout"]["annotations"])


def test_twelve_hours_draw_at_most_2000_points_with_their_dip():
    rate = np.full(43_200, 100.0)
    rate[::7] = 80.0
    rate[12_345] = 1.0
    figure = StabilityFigure([], [ridge(rate) for _ in range(3)]).draw(FRAMES[0])
    assert max(len(trace["x"]) for trace in figure["data"]) <= 2_000
    assert any("1.00\N{NARROW NO-BREAK SPACE}ops/s" in trace.get("text", ()) for trace in figure["data"])


def test_heat_adds_counts_and_has_few_cells():
    heat = heat_of([100] * 9 + [5000], [100] * 10, [], length_s=43_200.0)
    assert heat.counts.sum() == 20 and heat.counts.size <= MAX_CELLS and heat.width_s == 540.0
    second = heat_of([100] * 9 + [5000], [100] * 10)
    assert np.nansum(second.shares[:, 0]) == pytest.approx(1.0) and np.isnan(second.shares[:, 5]).all()
    assert second.edges_us[0] <= 100 and second.edges_us[-1] > 5000
    for frame in FRAMES:
        figure = HeatFigure("heat", [second, second], Window(2.0, 9.0)).draw(frame)
        go.Figure(json.loads(json.dumps(figure, allow_nan=False)))
    assert heat_of([]) is None


@pytest.mark.parametrize("narrow", [True, False])
def test_names_of_bars_are_whole_in_rows_of_their_own(narrow):
    names = [f"PostgreSQL replicated {number}" for number in range(20)]
    drawn = CeilingsFigure([curve(name, "flush-log-at-commit") for name in names]).draw(Frame(LIGHT, narrow=narrow))
    texts = [note["text"] for note in drawn["layout"]["annotations"] if note.get("yanchor") == "bottom"]
    assert len(texts) == 20 and all(any(f">{name}<" in text for text in texts) for name in names)
    assert all("flush-log-at-commit" in text for text in texts)
    assert drawn["layout"]["yaxis"]["tickvals"] == [] and drawn["layout"]["margin"]["l"] < 20
    assert max(drawn["data"][0]["x"]) > 0.8 * drawn["layout"]["xaxis"]["range"][1]


def test_repeats_of_a_ceiling_are_the_interval_of_their_bar():
    held = point(2, 900.0, throughput_ops_s=Spread(900.0, 800.0, 950.0, 3, (900.0, 800.0, 950.0)))
    step = promises_of([curve(points=[held])]).trades[0].steps[0]
    assert step.throughput_ops_s == pytest.approx((900 * 800 * 950) ** (1 / 3))


def test_the_ideal_line_reaches_the_last_size_within_the_axis():
    figure = ScalabilityFigure([sized(1, 1000.0), sized(8, 2000.0)]).draw(FRAMES[0])
    ideal = next(trace for trace in figure["data"] if trace["name"].endswith("ideal"))
    assert (ideal["x"], ideal["y"]) == ([1, 8], [1000.0, 8000.0])
    assert figure["layout"]["yaxis"]["range"][1] > 8000.0
