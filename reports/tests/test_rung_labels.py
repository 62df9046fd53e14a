"""Names of rungs: none lies on another, and the ends of a curve keep theirs."""

from dataclasses import replace
from uuid import uuid4

from reports.compare.curves import LeftOut, Standing
from reports.compare.figures.labels import (
    AREA_WIDE,
    RUNG_CHARACTER_PX,
    RUNG_LINE_PX,
    Box,
    direct_labels,
    pixels,
    thin_rung_labels,
)
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice, drawn_curves
from reports.compare.figures.layout import Frame
from reports.compare.figures.theme import LIGHT, looks
from reports.tests.curves import curve, operation, point

LAYOUT = {"xaxis": {"range": [0, 100]}, "yaxis": {"range": [0, 100]}}


def rungs(x, y):
    return {
        "mode": "markers+text",
        "x": x,
        "y": y,
        "text": [str(value) for value in x],
        "marker": {"size": [8] * len(x)},
    }


def test_ends_of_a_curve_keep_their_names():
    trace = rungs([10, 11, 12, 13], [50, 50, 50, 50])
    thin_rung_labels([trace], [], LAYOUT, Frame(LIGHT))
    assert trace["text"] == ["10", "", "", "13"]


def test_names_with_room_stay():
    traces = [rungs([10, 50, 90], [10, 20, 30]), rungs([10, 50, 90], [60, 70, 80])]
    thin_rung_labels(traces, [], LAYOUT, Frame(LIGHT))
    assert [trace["text"] for trace in traces] == [["10", "50", "90"]] * 2


def test_two_curves_at_one_point_have_one_name():
    traces = [rungs([50, 90], [50, 90]), rungs([50, 20], [50, 20])]
    thin_rung_labels(traces, [], LAYOUT, Frame(LIGHT))
    assert [trace["text"][0] for trace in traces] == ["50", ""]


def test_names_of_curves_are_not_overprinted():
    trace = rungs([10, 50, 90], [50, 50, 50])
    thin_rung_labels([trace], [], LAYOUT, Frame(LIGHT), names_of_curves=[Box(200, 100, 300, 130)])
    assert trace["text"] == ["10", "", "90"]


# Threads, ops/s and READ p99 in ms of a small demo.
CLOSE = {
    "on": [(1, 1300, 1.6), (4, 5920, 4.1), (16, 5450, 8.8), (128, 2940, 138.5)],
    "off": [(1, 4520, 1.5), (4, 7900, 1.5), (16, 11840, 4.5), (128, 5830, 109.4)],
    "always": [(1, 2530, 0.7), (4, 3920, 9.4), (16, 8830, 8.9), (128, 22470, 19.9)],
}


def test_no_number_of_threads_lies_on_the_name_of_a_close_curve():
    curves = [
        curve("PostgreSQL", mode, [point(n, x, operations=(operation("READ", y * 500),)) for n, x, y in rows])
        for mode, rows in CLOSE.items()
    ]
    figure = LatencyFigure(curves, Choice()).draw(Frame(LIGHT))
    _, names = direct_labels(drawn_curves(curves, looks(curves, LIGHT), Choice()), figure["layout"], Frame(LIGHT), None)

    numbers = []
    for trace in figure["data"]:
        if trace["mode"] == "markers+text":
            numbers += list_numbers(trace, figure["layout"])
    assert len(names) == 3 and len(numbers) > 6
    assert not [number for number in numbers for name in names if name.overlaps(number)]


def test_names_of_few_curves_are_whole():
    modes = ("quorum-periodic", "one-periodic")
    curves = [curve("Cassandra, 3 nodes", mode, [point(2, 900.0), point(8, 2000.0)]) for mode in modes]
    figure = LatencyFigure(curves, Choice()).draw(Frame(LIGHT))
    texts = " ".join(note["text"] for note in figure["layout"]["annotations"])
    assert all(f"Cassandra, 3 nodes · {mode}" in texts for mode in modes)


def list_numbers(trace, layout):
    """The boxes of a curve's numbers of threads: their right lower corner is the mark's left upper one."""
    boxes = []
    for x, y, text, size in zip(trace["x"], trace["y"], trace["text"], trace["marker"]["size"], strict=True):
        right, bottom = (pixel - size / 2 for pixel in pixels(layout, AREA_WIDE, x, y))
        if text:
            boxes.append(Box(right - RUNG_CHARACTER_PX * len(text), bottom - RUNG_LINE_PX, right, bottom))
    return boxes


def test_numbers_do_not_lie_on_points_that_do_not_count():
    """A rejected repeat lies left of its rung's mean, where the rung's number is."""
    counted = [point(n, x, operations=(operation("READ", y * 500),)) for n, x, y in CLOSE["always"]]
    left_out = LeftOut(uuid4(), Standing.REJECTED, "V08", 21700.0, (operation("READ", 21.9 * 500),))
    data = {}
    for name, repeats in (("whole", ()), ("rejected", (left_out,))):
        side = curve(points=[*counted[:-1], replace(counted[-1], left_out=repeats)])
        figure = LatencyFigure([side], Choice(scale="linear")).draw(Frame(LIGHT))
        (data[name],) = [trace["text"] for trace in figure["data"] if trace["mode"] == "markers+text"]
    assert (data["whole"][-1], data["rejected"][-1]) == ("128", "")
