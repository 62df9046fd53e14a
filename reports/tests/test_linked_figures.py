"""Figures carry the ids of their runs and sweeps only for readers who may open them."""

import json

import pytest

from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.tests.curves import curve


@pytest.mark.parametrize("make", [CeilingsFigure, lambda curves: LatencyFigure(curves, Choice(load_ops_s=2000.0))])
def test_ids_are_for_linked_figures_alone(make):
    curves = [curve(mode="off"), curve(mode="always")]
    figure = make(curves)
    linked = json.dumps(figure.answer(theme="light", narrow=False, linked=True)["figure"])
    assert all(str(side.sweep_id) in linked for side in curves)
    plain = json.dumps(figure.answer(theme="light", narrow=False)["figure"])
    assert not any(str(side.sweep_id) in plain for side in curves)
    assert "customdata" not in plain and '"meta"' not in plain


def test_points_carry_their_run_and_traces_their_sweep():
    side = curve()
    data = LatencyFigure([side], Choice()).answer(theme="light", narrow=False, linked=True)["figure"]["data"]
    line = next(trace for trace in data if "customdata" in trace)
    assert line["customdata"] == [str(point.run_ids[0]) for point in side.counted]
    assert {trace.get("meta") for trace in data if trace.get("legendgroup")} == {str(side.sweep_id)}
