"""Latency over time as a heat map: how many of the operations of each moment took how long."""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from benchsite.core.formatting import duration, exact, latency_between
from reports.analysis.heat import Heat
from reports.figures.captions import KIND_SAYS
from reports.figures.figure import Figure, sentences
from reports.figures.layout import Frame, PlotlyFigure, Trace, axis, axis_name, base_layout, escaped, rounded
from reports.figures.run_series import Window, mark_window
from reports.figures.table import Columns, Table, tabulated
from reports.figures.theme import CIVIDIS

BAR = "share of the operations"
MAP_PX = 230
COLUMNS: Final[Columns] = {
    "operation": lambda heat, column, row: heat.operation,
    "latency": lambda heat, column, row: heat.kind,
    "from second": lambda heat, column, row: float(heat.begins_s[column]),
    "for (s)": lambda heat, column, row: heat.width_s,
    "from (µs)": lambda heat, column, row: float(heat.edges_us[row]),
    "below (µs)": lambda heat, column, row: float(heat.edges_us[row + 1]),
    "operations": lambda heat, column, row: int(heat.counts[row, column]),
}


class HeatFigure(Figure):
    """One map below the other, on one time axis; the darkest is the rarest, and what did not occur is blank."""

    def __init__(self, name: str, heats: Sequence[Heat], window: Window, *, kind: str = "service") -> None:
        self.name = name
        self.heats = heats
        self.window = window
        self.kind = kind

    def draw(self, frame: Frame) -> PlotlyFigure:
        layout = base_layout(frame)
        layout["xaxis"] = axis(
            frame,
            "time since the clients' common start (s)",
            showgrid=False,
            anchor=axis_name("y", len(self.heats)),
            range=[
                min((float(h.begins_s[0]) for h in self.heats), default=0.0),
                max(map(_end_s, self.heats), default=1.0),
            ],
        )
        low = min((math.log10(float(np.nanmin(heat.shares))) for heat in self.heats), default=-3.0)
        data: list[Trace] = []
        for number, heat in enumerate(self.heats, 1):
            title = f"{heat.operation}{', response' if heat.kind == 'response' else ''} (ms)"
            of = len(self.heats)
            each = 1 / max(of, 1)
            layout[axis_name("yaxis", number)] = axis(
                frame,
                escaped(title),
                type="log",
                tickformat="~g",
                dtick=1 if heat.edges_us[-1] > 500 * heat.edges_us[0] else "D2",
                domain=[round(1 - number * each + (0.06 if number < of else 0), 4), round(1 - (number - 1) * each, 4)],
            )
            data.append(_map(heat, axis_name("y", number), low, frame, bar=number == 1))
        if self.heats:
            mark_window(layout, float(self.heats[0].begins_s[0]), _end_s(self.heats[0]), self.window, frame)
            # Over the map, not below it, where its cells would hide it; its name stands above.
            for shape in layout.get("shapes", []):
                shape["layer"] = "above"
            for note in layout["annotations"]:
                note.update(y=1, yanchor="bottom")
            layout["margin"]["t"] += 10
        return {"data": data, "layout": layout}

    @property
    def caption(self) -> str:
        width_s = max((heat.width_s for heat in self.heats), default=1.0)
        every = "second" if width_s == 1 else duration(width_s)
        return sentences(
            f"Share of the operations of every {every} by their {KIND_SAYS[self.kind]}, all clients merged; "
            "blank where none took so long, and what is shaded does not count",
            "Each column is the sum of its interval histograms",
        )

    @property
    def table(self) -> Table:
        """A row per cell in which something happened."""
        return tabulated(
            COLUMNS,
            (
                (heat, column, row)
                for heat in self.heats
                for column in range(heat.counts.shape[1])
                for row in range(heat.counts.shape[0])
                if heat.counts[row, column]
            ),
        )

    @property
    def empty(self) -> str:
        if self.heats:
            return ""
        return "The interval histograms of this run are not stored: only its percentiles are known."

    @property
    def height_px(self) -> int:
        return MAP_PX * len(self.heats) + 60 if len(self.heats) > 1 else 0


def _end_s(heat: Heat) -> float:
    return float(heat.begins_s[-1]) + heat.width_s


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
