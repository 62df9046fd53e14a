"""Names of rungs: none lies on another, and the ends of a curve keep theirs."""

from reports.compare.figures.labels import thin_rung_labels
from reports.compare.figures.layout import Frame
from reports.compare.figures.theme import LIGHT

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
