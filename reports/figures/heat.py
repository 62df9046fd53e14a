"""Latency over time as a heat map: how many of the operations of each moment took how long."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from benchsite.formatting import exact, latency_between
from reports.analysis.heat import Heat
from reports.figures.layout import Figure, Frame, Trace, axis, base_layout, escaped, rounded
from reports.figures.run_series import Window, mark_window
from reports.figures.theme import CIVIDIS

BAR = "share of the operations"


def heat_figure(heats: Sequence[Heat], window: Window, frame: Frame) -> Figure:
    """One map below the other, on one time axis; the darkest is the rarest, and what did not occur is blank."""
    layout = base_layout(frame)
    layout["xaxis"] = axis(
        frame,
        "time since the clients' common start (s)",
        showgrid=False,
        anchor=_axis_name("y", len(heats)),
        range=[min((float(h.begins_s[0]) for h in heats), default=0.0), max(map(_end_s, heats), default=1.0)],
    )
    low = min((math.log10(float(np.nanmin(heat.shares))) for heat in heats), default=-3.0)
    data: list[Trace] = []
    for number, heat in enumerate(heats, 1):
        title = f"{heat.operation}{', response' if heat.kind == 'response' else ''} (ms)"
        layout[_axis_name("yaxis", number)] = axis(
            frame, escaped(title), type="log", tickformat="~g", dtick=_step(heat), domain=_domain(number, len(heats))
        )
        data.append(_map(heat, _axis_name("y", number), low, frame, bar=number == 1))
    layout["showlegend"] = False
    if heats:
        mark_window(layout, float(heats[0].begins_s[0]), _end_s(heats[0]), window, frame)
        # Over the map, not below it, where its cells would hide it; its name stands above.
        for shape in layout.get("shapes", []):
            shape["layer"] = "above"
        for note in layout["annotations"]:
            note.update(y=1, yanchor="bottom")
        layout["margin"]["t"] += 10
    return {"data": data, "layout": layout}


def _end_s(heat: Heat) -> float:
    return float(heat.begins_s[-1]) + heat.width_s


def _axis_name(stem: str, number: int) -> str:
    return stem if number <= 1 else f"{stem}{number}"


def _domain(number: int, of: int) -> list[float]:
    each = 1 / max(of, 1)
    return [round(1 - number * each + (0.06 if number < of else 0), 4), round(1 - (number - 1) * each, 4)]


def _step(heat: Heat) -> str | int:
    return 1 if heat.edges_us[-1] > 500 * heat.edges_us[0] else "D2"


def _map(heat: Heat, yaxis: str, low: float, frame: Frame, *, bar: bool) -> Trace:
    shares = heat.shares
    with np.errstate(invalid="ignore"):
        z = np.log10(shares)
    ticks = range(math.floor(low), 1)
    return {
        "type": "heatmap",
        "x": [rounded(float(x)) for x in [*heat.begins_s, heat.begins_s[-1] + heat.width_s]],
        "y": [rounded(float(edge) / 1e3) for edge in heat.edges_us],
        "z": [[None if not np.isfinite(v) else round(float(v), 2) for v in row] for row in z],
        "customdata": [[int(count) for count in row] for row in heat.counts],
        "text": [[latency_between(*ends)] * heat.counts.shape[1] for ends in itertools.pairwise(heat.edges_us)],
        "yaxis": yaxis,
        "name": escaped(f"{heat.operation} {heat.kind}"),
        "colorscale": CIVIDIS,
        "zmin": rounded(low),
        "zmax": 0,
        "showscale": bar,
        "hoverongaps": False,
        "hovertemplate": "second %{x}, %{text}: %{customdata:,} operations<extra></extra>",
        "colorbar": {
            "title": {"text": "" if frame.narrow else BAR, "side": "right", "font": {"color": frame.theme.muted}},
            "tickvals": list(ticks),
            "ticktext": [f"{exact(10.0 ** (tick + 2))} %" for tick in ticks],
            "tickfont": {"color": frame.theme.muted},
            "outlinewidth": 0,
            "thickness": 10,
        },
    }
