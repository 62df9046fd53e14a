"""The lines that a reader lays through latency curves: one load for all sides, and one limit of latency."""

from collections.abc import Sequence

from benchsite import formatting
from reports.analysis.equal_load import How, latency_at, throughput_within
from reports.curves import STATISTICS
from reports.figures import points as marks
from reports.figures.labels import coordinate
from reports.figures.latency_points import Choice, DrawnCurve
from reports.figures.layout import Frame, Layout, Trace, annotation, escaped, rounded, straight

# A line this many times beyond everything measured would make a dot of the curves: it is said, not drawn.
TOO_FAR = 2.0
SYMBOL = "x"
BESIDE = {"xanchor": "left", "yanchor": "bottom", "xshift": 4}


def lines_shown(drawn: Sequence[DrawnCurve], choice: Choice) -> tuple[float | None, float | None]:
    """The load (ops/s) and the limit (ms) as far as they have a place beside the curves."""
    xs = [d.x for side in drawn for d in side.counted]
    ys = [d.y for side in drawn for d in side.counted]
    load, limit = choice.load_ops_s, choice.limit_us / 1e3 if choice.limit_us else None
    shown_load = load if load and xs and 0 < load <= max(xs) * TOO_FAR else None
    # A limit far below every point is no line either; latencies lie decades apart, so that is generous.
    shown_limit = limit if limit and ys and min(ys) / 20 <= limit <= max(ys) * 20 else None
    return shown_load, shown_limit


def lay_lines(drawn: Sequence[DrawnCurve], choice: Choice, layout: Layout, frame: Frame) -> list[Trace]:
    """Draws the lines into the layout and returns where they meet the curves: an x on each, named in its hover."""
    load, limit = lines_shown(drawn, choice)
    shapes, traces = layout.setdefault("shapes", []), []
    if load is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", x=load, width=1.25, **_movable("load", frame)))
        x = coordinate(layout["xaxis"], load)
        text = f"at {formatting.throughput(load)}"
        layout["annotations"].append(annotation(text, frame.theme.muted, x=x, y=0, yref="paper", **BESIDE))
        traces += [trace for side in drawn if (trace := _at_load(side, load, choice, layout, frame))]
    if limit is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", y=limit, width=1.25, **_movable("within", frame)))
        text = f"{STATISTICS[choice.statistic]} ≤ {formatting.latency(limit * 1e3)}"
        y = coordinate(layout["yaxis"], limit)
        layout["annotations"].append(annotation(text, frame.theme.muted, x=0, y=y, xref="paper", **BESIDE))
        traces += [trace for side in drawn if (trace := _within(side, limit, choice, layout, frame))]
    return traces


def _movable(name: str, frame: Frame) -> Layout:
    """A line with a name can be dragged; not on a telephone, where a finger scrolls."""
    return {"name": name} if frame.linked and not frame.narrow else {"layer": "below"}


def _at_load(side: DrawnCurve, load: float, choice: Choice, layout: Layout, frame: Frame) -> Trace | None:
    reading = latency_at(side.load_points(), load)
    if reading.latency_us is None or side.look.faded:
        return None
    text = f"{side.operation} {STATISTICS[choice.statistic]} {formatting.latency(reading.latency_us)}"
    lines = [f"at {formatting.throughput(load)}: {text}"]
    if reading.how is How.MEASURED:
        rung = reading.between[0]
        lines.append(f"measured at {rung.label}")
        return _cross(side, rung.throughput_ops_s, rung.latency_us / 1e3, lines, frame)
    low, high = reading.between
    lines.append(f"interpolated between {low.label} and {high.label}")
    lines.append(
        f"from {formatting.latency(reading.low_us)} to {formatting.latency(reading.high_us)} by the rungs beside it"
    )
    ends = [(end.throughput_ops_s, end.latency_us / 1e3) for end in (low, high)]
    return _cross(side, load, _on_line(load, ends, layout["xaxis"], layout["yaxis"]), lines, frame)


def _on_line(value: float, ends: Sequence[tuple[float, float]], along: Layout, across: Layout) -> float:
    """Where the straight line that the figure draws between two points passes a value of the axis `along`."""
    (a, b), (c, d) = ((coordinate(along, x), coordinate(across, y)) for x, y in ends)
    place = b + (coordinate(along, value) - a) / (c - a) * (d - b)
    return float(10**place) if across.get("type") == "log" else place


def _within(side: DrawnCurve, limit_ms: float, choice: Choice, layout: Layout, frame: Frame) -> Trace | None:
    """Only where the curve goes through the limit: a ceiling that is fast enough meets no line."""
    reading = throughput_within(side.load_points(), limit_ms * 1e3)
    if reading.throughput_ops_s is None or reading.how is not How.INTERPOLATED or side.look.faded:
        return None
    ceiling = side.curve.ceiling
    if ceiling and ceiling.bracket and reading.throughput_ops_s > ceiling.throughput_ops_s:
        return None  # What lies above the sustained ceiling of targets is no throughput to promise.
    between = " and ".join(point.label for point in reading.between)
    text = f"{side.operation} {STATISTICS[choice.statistic]} within {formatting.latency(limit_ms * 1e3)}"
    lines = [f"{text} up to {formatting.throughput(reading.throughput_ops_s)}", f"interpolated between {between}"]
    ends = [(end.latency_us / 1e3, end.throughput_ops_s) for end in reading.between]
    return _cross(side, _on_line(limit_ms, ends, layout["yaxis"], layout["xaxis"]), limit_ms, lines, frame)


def _cross(side: DrawnCurve, x: float, y: float, lines: Sequence[str], frame: Frame) -> Trace:
    return marks.beside(
        side.look,
        "on the line",
        [rounded(x)],
        [rounded(y)],
        hover=["<br>".join([f"<b>{escaped(side.look.label)}</b>", *map(escaped, lines)])],
        marker={
            "color": side.look.colour,
            "symbol": SYMBOL,
            "size": 10,
            "line": {"width": 1.5, "color": frame.theme.panel},
        },
    )
