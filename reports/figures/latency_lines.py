"""The lines that a reader lays through latency curves: one load for all sides, and one limit of latency."""

from collections.abc import Sequence

from benchsite import formatting
from reports.analysis.equal_load import How, latency_at, throughput_within
from reports.curves import STATISTICS
from reports.figures import points as marks
from reports.figures.latency_labels import coordinate
from reports.figures.latency_points import Choice, DrawnCurve
from reports.figures.layout import Frame, Layout, Trace, annotation, escaped, rounded, straight

# A line this many times beyond everything measured would make a dot of the curves: it is said, not drawn.
TOO_FAR = 2.0
SYMBOL = "x"
BESIDE = {"xanchor": "left", "yanchor": "bottom", "xshift": 4}


def lines_shown(drawn: Sequence[DrawnCurve], choice: Choice) -> tuple[float | None, float | None]:
    """The load (ops/s) and the limit (ms) as far as they have a place beside the curves."""
    xs = [d.x for one in drawn for d in one.counted]
    ys = [d.y for one in drawn for d in one.counted]
    load, limit = choice.load_ops_s, choice.limit_us / 1e3 if choice.limit_us else None
    shown_load = load if load and xs and 0 < load <= max(xs) * TOO_FAR else None
    # A limit far below every point is no line either; latencies lie decades apart, so that is generous.
    shown_limit = limit if limit and ys and min(ys) / 20 <= limit <= max(ys) * 20 else None
    return shown_load, shown_limit


def lay_lines(drawn: Sequence[DrawnCurve], choice: Choice, layout: Layout, frame: Frame) -> list[Trace]:
    """Draws the lines into the layout and returns where they meet the curves: an x on each, named in its hover."""
    load, limit = lines_shown(drawn, choice)
    shapes, found = layout.setdefault("shapes", []), []
    if load is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", x=load, width=1.25, **_movable("load", frame)))
        x = coordinate(layout["xaxis"], load)
        said = f"at {formatting.throughput(load)}"
        layout["annotations"].append(annotation(said, frame.theme.muted, x=x, y=0, yref="paper", **BESIDE))
        found += [trace for one in drawn if (trace := _at_load(one, load, choice, layout, frame))]
    if limit is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", y=limit, width=1.25, **_movable("within", frame)))
        said = f"{STATISTICS[choice.statistic]} ≤ {formatting.latency(limit * 1e3)}"
        y = coordinate(layout["yaxis"], limit)
        layout["annotations"].append(annotation(said, frame.theme.muted, x=0, y=y, xref="paper", **BESIDE))
        found += [trace for one in drawn if (trace := _within(one, limit, choice, layout, frame))]
    return found


def _movable(name: str, frame: Frame) -> Layout:
    """A line with a name can be dragged; not on a telephone, where a finger scrolls."""
    return {"name": name} if frame.linked and not frame.narrow else {"layer": "below"}


def _at_load(one: DrawnCurve, load: float, choice: Choice, layout: Layout, frame: Frame) -> Trace | None:
    found = latency_at(one.load_points(), load)
    if found.latency_us is None or one.look.faded:
        return None
    said = f"{one.operation} {STATISTICS[choice.statistic]} {formatting.latency(found.latency_us)}"
    lines = [f"at {formatting.throughput(load)}: {said}"]
    if found.how is How.MEASURED:
        rung = found.between[0]
        lines.append(f"measured at {rung.label}")
        return _cross(one, rung.throughput_ops_s, rung.latency_us / 1e3, lines, frame)
    low, high = found.between
    lines.append(f"interpolated between {low.label} and {high.label}")
    lines.append(
        f"from {formatting.latency(found.low_us)} to {formatting.latency(found.high_us)} by the rungs beside it"
    )
    ends = [(end.throughput_ops_s, end.latency_us / 1e3) for end in (low, high)]
    return _cross(one, load, _on_line(load, ends, layout["xaxis"], layout["yaxis"]), lines, frame)


def _on_line(value: float, ends: Sequence[tuple[float, float]], along: Layout, across: Layout) -> float:
    """Where the straight line that the figure draws between two points passes a value of the axis `along`."""
    (a, b), (c, d) = ((coordinate(along, x), coordinate(across, y)) for x, y in ends)
    place = b + (coordinate(along, value) - a) / (c - a) * (d - b)
    return float(10**place) if across.get("type") == "log" else place


def _within(one: DrawnCurve, limit_ms: float, choice: Choice, layout: Layout, frame: Frame) -> Trace | None:
    """Only where the curve goes through the limit: a ceiling that is fast enough meets no line."""
    found = throughput_within(one.load_points(), limit_ms * 1e3)
    if found.throughput_ops_s is None or found.how is not How.INTERPOLATED or one.look.faded:
        return None
    ceiling = one.curve.ceiling
    if ceiling and ceiling.bracket and found.throughput_ops_s > ceiling.throughput_ops_s:
        return None  # What lies above the sustained ceiling of targets is no throughput to promise.
    between = " and ".join(point.label for point in found.between)
    said = f"{one.operation} {STATISTICS[choice.statistic]} within {formatting.latency(limit_ms * 1e3)}"
    lines = [f"{said} up to {formatting.throughput(found.throughput_ops_s)}", f"interpolated between {between}"]
    ends = [(end.latency_us / 1e3, end.throughput_ops_s) for end in found.between]
    return _cross(one, _on_line(limit_ms, ends, layout["yaxis"], layout["xaxis"]), limit_ms, lines, frame)


def _cross(one: DrawnCurve, x: float, y: float, lines: Sequence[str], frame: Frame) -> Trace:
    return marks.beside(
        one.look,
        "on the line",
        [rounded(x)],
        [rounded(y)],
        hover=["<br>".join([f"<b>{escaped(one.look.label)}</b>", *map(escaped, lines)])],
        marker={
            "color": one.look.colour,
            "symbol": SYMBOL,
            "size": 10,
            "line": {"width": 1.5, "color": frame.theme.panel},
        },
    )
