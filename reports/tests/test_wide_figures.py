"""Pictures that look at several sweeps from one side: tail, scaling, loss, durability."""

import json
import math
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from benchsite.core.formatting import TIMES
from reports.compare.analysis.points import Spread
from reports.compare.curves import Setup, Standing
from reports.compare.durability_costs import find_weakest_modes, get_cost, list_trades
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.layout import Frame
from reports.compare.figures.loss import LossFigure
from reports.compare.figures.overlay import choose_overlays, list_throughputs
from reports.compare.figures.percentiles import SweepsPercentilesFigure, choose_rungs
from reports.compare.figures.scalability import ScalabilityFigure, build_scalings
from reports.compare.figures.svg import render_svg
from reports.compare.figures.theme import DARK, LIGHT, PAPER
from reports.compare.messages import INTERVAL_CUT
from reports.tests.curves import DISK, MEMORY, curve, operation, point

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
        "loss": LossFigure(curves).draw(frame),
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
        LossFigure(curves),
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
        LossFigure,
    ],
)
def test_stated_modes_are_named_in_every_figure(figure):
    setup = Setup(nodes=1, price_per_hour=1.0)
    stated = [replace(each, mode_verified=False) for each in curve().points]
    sides = [curve("Ours", "always", stated, setup=setup), curve("Theirs", "everysec", setup=setup)]
    assert "Durability mode stated, not read back: Ours · always" in figure(sides).notes


def test_percentiles_are_at_each_ceiling():
    short = curve("Other", points=[point(2, 500.0), point(8, 800.0)])
    assert [rung.threads for _, rung in choose_rungs([curve(), short])] == [8, 16]
    data = SweepsPercentilesFigure([curve(), short]).draw(FRAMES[0])["data"]
    assert [trace["name"].rpartition(", ")[2] for trace in data] == ["8 threads", "16 threads"]


def test_percentiles_stand_at_the_highest_rung_up_to_a_load():
    rungs = choose_rungs([curve(), curve("Fast", points=[point(2, 9000.0)])], load_ops_s=2000.0)
    assert [(side.database_name, rung.threads) for side, rung in rungs] == [("Redis 7.0", 4)]
    assert (
        "Fast" in SweepsPercentilesFigure([curve(), curve("Fast", points=[point(2, 9000.0)])], load_ops_s=2000).caption
    )


def test_only_bounds_are_bars_in_the_percentiles_of_sweeps():
    measured = replace(operation("READ", 1000.0), bounds_us={"p99": (10_000.0, None)}, latencies_us={})
    figure = SweepsPercentilesFigure([curve(points=[point(2, 5.0, operations=(measured,))])]).draw(FRAMES[0])
    assert [trace["name"].endswith("bounds") for trace in figure["data"]] == [False, True]


def test_scaling_is_scored_and_super_linear_sizes_are_marked():
    (scaling,) = build_scalings([sized(8, 2200.0), sized(4, 1000.0), sized(6, 1400.0)])
    assert list(scaling.sizes) == [4, 6, 8]
    assert scaling.score.score == pytest.approx((0.4 / 0.5 + 1.2 / 1.0) / 2)
    assert scaling.score.super_linear == (8,)
    figure = ScalabilityFigure(STATES["sizes"]).draw(FRAMES[0])
    ideal = next(trace for trace in figure["data"] if trace["name"].endswith("ideal"))
    assert ideal["y"][1] / ideal["x"][1] == pytest.approx(250.0)
    assert any("account for" in trace["name"] for trace in figure["data"])
    assert ScalabilityFigure([curve()]).empty.startswith("Every sweep stands on a cluster of one size")


def test_bars_state_the_cost_of_durability():
    slow = curve(mode="always", durability=DISK, points=[point(1, 200.0), point(2, 400.0), point(4, 300.0)])
    fast = curve(mode="off", durability=MEMORY, points=[point(1, 500.0), point(2, 1000.0), point(4, 900.0)])
    unknown = curve(mode="strange", durability={})

    [(best, _)] = list_trades([slow, fast, unknown])
    weakest_modes = find_weakest_modes([slow, fast, unknown])

    assert [side.mode for side in best] == ["off", "always"]
    assert weakest_modes == {slow.sweep_id: fast}
    assert get_cost(slow, fast) == (pytest.approx(0.4), "")
    figure = CeilingsFigure([slow, fast, unknown])
    texts = [note["text"] for note in figure.draw(FRAMES[0])["layout"]["annotations"]]
    assert sum(f"0.40{TIMES} of off (n = 1)" in text for text in texts) == 1
    assert (
        f"{TIMES} of a mode" in dict(figure.remarks)["Factors"] and not dict(CeilingsFigure([slow]).remarks)["Factors"]
    )
    rows = [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows]
    shares = {row["mode"]: row["of the weakest durability (%)"] for row in rows}
    assert shares == {"always": pytest.approx(40.0), "off": None, "strange": None}


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
    measured = point(2, 900.0, throughput_ops_s=Spread(900.0, 800.0, 950.0, 3, (900.0, 800.0, 950.0)))
    [bar] = CeilingsFigure([curve(points=[measured])]).draw(FRAMES[0])["data"]
    assert bar["x"] == [pytest.approx((900 * 800 * 950) ** (1 / 3), rel=1e-3)]


def test_a_wide_interval_is_cut_and_its_end_is_stated():
    """Two repeats that differ threefold have an interval fifty times as wide as the bar."""
    measured = point(2, 900.0, throughput_ops_s=Spread(900.0, 500.0, 1600.0, 2, (500.0, 1600.0)))
    figure = CeilingsFigure([curve(points=[measured])])
    drawn = figure.draw(FRAMES[0])
    bar, arrow = drawn["data"]
    assert bar["error_x"]["width"] == 0
    assert arrow["marker"]["symbol"] == "triangle-right"
    assert arrow["x"] == [pytest.approx(2 * bar["x"][0], rel=1e-3)]
    svg = render_svg(drawn, height_px=400, title="")
    assert "<polygon" in svg and svg.count(f'stroke="{LIGHT.ink}" stroke-width="1.5"') == 1
    assert drawn["layout"]["xaxis"]["range"][1] < 5 * bar["x"][0]
    assert bar["error_x"]["array"][0] == pytest.approx(bar["x"][0], rel=1e-3)
    assert sum(", to " in note["text"] for note in drawn["layout"]["annotations"]) == 1
    intervals = [dict(each.remarks)["Intervals"] for each in (figure, CeilingsFigure([curve()]))]
    assert intervals == [INTERVAL_CUT, ""]


def test_own_bars_begin_on_the_axis_beside_published_numbers():
    measured = point(2, 900.0, throughput_ops_s=Spread(900.0, 500.0, 1600.0, 2, (500.0, 1600.0)))
    printed = list_throughputs(choose_overlays(("thumbtack-2013",)))
    drawn = CeilingsFigure([curve(points=[measured])], published=printed).draw(FRAMES[0])
    value = drawn["layout"]["xaxis"]
    bar = drawn["data"][0]
    assert value["type"] == "log" and 10 ** value["range"][0] < bar["x"][0]


def test_the_ideal_line_reaches_the_last_size_within_the_axis():
    figure = ScalabilityFigure([sized(1, 1000.0), sized(8, 2000.0)]).draw(FRAMES[0])
    ideal = next(trace for trace in figure["data"] if trace["name"].endswith("ideal"))
    assert (ideal["x"], ideal["y"]) == ([1, 8], [1000.0, 8000.0])
    assert figure["layout"]["yaxis"]["range"][1] > 8000.0
