"""One run over time: throughput and latency per second, the warm-up shaded, the target as a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from benchsite.core import formatting
from benchsite.core.table import Cell, Table
from reports.compare.curves import COMPOSITE
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import Figure
from reports.compare.figures.layout import (
    Array,
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    coordinates,
    escaped,
    scatter,
    shortened,
    straight,
    time_line,
    upright_band,
)
from reports.compare.messages import (
    CLIENTS_MERGED_PER,
    FAULT_BANDS,
    MEASURED_SECONDS,
    NO_SECOND_STORED,
    OFFERED_AND_DROPPED,
    P99_BY_ITSELF,
    SECONDS_BAND,
)

MAX_EVENTS = 3  # that the caption tells
MAX_STEPS = 120  # of a line of rates; one of more values is straight from point to point


@dataclass(frozen=True, slots=True, eq=False)
class OverTime:
    """One operation per interval. Seconds count from the clients' common start, and are those at which each begins."""

    operation: str
    kind: str
    seconds: Array
    rate_ops_s: Array  # successful operations
    failed: Array  # failed operations of the interval
    mean_us: Array
    p99_us: Array
    interval_s: int = 1


# Seconds since the clients' common start, and two arrays by them, in operations per second.
Arrays = tuple[Array, Array, Array]
# Name, seconds of the axis, and successful operations per second of a client group.
GroupCurve = tuple[str, Array, Array]
# Number, begin and end in seconds from the clients' common start, and name of a planned fault.
FaultBand = tuple[int, float, float, str]


@dataclass(frozen=True, slots=True)
class Window:
    """Which part was measured, in seconds from the clients' common start; both 0 while nothing is judged."""

    begin_s: float = 0.0
    end_s: float = 0.0
    target_ops_s: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the run while it was measured."""

    second: float  # from the clients' common start
    text: str


def total_rate(series: Sequence[OverTime]) -> tuple[Array, Array]:
    """Seconds and successful operations per second of all operations; a second that no client covers is NaN.

    Service and response times are of the same operations: only one kind counts. A read-modify-write counts once: its
    READ and its UPDATE are measured as well.
    """
    kind = "response"
    if any(stored.kind == "service" for stored in series):
        kind = "service"
    parts = [stored for stored in series if stored.kind == kind and stored.seconds.size]
    if not parts:
        return np.array([]), np.array([])

    interval_s = parts[0].interval_s
    first = min(float(part.seconds[0]) for part in parts)
    last = max(float(part.seconds[-1]) for part in parts)
    seconds = np.arange(round(first), round(last) + 1, interval_s, dtype=float)
    rate = np.full(seconds.size, np.nan)
    for part in parts:
        at = np.rint((part.seconds - seconds[0]) / interval_s).astype(int)
        sign = -1.0 if part.operation == COMPOSITE else 1.0
        rate[at] = np.nan_to_num(rate[at]) + sign * np.nan_to_num(part.rate_ops_s)

    return seconds, rate


def compute_band(finest: Sequence[OverTime], interval_s: int) -> Arrays | None:
    """The least and the greatest second of each longer interval, all operations together."""
    seconds, rate = total_rate(finest)
    if not seconds.size:
        return None
    begins, first = np.unique(seconds // interval_s * interval_s, return_index=True)
    # fmin and fmax pass over NaN while there is a number.
    return (begins, np.fmin.reduceat(rate, first), np.fmax.reduceat(rate, first))


class RunSeriesFigure(Figure):
    """Two panels on one time axis: throughput above, p99 of each interval below (never its mean)."""

    def __init__(
        self,
        name: str,
        series: Sequence[OverTime],
        window: Window,
        *,
        band: Arrays | None = None,
        events: Sequence[Event] = (),
        faults: Sequence[FaultBand] = (),
        offered: Arrays | None = None,
        groups: Sequence[GroupCurve] = (),
    ) -> None:
        self.offered = offered
        self.groups = groups
        self.name = name
        self.series = series
        self.window = window
        self.band = band
        self.events = events
        self.faults = faults
        self.interval_s = max((stored.interval_s for stored in series), default=1)
        self.every = "second"
        if self.interval_s != 1:
            self.every = f"{self.interval_s} s"

    def draw(self, frame: Frame) -> PlotlyFigure:
        layout = base_layout(frame)
        layout["showlegend"] = True
        layout["hovermode"] = "x"
        layout["xaxis"] = axis(frame, "time since the clients' common start (s)", anchor="y2", showgrid=False)
        layout["yaxis"] = axis(frame, "ops/s", domain=[0.56, 1.0], rangemode="tozero", tickformat="~s")
        layout["yaxis2"] = axis(
            frame, f"p99 per {self.every} (ms)", domain=[0.0, 0.46], rangemode="tozero", tickformat="~g"
        )
        seconds, rate = total_rate(self.series)
        middle = (self.interval_s - 1) / 2
        data = []
        if self.band is not None:
            data = _band(self.band, middle, frame)
        if seconds.size:
            ink = _rate_line(rate, frame.theme.ink, width=2)
            data.append(time_line(seconds + middle, rate, "all operations", formatting.throughput, ink))
        data += _latencies(self.series, frame)
        if seconds.size:
            mark_window(layout, float(seconds[0]), float(seconds[-1]) + 1.0, self.window, frame)
            mark_faults(layout, self.faults, frame)

        if self.offered is not None:
            data += _arrivals(self.offered, frame)
        elif self.window.target_ops_s and seconds.size:
            data.append(_target(seconds, self.window.target_ops_s, frame))

        data += _groups(self.groups, frame)
        if seconds.size:
            data += _events(self.events, layout, frame)
        return {"data": data, "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        begin, end = (formatting.grouped(second) for second in (self.window.begin_s, self.window.end_s))
        faults = ", ".join(f"{number} {name}" for number, _, _, name in self.faults)
        happened = "; ".join(f"second {formatting.grouped(e.second)}: {e.text}" for e in self.events[:MAX_EVENTS])

        return [
            ("Intervals", CLIENTS_MERGED_PER.format(every=self.every)),
            ("Window", MEASURED_SECONDS.format(begin=begin, end=end) if self.window.end_s else ""),
            ("Events", f"Happened meanwhile: {happened}" if happened else ""),
            ("Faults", FAULT_BANDS.format(faults=faults) if faults else ""),
            ("Groups", f"Beside the ladder: {', '.join(name for name, *_ in self.groups)}" if self.groups else ""),
            ("Band", SECONDS_BAND if self.band is not None else ""),
            ("Offered", OFFERED_AND_DROPPED if self.offered is not None else ""),
            ("p99", P99_BY_ITSELF.format(every=self.every)),
        ]

    @property
    def table(self) -> Table:
        """A row per interval, at the second at which it begins: all operations together, then mean and p99 of each."""
        seconds, rate = total_rate(self.series)
        columns = ["second", "all operations (ops/s)"]
        values: list[dict[float, Cell]] = [dict(zip(seconds.tolist(), _cells(rate), strict=True))]
        beside: list[GroupCurve] = []
        if self.offered is not None:
            at, offered, dropped = self.offered
            beside = [("offered", at, offered), ("started", at, offered - dropped), ("dropped", at, dropped)]

        for name, at, array in (*beside, *self.groups):
            columns.append(f"{name} (ops/s)")
            values.append(dict(zip(at.tolist(), _cells(array), strict=True)))

        for stored in self.series:
            for statistic, array in (("mean", stored.mean_us), ("p99", stored.p99_us)):
                columns.append(f"{stored.operation} {stored.kind} {statistic} (µs)")
                values.append(dict(zip(stored.seconds.tolist(), _cells(array), strict=True)))

        return Table(tuple(columns), tuple((second, *(by.get(second) for by in values)) for second in seconds.tolist()))

    @property
    def empty(self) -> str:
        if any(stored.seconds.size for stored in self.series):
            return ""
        return NO_SECOND_STORED


def _cells(array: Any) -> list[Cell]:
    return [value if value == value else None for value in array.tolist()]  # NaN differs from itself


def _rate_line(values: Array, colour: str, **style: Any) -> dict[str, Any]:
    """In steps as long as there are few."""
    return {"color": colour, "shape": "hv" if values.size <= MAX_STEPS else "linear", **style}


def _band(band: Arrays, middle: float, frame: Frame) -> list[Trace]:
    """Between the least and the greatest second of each interval."""
    seconds, low_ops_s, high_ops_s = band
    x = coordinates(seconds + middle)
    edge: dict[str, Any] = {"mode": "lines", "line": {"color": frame.theme.muted, "width": 0}, "connectgaps": False}
    filled: dict[str, Any] = {"fill": "tonexty", "fillcolor": frame.theme.muted, "opacity": 0.35}
    return [
        scatter(x, coordinates(low_ops_s), "least second", showlegend=False, **edge),
        scatter(x, coordinates(high_ops_s), "least to greatest second", **edge, **filled),
    ]


def _latencies(series: Sequence[OverTime], frame: Frame) -> list[Trace]:
    """p99 of each operation; response times dashed beside service times."""
    operations = sorted({stored.operation for stored in series})
    colours = dict(zip(operations, cycle(frame.theme.series), strict=False))
    traces = []
    for stored in series:
        label, dash = stored.operation, "solid"
        if stored.kind != "service":
            label, dash = f"{label}, response time", "dash"
        traces.append(
            time_line(
                stored.seconds + (stored.interval_s - 1) / 2,
                stored.p99_us,
                escaped(f"{label} p99"),
                formatting.latency,
                {"color": colours[stored.operation], "dash": dash},
                divisor=1e3,
                yaxis="y2",
            )
        )

    return traces


def _arrivals(arrivals: Arrays, frame: Frame) -> list[Trace]:
    """Offered, started and dropped operations, each by when it was due."""
    seconds, offered_ops_s, dropped_ops_s = arrivals
    lines = (
        ("offered", offered_ops_s, frame.theme.muted, "dash"),
        ("started", offered_ops_s - dropped_ops_s, frame.theme.series[2], "dashdot"),
        ("dropped", dropped_ops_s, frame.theme.series[1], "dot"),
    )
    return [
        time_line(seconds, values, name, formatting.throughput, _rate_line(values, colour, width=1.5, dash=dash))
        for name, values, colour, dash in lines
    ]


def _groups(groups: Sequence[GroupCurve], frame: Frame) -> list[Trace]:
    """The throughput of each client group beside that of the ladder."""
    colours = frame.theme.series
    return [
        time_line(
            seconds,
            rate_ops_s,
            escaped(name),
            formatting.throughput,
            {"color": colours[number % len(colours)], "width": 1.5, "dash": "dashdot"},
        )
        for number, (name, seconds, rate_ops_s) in enumerate(groups, 2)
    ]


def _target(seconds: Array, target_ops_s: int, frame: Frame) -> Trace:
    text = formatting.throughput(target_ops_s)
    line = {"color": frame.theme.muted, "width": 1.5, "dash": "dash"}
    return time_line(seconds[[0, -1]], np.full(2, float(target_ops_s)), "target", lambda _: text, line)


def _events(events: Sequence[Event], layout: Layout, frame: Frame) -> list[Trace]:
    """A thin line through both panels for each event, and a mark at its foot that says what happened."""
    if not events:
        return []

    layout.setdefault("shapes", []).extend(straight(frame.theme.muted, "dot", x=event.second) for event in events)
    return [
        scatter(
            [event.second for event in events],
            [0.0] * len(events),
            "what happened",
            hover=[shortened(event.text, 160) for event in events],
            marker={"color": frame.theme.ink, "symbol": "triangle-up", "size": 9},
            cliponaxis=False,
        )
    ]


def mark_window(layout: Layout, first_s: float, last_s: float, window: Window, frame: Frame) -> None:
    """Shade what does not count: the warm-up, and what came after the window."""
    if window.end_s <= window.begin_s:
        return
    shaded = [(min(0.0, first_s), window.begin_s), (window.end_s, last_s)]
    layout["shapes"] = [upright_band(begin, end, frame.theme.shade) for begin, end in shaded if end > begin]
    if window.begin_s > 0:
        layout["annotations"].append(_between_panels("warm-up", window.begin_s / 2, frame))


def mark_faults(layout: Layout, faults: Sequence[FaultBand], frame: Frame) -> None:
    """A band through both panels for each planned fault, with its number."""
    for number, begin_s, end_s, _ in faults:
        layout.setdefault("shapes", []).append(upright_band(begin_s, end_s, frame.theme.fault))
        layout["annotations"].append(_between_panels(str(number), (begin_s + end_s) / 2, frame))


def _between_panels(text: str, x: float, frame: Frame) -> dict[str, Any]:
    return annotation(text, frame.theme.muted, x=x, y=0.51, yref="paper", xanchor="center", yanchor="middle")
