"""Latency by percentile: the axis stretches towards the tail, as HdrHistogram's plots do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchsite import formatting
from reports.figures.layout import Figure, Frame, Trace, axis, base_layout, escaped, rounded

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


@dataclass(frozen=True, slots=True)
class Distribution:
    """The latencies of one operation: (share of operations that were at most so slow, latency in µs), ascending.

    `bounds` are of the shares whose latency is only known to lie between two values, the upper one None: without bound.
    """

    operation: str
    kind: str
    count: int | None  # None: nobody says
    steps: tuple[tuple[float, float], ...]
    max_us: float | None
    bounds: tuple[tuple[float, float, float | None], ...] = ()


def percentiles_figure(distributions: Sequence[Distribution], frame: Frame) -> Figure:
    """Latency (ms, logarithmic) over the percentile; distances on the axis are decades of the slower share."""
    layout = base_layout(frame)
    layout["showlegend"] = True
    tail = max((share for one in distributions for share, _ in _steps(one)), default=0.9999)
    most = _place(0.9999) if frame.narrow else _place(tail)
    ticks = [tick for tick in TICKS if _place(tick) <= min(most, _place(tail)) + 0.05]
    layout["xaxis"] = axis(
        frame,
        "percentile of the operations (%)",
        tickvals=[rounded(_place(tick)) for tick in ticks],
        ticktext=[f"{tick * 100:.6g}" for tick in ticks],
        tickangle=0,
        range=[0, _place(tail) * 1.04],
    )
    layout["yaxis"] = axis(frame, "latency (ms)", type="log", tickformat="~g", dtick="D2")
    operations = sorted({one.operation for one in distributions})
    colours = {name: frame.theme.series[i % len(frame.theme.series)] for i, name in enumerate(operations)}
    data = [_trace(one, colours[one.operation]) for one in distributions]
    data += [_bars(one, colours[one.operation]) for one in distributions if one.bounds]
    return {"data": data, "layout": layout}


def _place(share: float) -> float:
    """0 for 0 %, 1 for 90 %, 2 for 99 %: log10 of one over the slower share."""
    return math.log10(1 / max(1e-9, 1 - share))


def _steps(one: Distribution) -> list[tuple[float, float]]:
    """The steps that this many operations can show; the greatest latency stands at its own share."""
    if one.count is None:
        return [(share, value) for share, value in one.steps if value > 0]
    if one.count < 1:
        return []
    last = 1 - 1 / (one.count + 1)
    steps = [(share, value) for share, value in one.steps if value > 0 and share <= last]
    if one.max_us and one.max_us > 0:
        steps.append((last, one.max_us))
    return steps


def _trace(one: Distribution, colour: str) -> Trace:
    steps = _steps(one)
    label = one.operation if one.kind == "service" else f"{one.operation}, response time"
    return {
        "type": "scatter",
        # No line leads through what is not known.
        "mode": "markers" if one.bounds else "lines+markers",
        "x": [rounded(_place(share)) for share, _ in steps],
        "y": [rounded(value / 1e3) for _, value in steps],
        "name": escaped(label),
        "line": {"color": colour, "width": 2, "dash": "solid" if one.kind == "service" else "dash"},
        "marker": {"color": colour, "size": 6},
        "text": [f"{share * 100:.6g} %: {formatting.latency(value)}" for share, value in steps],
        "hovertemplate": f"%{{text}}<extra>{escaped(label)}</extra>",
    }


def _bars(one: Distribution, colour: str) -> Trace:
    """A bar from bound to bound for each percentile that is only known so; without an upper one to the maximum."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for share, low, high in one.bounds:
        top = high if high is not None else max(one.max_us or low, low)
        said = f"{share * 100:.6g} %: {formatting.latency_between(low, high)} (bounds, histograms missing)"
        xs += [rounded(_place(share))] * 2 + [None]
        ys += [rounded(max(low, 1.0) / 1e3), rounded(max(top, 1.0) / 1e3), None]
        texts += [said, said, ""]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": xs,
        "y": ys,
        "name": escaped(f"{one.operation}, bounds"),
        "line": {"color": colour, "width": 5},
        "marker": {"color": colour, "size": 9, "symbol": "line-ew-open", "line": {"color": colour, "width": 2}},
        "opacity": 0.55,
        "text": texts,
        "hovertemplate": f"%{{text}}<extra>{escaped(one.operation)}</extra>",
    }
