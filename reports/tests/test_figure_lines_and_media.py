"""Lines of load and limit, the second operation, published results, downloads, and the table's formats."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from benchsite.core.table import Table
from reports.compare.analysis.points import Spread
from reports.compare.curves import LeftOut, Standing
from reports.compare.figures.ceilings import CeilingsFigure, best_sentence, build_bars, rank_curves
from reports.compare.figures.export_size import scaled
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.layout import Frame, coordinate
from reports.compare.figures.overlay import NAMED, Published
from reports.compare.figures.theme import DARK, LIGHT, PAPER, looks
from reports.tests.curves import DISK, MEMORY, curve, operation, point

FRAME = Frame(LIGHT)
HOSTILE = '<b onclick="x">A & B</b>'
PRINTED = Published("Couchbase", "Thumbtack", 2014, 5000.0, 2000.0, "by eye", ">", "contradicts its score")


def crossings(figure):
    return [trace for trace in figure["data"] if "on the line" in trace["name"]]


def test_a_load_is_a_line_on_which_every_curve_is_marked():
    figure = LatencyFigure([curve(), curve("Slow", points=[point(2, 100.0)])], Choice(load_ops_s=2500.0)).draw(FRAME)
    (cross,) = crossings(figure)
    assert cross["x"] == [2500.0]
    assert "interpolated between 4 threads and 8 threads" in cross["text"][0]
    assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [2500.0]


def test_limit_line_marks_crossing_unless_ceiling_is_below_it():
    figure = LatencyFigure([curve()], Choice(limit_us=8000.0)).draw(FRAME)
    (cross,) = crossings(figure)
    assert cross["y"] == [8.0] and "up to" in cross["text"][0]
    assert not crossings(LatencyFigure([curve()], Choice(limit_us=100_000.0)).draw(FRAME))


@pytest.mark.parametrize("scale", ["linear", "log", "loglog"])
def test_the_marks_lie_on_the_drawn_curve(scale):
    """8 threads did less than 4: the curve goes through that rung, and so does what is read off it."""
    dip = curve(points=[point(2, 1000.0), point(4, 1900.0), point(8, 1800.0), point(16, 3900.0)])
    figure = LatencyFigure([dip], Choice(scale=scale, load_ops_s=2500.0, limit_us=9000.0)).draw(FRAME)
    line = next(trace for trace in figure["data"] if trace["mode"] == "lines+markers")
    drawn = next(trace for trace in figure["data"] if trace["name"].endswith(", curve"))
    xs, ys = ([coordinate(figure["layout"][axis], v) for v in drawn[axis[0]]] for axis in ("xaxis", "yaxis"))
    bottom = ys.index(coordinate(figure["layout"]["yaxis"], line["y"][2]))
    for cross in crossings(figure):
        x, y = (coordinate(figure["layout"][axis], cross[axis[0]][0]) for axis in ("xaxis", "yaxis"))
        assert line["x"][2] < cross["x"][0] < line["x"][3]
        assert np.interp(x, xs[bottom:], ys[bottom:]) == pytest.approx(y, rel=0.02)
    (near,) = crossings(LatencyFigure([dip], Choice(scale=scale, load_ops_s=1895.0)).draw(FRAME))
    assert (near["x"], near["y"]) == ([1900.0], [line["y"][1]])


def test_a_load_far_beyond_everything_is_said_and_not_drawn():
    choice = Choice(load_ops_s=1e9)
    figure = LatencyFigure([curve()], choice).draw(FRAME)
    assert not figure["layout"]["shapes"] and figure["layout"]["xaxis"]["range"][1] < 10_000
    assert "lies far beyond every curve" in LatencyFigure([curve()], choice).caption


def test_second_operation_is_dotted_and_mode_sets_the_marker():
    curves = [curve(mode="always", durability=DISK), curve(mode="off", durability=MEMORY)]
    figure = LatencyFigure(curves, Choice(second="UPDATE")).draw(FRAME)
    lines = [trace for trace in figure["data"] if trace["mode"] == "lines+markers" and trace["x"] != [None]]
    assert [line["line"]["dash"] for line in lines] == ["solid", "dot", "solid", "dot"]
    assert len({line["marker"]["symbol"] for line in lines}) == 2
    assert figure["layout"]["yaxis"]["title"]["text"] == "READ and UPDATE p99, service time (ms)"
    assert {row[7] for row in LatencyFigure(curves, Choice(second="UPDATE")).table.rows} == {"READ", "UPDATE"}


def test_a_repeat_that_is_left_out_is_hollow_with_its_reason():
    out = LeftOut(point(2, 1.0).run_ids[0], Standing.EXCLUDED, HOSTILE, 950.0, (operation("READ", 2000.0),))
    figure = LatencyFigure([curve(points=[point(2, 1000.0, left_out=(out,)), point(4, 1900.0)])], Choice()).draw(FRAME)
    (hollow,) = [trace for trace in figure["data"] if trace["name"].endswith("always, not counted")]
    assert hollow["x"] == [950.0] and "left out by a person" in hollow["text"][0]
    assert "<b onclick" not in json.dumps(figure) and "&lt;b onclick" in hollow["text"][0]


def test_published_results_are_grey_hollow_and_named():
    hostile = Published(HOSTILE, HOSTILE, 2014, 5000.0, 2000.0, HOSTILE, "<", HOSTILE)
    bars = CeilingsFigure([curve()], published=[PRINTED, hostile]).draw(FRAME)
    assert bars["data"][-1]["marker"]["color"] == "rgba(0,0,0,0)" and bars["data"][-1]["name"] == NAMED
    texts = " ".join(note["text"] for note in bars["layout"]["annotations"])
    assert "&gt; 5.00k" in texts and "disputed" in texts
    points = LatencyFigure([curve()], Choice(), [PRINTED, hostile]).draw(FRAME)["data"][0]
    assert points["marker"]["symbol"].endswith("-open") and points["marker"]["color"] == LIGHT.grey
    assert "contradicts its score" in points["text"][0] and NAMED in points["text"][0]
    assert "<b onclick" not in json.dumps([bars, points])


def test_what_was_printed_without_latency_has_no_place_over_it():
    bare = Published("bare", "study", 2014, 5000.0, None)
    assert len(CeilingsFigure([curve()], published=[bare]).draw(FRAME)["data"]) == 2
    assert all(trace["name"] != NAMED for trace in LatencyFigure([curve()], Choice(), [bare]).draw(FRAME)["data"])


def repeated(threads, ops_s, n=3, spread=0.01):
    values = (ops_s, *(ops_s * (1 + spread * (-1) ** i) for i in range(n - 1)))
    return point(threads, ops_s, throughput_ops_s=Spread(ops_s, min(values), max(values), n, values))


def test_marks_sides_indistinguishable_from_best_of_class():
    bent = [repeated(1, 500.0), repeated(2, 1000.0), repeated(4, 800.0)]
    curves = [
        curve("A", "off", durability=MEMORY, durability_class="memory", points=[repeated(2, 9000.0)]),
        curve("A", "always", durability=DISK, durability_class="disk", points=[repeated(2, 3000.0)]),
        curve("B", "on", durability=DISK, durability_class="disk", points=bent),
    ]
    bars = {bar.detail: bar for bar in build_bars(curves, LIGHT)}
    assert bars["always"].note == "among the best of its class, short ladder"
    assert bars["on"].note == "≥ 9.0\N{MULTIPLICATION SIGN} lower"  # The highest may lie higher.
    assert "among the best of those whose writes wait for: disk" in bars["always"].hover


def test_a_single_run_claims_no_order():
    sides = [
        curve(name, points=[point(1, 0.6 * ops_s), point(2, ops_s), point(4, 0.7 * ops_s)])
        for name, ops_s in (("A", 5000.0), ("B", 1000.0))
    ]
    assert [bar.note for bar in build_bars(sides, LIGHT)] == ["", "\N{DIVISION SIGN}5.0 (n = 1)"]
    assert best_sentence(sides).startswith("Single runs do not show which side is best")


@pytest.mark.parametrize(
    ("noise", "lower_ops_s", "notes", "sentence"),
    [
        (0.2, 1000.0, ["undecided: 66 repeats may decide"] * 2, "Undecided: the repeats neither tell sides apart nor"),
        (0.01, 1095.0, ["among the best"] * 2, "Among the best: not distinguishable from the best"),
        (
            0.005, 1000.0, ["best", "1.10\N{MULTIPLICATION SIGN} lower"],
            "Among the best: not distinguishable from the best",
        ),
    ],
    ids=["undecided", "alike", "told apart"],
)  # fmt: skip
def test_best_is_named_beyond_the_noise_of_the_repeats(noise, lower_ops_s, notes, sentence):
    top = [point(1, 500.0, throughput_ops_s=repeated(1, 500.0).throughput_ops_s)]
    sides = [
        curve(name, points=[*top, repeated(2, ops_s, spread=noise), repeated(4, ops_s * 0.8)])
        for name, ops_s in (("A", 1100.0), ("B", lower_ops_s))
    ]
    assert [bar.note for bar in build_bars(sides, LIGHT)] == notes
    assert best_sentence(sides).startswith(sentence)


def test_wide_side_is_undecided_beside_those_shown_alike():
    """Two repeats that differ by half say nothing: neither that it is as good nor that it is worse."""
    sides = [
        curve(
            name,
            points=[repeated(threads, share * ops_s, n, spread) for threads, share in ((1, 0.5), (2, 1), (4, 0.7))],
        )
        for name, ops_s, n, spread in (("A", 1000.0, 5, 0.004), ("B", 800.0, 2, 0.5), ("C", 400.0, 5, 0.004))
    ]
    notes = {bar.name: bar.note for bar in build_bars(sides, LIGHT)}
    assert notes["B"].startswith("undecided: ") and notes["C"] == "2.5\N{MULTIPLICATION SIGN} lower"
    table = CeilingsFigure(sides).table
    words = {row[0]: row[table.columns.index("not distinguishable from the best")] for row in table.rows}
    assert words["B"] == "undecided" and words["C"] == "no"


def test_short_ladder_is_never_excluded_by_its_value():
    """Its ceiling lies higher, so the factor is a limit and the other side is neither best nor among the best."""
    short = curve("A", points=[repeated(2, 500.0), repeated(4, 900.0)])
    long = curve("B", points=[repeated(2, 1000.0), repeated(4, 1500.0), repeated(8, 1000.0)])
    notes = [bar.note for bar in build_bars([short, long], LIGHT)]
    assert notes == ["undecided: another ladder is too short", "≤ 1.7\N{MULTIPLICATION SIGN} lower, short ladder"]
    ranks = rank_curves([short, long])
    assert (ranks[short.sweep_id].is_member, ranks[long.sweep_id].is_member) == (None, True)


def test_narrow_names_of_rungs_stay_off_line_and_axis():
    rungs = [point(threads, ops_s, target_ops_s=ops_s) for threads, ops_s in ((1, 50.0), (16, 800.0), (32, 1100.0))]

    def names(load_ops_s):
        figure = LatencyFigure([curve(points=rungs)], Choice(load_ops_s=load_ops_s)).draw(Frame(LIGHT, narrow=True))
        return next(trace["text"] for trace in figure["data"] if trace["mode"] == "markers+text")

    assert names(None) == ["", "800", "1.10k"]
    assert names(740.0) == ["", "", "1.10k"]


def test_towering_published_bars_make_the_axis_logarithmic():
    printed = [Published("Theirs", "study", 2013, 500_000.0, None)]
    figure = CeilingsFigure([curve(points=[point(2, 1000.0)])], published=printed).draw(FRAME)
    axis = figure["layout"]["xaxis"]
    assert axis["type"] == "log" and axis["title"]["text"] == "throughput ceiling in ops/s (logarithmic)"
    assert axis["range"][0] == 2 and axis["range"][1] > 5.69
    assert max(note["x"] for note in figure["layout"]["annotations"]) < 6
    near = CeilingsFigure([curve(points=[point(2, 200_000.0)])], published=printed).draw(FRAME)
    assert near["layout"]["xaxis"].get("type") != "log"


def test_a_slide_has_larger_type_and_a_bar_keeps_its_width():
    screen = CeilingsFigure([curve()]).draw(FRAME)
    slide = scaled(screen, "slide")
    assert slide["layout"]["font"]["size"] == 16 and slide["data"][0]["width"] == screen["data"][0]["width"]
    assert slide["layout"]["yaxis"]["range"] == screen["layout"]["yaxis"]["range"]
    narrow = LatencyFigure([curve()], Choice()).draw(Frame(PAPER, narrow=True))
    paper = scaled(narrow, "paper")
    assert paper["layout"]["font"]["size"] == 10.67  # 8 pt
    line, printed = (next(t for t in f["data"] if t["mode"] == "lines+markers") for f in (narrow, paper))
    assert printed["x"] == line["x"] and printed["marker"]["size"] < line["marker"]["size"]
    for figure in (slide, paper):
        go.Figure(json.loads(json.dumps(figure, allow_nan=False)))


def test_paper_marker_is_the_database_and_dash_the_mode():
    curves = [curve(name, mode, durability=record) for name in "AB" for mode, record in (("off", MEMORY), ("on", DISK))]
    found = {(c.database_name, c.mode): looks(curves, PAPER)[c.sweep_id] for c in curves}
    assert found["A", "on"].symbol == found["A", "off"].symbol != found["B", "on"].symbol
    assert found["A", "on"].dash == found["B", "on"].dash != found["A", "off"].dash
    assert looks(curves, DARK)[curves[0].sweep_id].symbol == looks(curves, DARK)[curves[2].sweep_id].symbol


TABLE = Table(
    ("name", "p99 (µs)", "n"),
    (("=1+1|a_b\\c\n<i> #&%${}~^", 1234567.891, 3), ("plain", 0.1 + 0.2, None), ("nan", float("nan"), 2)),
)


def test_a_table_is_markdown_that_says_only_what_stands_there():
    lines = TABLE.as_markdown().splitlines()
    assert lines[1] == "| --- | ---: | ---: |" and len(lines) == 5
    assert lines[2].startswith(r"| =1+1\|a\_b\\c \<i\> \#&amp;%$\{\}\~^ | 1234568 |")
    assert lines[3] == "| plain | 0.3 |  |" and lines[4] == "| nan |  | 2 |"


def test_a_table_is_latex_without_a_command_of_somebody_elses():
    text = TABLE.as_latex()
    assert r"=1+1\textbar{}a\_b\textbackslash{}c \textless{}i\textgreater{} " in text
    assert r"\#\&\%\$\{\}\textasciitilde{}\textasciicircum{}" in text
    assert text.startswith("\\begin{tabular}{lrr}\n\\hline\nname & p99 (\\textmu{}s) & n \\\\\n")
    assert text.count("\\\\\n") == 4


def test_csv_escapes_formulas_and_json_has_no_nan():
    """Numbers keep all their digits."""
    assert "'=1+1" in TABLE.as_csv() and "0.30000000000000004" in TABLE.as_csv()
    json.dumps(TABLE.as_dict(), allow_nan=False)


def test_axis_of_rejected_points_has_the_scale_of_their_bar():
    rejected = CeilingsFigure([curve(points=[point(2, 1000.0, standing=Standing.REJECTED)])]).draw(FRAME)["layout"]
    assert "showticklabels" not in rejected["xaxis"]
    assert rejected["xaxis"]["range"][1] > 1000
