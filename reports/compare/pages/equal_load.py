"""The table "at equal load": every side's latency at one throughput, and its throughput within one latency.

Throughput is in operations per second, latency in microseconds. The mathematics is that of
`reports.compare.analysis.equal_load`; here stands what is asked of it and in which words the answers are said.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from benchsite.core import formatting
from reports.compare.analysis.equal_load import (
    AtLoad,
    How,
    LoadPoint,
    Within,
    latency_at,
    noise_at,
    rising_branch,
    throughput_within,
)
from reports.compare.analysis.ratios import Noise
from reports.compare.curves import STATISTICS, Curve, Point, collect_counted_points
from reports.compare.messages import (
    BETWEEN_RUNGS,
    LAST_THAT_WAS_SUSTAINED,
    LATENCY_BELOW_RUNGS,
    LATENCY_NOT_REACHED,
    LOAD_BELOW_RUNGS,
    LOAD_NOT_REACHED,
    LOWER_RUNG_ABOVE,
    MEASURED_AT,
    NOTHING_MEASURED,
    REPEATS_DIFFER,
    REPEATS_WITHOUT_LATENCY,
    UNSUSTAINED,
)
from reports.compare.pages.charts import shown_operations
from reports.compare.selection import Selection
from runs.results.measures.repeatability import compute_geomean

SHARE_OF_CEILING = 0.8
PERCENTILES = ("p50", "p95", "p99")
SLIDER_STEPS = 200


@dataclass(frozen=True, slots=True)
class SideAt:
    """What one side does at the load, and within the limit."""

    curve: Curve
    latencies: Mapping[tuple[str, str], AtLoad]  # by operation and percentile
    within: Mapping[str, Within]  # by operation; empty: no limit is asked for

    @property
    def is_readable(self) -> bool:
        """Whether it has a latency at the load."""
        return any(reading.latency_us is not None for reading in self.latencies.values())

    @property
    def is_above(self) -> bool:
        """Whether it does more on its lowest rung already."""
        return not self.is_readable and any(reading.how is How.BELOW for reading in self.latencies.values())

    def has_statistic(self, statistic: str) -> bool:
        return any(reading.latency_us is not None for (_, name), reading in self.latencies.items() if name == statistic)

    @property
    def how(self) -> str:
        """Where its numbers come from: the same rungs for every percentile and operation that was measured."""
        readings = list(self.latencies.values())
        return latency_text(next((reading for reading in readings if reading.latency_us is not None), readings[0]))


@dataclass(frozen=True, slots=True)
class EqualLoad:
    """What the panel shows."""

    load_ops_s: float
    is_default: bool
    limit_us: float | None
    statistic: str  # that the limit is about
    kind: str  # of latency
    operations: tuple[str, ...]
    sides: tuple[SideAt, ...]
    slider: Mapping[str, float]

    @property
    def statistic_label(self) -> str:
        return STATISTICS[self.statistic]

    @property
    def limit_text(self) -> str:
        if not self.limit_us:
            return ""
        return number_text(self.limit_us / 1e3)

    @property
    def readable(self) -> int:
        """How many sides have a latency at the load."""
        return sum(side.is_readable for side in self.sides)

    @property
    def lacking(self) -> int:
        """How many of them have none of the statistic."""
        return self.readable - sum(side.has_statistic(self.statistic) for side in self.sides)

    @property
    def above(self) -> int:
        """How many sides have only rungs that do more."""
        return sum(side.is_above for side in self.sides)

    @property
    def unreached(self) -> int:
        """How many sides do not reach the load."""
        return len(self.sides) - self.readable - self.above


def equal_load(
    curves: Sequence[Curve],
    operations: Sequence[str],
    *,
    kind: str = "service",
    statistic: str = "p99",
    load_ops_s: float | None = None,
    limit_us: float | None = None,
) -> EqualLoad | None:
    """None where no side has a point that counts, or no operation was measured: there is nothing to read off."""
    usual = default_load(curves)
    if usual is None or not operations or (load_ops_s is None and only_single_rungs(curves)):
        return None

    load = load_ops_s or usual
    sides = []
    for curve in curves:
        latencies = {
            (name, percentile): latency_at(load_points(curve, name, percentile, kind), load)
            for name, percentile in product(operations, list_percentiles(statistic))
        }
        within = {}
        if limit_us:
            within = {name: most_within(curve, name, statistic, kind, limit_us) for name in operations}
        sides.append(SideAt(curve, latencies, within))

    return EqualLoad(
        load_ops_s=load,
        is_default=number_text(load) == number_text(usual),
        limit_us=limit_us,
        statistic=statistic,
        kind=kind,
        operations=tuple(operations),
        sides=tuple(sides),
        slider=compute_slider(curves, load),
    )


def build_equal_load(selection: Selection, curves: Sequence[Curve]) -> EqualLoad | None:
    return equal_load(
        curves,
        shown_operations(selection, curves),
        kind=selection.kind_for(curves),
        statistic=selection.statistic,
        load_ops_s=selection.load_ops_s,
        limit_us=selection.limit_us,
    )


def only_single_rungs(curves: Sequence[Curve]) -> bool:
    """Whether several sides have a rung each: different loads, and nothing between which to read a common one."""
    return len(curves) > 1 and max(len(curve.counted) for curve in curves) == 1


def list_percentiles(statistic: str) -> list[str]:
    """The table's columns: the usual percentiles, and the one that the pictures show where it is another."""
    if statistic not in PERCENTILES:
        return [*PERCENTILES, statistic]
    return list(PERCENTILES)


def number_text(value: float) -> str:
    """A number as a form and the address write it."""
    if value < 1e10:
        return f"{value:.10g}"
    return f"{value:.0f}"


def default_load(curves: Sequence[Curve]) -> float | None:
    """80 % of a ceiling, with two digits: of the lowest, or of the lowest that more sides have a rung below.

    At 80 % of the lowest ceiling every side has work and none is at its limit. Where most sides do more than that on
    their first rung already, a higher load tells of more of them.
    """
    spans = []
    for curve in curves:
        if curve.ceiling:
            lowest = min(point.throughput_ops_s.geomean for point in curve.counted)
            spans.append((lowest, curve.ceiling.throughput_ops_s))
    loads = [float(f"{SHARE_OF_CEILING * high:.2g}") for _, high in sorted(spans, key=lambda span: span[1])]
    return max(loads, key=lambda load: sum(low <= load <= high for low, high in spans), default=None)


def compute_slider(curves: Sequence[Curve], load_ops_s: float) -> dict[str, float]:
    """The range of the movable line, from the lowest rung to the highest ceiling, in ops/s.

    About 200 steps of a round size; the asked load is one of them, so that a form sends it back unchanged.
    """
    every = [point.throughput_ops_s.geomean for point in collect_counted_points(curves)]
    most = max([*every, load_ops_s])
    step = 1.0
    if most > 0:
        step = 10.0 ** math.floor(math.log10(most / SLIDER_STEPS))
    least = load_ops_s - math.floor((load_ops_s - min([*every, load_ops_s])) / step) * step
    return {"least": _digits(max(least, 0.0)), "most": _digits(math.ceil(most / step) * step), "step": step}


def _digits(value: float) -> float:
    return float(f"{value:.10g}")


def most_within(curve: Curve, operation: str, statistic: str, kind: str, limit_us: float) -> Within:
    """The highest throughput within the limit, never above the ceiling: of targets only sustained rungs count.

    Nor is anything read off between the last sustained rung and the first that was not.
    """
    covered = {(point.threads, point.target_ops_s) for point in curve.within_ceiling}
    every = [
        (load_point, (point.threads, point.target_ops_s) in covered)
        for point in curve.counted
        if (load_point := _build_point(curve, point, operation, statistic, kind))
    ]
    within = throughput_within([point for point, _ in every], limit_us)
    if not all(inside for _, inside in every):
        covered_only = throughput_within([point for point, inside in every if inside], limit_us)
        capped = (within.throughput_ops_s or 0.0) > (covered_only.throughput_ops_s or 0.0)
        within = replace(covered_only, capped=capped)

    highest = max((point.throughput_ops_s for point, inside in every if inside), default=None)
    return replace(within, at_least=curve.is_lower_bound and within.throughput_ops_s == highest)


def load_points(curve: Curve, operation: str, statistic: str, kind: str = "service") -> list[LoadPoint]:
    """The counted rungs that have this latency, as means over their repeats."""
    points = (_build_point(curve, point, operation, statistic, kind) for point in curve.counted)
    return [point for point in points if point]


def _build_point(curve: Curve, point: Point, operation: str, statistic: str, kind: str) -> LoadPoint | None:
    latency = point.latency(operation, statistic, kind)
    return _load_point(curve, point, point.throughput_ops_s.geomean, latency.geomean) if latency else None


def repeated_points(curve: Curve, operation: str, statistic: str, kind: str = "service") -> list[list[LoadPoint]]:
    """The curve once for each repeat that all rungs of its rising branch have; empty where fewer than two are such.

    A repeat is a whole pass over the ladder, so its rungs make a curve of its own, and the latencies that these curves
    have at one load are as many independent values. Rungs are matched by the number of the repeat, never by its place
    in a list, from which some may be left out.
    """
    branch = rising_branch(load_points(curve, operation, statistic, kind))
    rungs = []
    for point in curve.counted:
        latencies = point.latency(operation, statistic, kind)
        if not latencies or _build_point(curve, point, operation, statistic, kind) not in branch:
            continue

        throughputs = point.throughput_ops_s.values
        numbers = point.repeats or range(1, len(throughputs) + 1)
        if not len(latencies.values) == len(throughputs) == len(numbers):
            return []

        passes = zip(throughputs, latencies.values, strict=True)
        rungs.append({number: _load_point(curve, point, *xy) for number, xy in zip(numbers, passes, strict=True)})

    common = []
    if rungs:
        common = sorted(set(rungs[0]).intersection(*rungs[1:]))
    if len(common) > 1:
        return [[rung[number] for rung in rungs] for number in common]

    return []


def repeats_within(
    curve: Curve, operations: Sequence[str], statistic: str, kind: str, limit_us: float, within_ops_s: float
) -> tuple[float, ...]:
    """The throughput in ops/s within the limit of all operations, one of each repeat.

    Their mean is `within_ops_s`, that of the curve of means; only this where there are no two repeats that have one.
    """
    passes = [repeated_points(curve, name, statistic, kind) for name in operations]
    values = []
    for curves_of_repeat in zip(*passes, strict=False):
        readings = [throughput_within(points, limit_us) for points in curves_of_repeat]
        values.append(min(reading.throughput_ops_s or 0.0 for reading in readings))
    if len(values) > 1 and min(values) > 0:
        return _centred(values, within_ops_s)
    return (within_ops_s,)


def _centred(values: Sequence[float], centre: float) -> tuple[float, ...]:
    """Values of repeats with the value that is shown, which is read off the curve of their means, as their mean.

    So the ratio of two sides is that of the values shown; how much repeats vary stays as it is.
    """
    if min(values) <= 0 or centre <= 0:
        return tuple(values)
    factor = centre / compute_geomean(values)
    return tuple(value * factor for value in values)


def _load_point(curve: Curve, point: Point, throughput_ops_s: float, latency_us: float) -> LoadPoint:
    order = point.target_ops_s if curve.ladder == "target" else point.threads
    return LoadPoint(throughput_ops_s, latency_us, rung_label(point), order)


@dataclass(frozen=True, slots=True)
class Latencies:
    """A side's latencies at a load, µs, one of each repeat, their mean the reading; of a single pass its one value."""

    values: tuple[float, ...]
    why: str = ""  # there is none, or only that of the means
    interpolation: tuple[float, float] = (1.0, 1.0)  # by which factors it may be lower or higher: 0.9, 1.05
    noise: Noise | None = None  # of one repeat, by those of all rungs near the load


def latencies_at(curve: Curve, operation: str, equal: EqualLoad) -> Latencies:
    """Only where the means and every repeat reach the load: those that do are the better ones, and prove nothing."""
    reading = latency_at(load_points(curve, operation, equal.statistic, equal.kind), equal.load_ops_s)
    if reading.latency_us is None:
        return Latencies((), latency_text(reading))

    passes = repeated_points(curve, operation, equal.statistic, equal.kind)
    # The bounds of the latency as shares of it; where it is not interpolated, or 0, there is no error.
    error = (1.0, 1.0)
    if reading.latency_us and reading.low_us and reading.high_us is not None:
        error = reading.low_us / reading.latency_us, reading.high_us / reading.latency_us
    if not passes:
        repeated = any(point.throughput_ops_s.n > 1 for point in curve.counted)
        return Latencies((reading.latency_us,), REPEATS_DIFFER if repeated else "", error)

    values = [latency_at(rungs, equal.load_ops_s).latency_us for rungs in passes]
    latencies = tuple(value for value in values if value is not None)
    if len(latencies) < len(values):
        return Latencies((), REPEATS_WITHOUT_LATENCY.format(measured=len(latencies), repeats=len(values)))

    return Latencies(_centred(latencies, reading.latency_us), "", error, noise_at(passes, equal.load_ops_s))


def rung_label(point: Point) -> str:
    if point.target_ops_s:
        return f"a target of {formatting.short(point.target_ops_s)}"
    return f"{point.threads} thread{'' if point.threads == 1 else 's'}"


def latency_text(reading: AtLoad) -> str:
    """Where a latency comes from: "at 16 threads", "≈ between 16 threads and 32 threads", "not reached: ..."."""
    return _describe_origin(reading.how, reading.between, LOAD_NOT_REACHED, LOAD_BELOW_RUNGS)


def within_text(reading: Within) -> str:
    """Where a throughput within a limit comes from, and which lower rungs are above the limit."""
    if reading.how is How.BELOW:
        text = LATENCY_BELOW_RUNGS
    elif reading.capped and not reading.between:
        text = UNSUSTAINED
    else:
        text = _describe_origin(reading.how, reading.between, LATENCY_NOT_REACHED, "")
        if reading.capped:
            text = LAST_THAT_WAS_SUSTAINED.format(origin=text)
    if not reading.violated:
        return text
    rungs = " and ".join(f"{point.label} ({formatting.latency(point.latency_us)})" for point in reading.violated)
    return LOWER_RUNG_ABOVE.format(origin=text, rungs=rungs)


def _both(low: str, high: str) -> str:
    """ "2 and 4 threads" rather than "2 threads and 4 threads"."""
    unit = " threads"
    if low.endswith(unit) and high.endswith(unit):
        return f"{low.removesuffix(unit)} and {high}"
    return f"{low} and {high}"


def _describe_origin(how: How, between: Sequence[LoadPoint], highest: str, lowest: str) -> str:
    """`highest` and `lowest` are messages with the throughput of the rung that bounds what was measured."""
    if not between:
        return NOTHING_MEASURED
    match how:
        case How.MEASURED:
            return MEASURED_AT.format(rung=between[0].label)
        case How.INTERPOLATED:
            return BETWEEN_RUNGS.format(rungs=_both(between[0].label, between[1].label))
        case How.BELOW:
            return lowest.format(throughput=formatting.throughput(between[0].throughput_ops_s))
    return highest.format(throughput=formatting.throughput(between[0].throughput_ops_s))
