"""One operation of several sweeps over time, each in the run at its ceiling, from the begin of its window."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from reports.compare.figures.layout import Frame
from reports.compare.figures.run_series import OverTime
from reports.compare.figures.sweeps_over_time import SweepsOverTimeFigure
from reports.compare.figures.theme import DARK, LIGHT
from reports.tests.curves import curve

HOSTILE = '<b onclick="x">A & B</b>'


def series(*rates, interval_s=1):
    values = np.array(rates, dtype=float)
    seconds = np.arange(len(rates), dtype=float) * interval_s
    return OverTime("READ", "service", seconds, values, np.zeros(len(rates)), values, 2 * values, interval_s)


def make_figure(*curves, **stored):
    return SweepsOverTimeFigure(curves, {c.sweep_id: stored.get(c.mode, series(1.0)) for c in curves}, operation="READ")


def test_each_sweep_has_a_line_in_both_panels():
    figure = make_figure(curve("A", "always"), curve("B", "off"), always=series(10.0, 20.0), off=series(5.0))

    drawn = figure.draw(Frame(LIGHT))["data"]

    assert [trace["yaxis"] for trace in drawn] == ["y", "y2", "y", "y2"]
    assert drawn[0]["y"] == [10.0, 20.0] and drawn[1]["y"] == [0.02, 0.04]
    assert [trace["showlegend"] for trace in drawn] == [True, False, True, False]


def test_table_has_a_row_for_each_interval():
    table = make_figure(curve(mode="always"), always=series(10.0, float("nan"), interval_s=10)).table

    assert [row[3:] for row in table.rows] == [(0.0, "READ", 10.0, 20.0), (10.0, "READ", None, None)]


@pytest.mark.parametrize("frame", [Frame(LIGHT), Frame(DARK, narrow=True)])
def test_hostile_names_and_many_sweeps_make_valid_figures(frame):
    figure = make_figure(curve(HOSTILE, HOSTILE), *(curve(f"Database {number}") for number in range(9)))

    text = json.dumps(figure.draw(frame), allow_nan=False)

    go.Figure(json.loads(text))
    assert "<b onclick" not in text


def test_sweeps_without_series_are_said():
    figure = SweepsOverTimeFigure([curve()], {}, operation="SCAN")

    assert figure.empty == "No series of SCAN is stored of these sweeps."
