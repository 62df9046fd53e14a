"""Table twins of the figures that look at several sweeps from one side: tail, scaling, durability, price, evenness."""

from collections.abc import Sequence

from benchsite.formatting import significant
from reports.analysis.cost import dollars_per_million, per_node
from reports.analysis.heat import Heat
from reports.curves import Curve
from reports.figures.distributions import Chosen
from reports.figures.durability import Promises
from reports.figures.percentiles import distribution_of
from reports.figures.price import per_dollar
from reports.figures.scalability import Scaling
from reports.figures.stability import Ridge
from reports.figures.table import Cell, Table


def sweeps_percentiles_table(chosen: Sequence[Chosen], operation: str, kind: str) -> Table:
    """A row per sweep and percentile, at the rung that is drawn."""
    rows: list[tuple[Cell, ...]] = []
    for one in chosen:
        held = one.point.operation(operation, kind)
        if held is None:
            continue
        found = distribution_of(held)
        values: list[tuple[float, float, float | None]] = [(share, low, None) for share, low in found.steps]
        values += [*found.bounds, *([(1.0, found.max_us, None)] if found.max_us else [])]
        who = (one.curve.database_name, one.curve.mode, one.curve.workload, one.point.threads, one.point.target_ops_s)
        rows += [
            (*who, one.point.throughput_ops_s.median, operation, kind, found.count, share * 100, low, high)
            for share, low, high in sorted(values, key=lambda value: value[0])
        ]
    return Table(
        (
            "database",
            "mode",
            "workload",
            "threads",
            "target (ops/s)",
            "throughput (ops/s)",
            "operation",
            "latency",
            "operations",
            "percentile (%)",
            "latency (µs)",
            "at most, where it is a bound (µs)",
        ),
        tuple(rows),
    )


def scalability_table(scalings: Sequence[Scaling]) -> Table:
    """A row per size; gains and scores in per cent, unrounded."""
    rows: list[tuple[Cell, ...]] = []
    for one in scalings:
        for size in one.sizes:
            gains, efficiency = (one.score.gains, one.score.speedup_efficiency) if one.score else ({}, {})
            ops_s = size.ceiling.throughput_ops_s
            rows.append(
                (
                    one.label,
                    size.curve.database_name,
                    size.nodes,
                    ops_s,
                    per_node(ops_s, size.nodes),
                    _bounded(gains.get(size.nodes), one.score.gain_sign(size.nodes) if one.score else ""),
                    _percent(one.score.ideals.get(size.nodes)) if one.score else None,
                    _bounded(efficiency.get(size.nodes), one.score.gain_sign(size.nodes) if one.score else ""),
                    _bounded(one.score.score, one.score.sign) if one.score else None,
                    "yes" if one.score and size.nodes in one.score.super_linear else "",
                )
            )
    return Table(
        (
            "what",
            "database",
            "nodes",
            "ceiling (ops/s)",
            "per node (ops/s)",
            "gain over the smallest (%)",
            "ideal gain (%)",
            "speed-up efficiency (%)",
            "score (%)",
            "more than the nodes account for",
        ),
        tuple(rows),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _bounded(share: float | None, sign: str | None) -> Cell:
    """Per cent as a number; with its sign as a text where it is a bound, nothing where it may be anything."""
    if share is None or sign is None:
        return None
    return f"{sign}{significant(share * 100, 4)}" if sign else share * 100


def durability_table(promises: Promises) -> Table:
    """A row per mode, the weakest promise of each database first."""
    rows = [
        (
            step.curve.database_name,
            step.curve.workload,
            step.curve.mode,
            promises.names[step.place],
            step.place,
            step.throughput_ops_s,
            _bounded(step.change, step.sign),
        )
        for one in promises.trades
        for step in sorted((*one.steps, *one.others), key=lambda step: (step.place, -step.throughput_ops_s))
    ]
    return Table(
        (
            "database",
            "workload",
            "mode",
            "an acknowledged write waits for, and may be lost",
            "place",
            "ceiling (ops/s)",
            "against the weakest promise (%)",
        ),
        tuple(rows),
    )


def price_table(curves: Sequence[Curve]) -> Table:
    return Table(
        (
            "database",
            "mode",
            "workload",
            "nodes",
            "price (US$ per hour)",
            "ceiling (ops/s)",
            "operations per US$",
            "US$ per million operations",
        ),
        tuple(
            (
                curve.database_name,
                curve.mode,
                curve.workload,
                curve.setup.nodes,
                curve.setup.price_per_hour,
                found.throughput_ops_s,
                per_dollar(curve),
                dollars_per_million(found.throughput_ops_s, curve.setup.price_per_hour),
            )
            for curve in curves
            if (found := curve.ceiling)
        ),
    )


def stability_table(ridges: Sequence[Ridge]) -> Table:
    """A row per run; shares and coefficients of variation in per cent."""
    rows: list[tuple[Cell, ...]] = []
    for ridge in ridges:
        one = ridge.stability
        who = (ridge.curve.database_name, ridge.curve.mode, ridge.curve.workload, ridge.load, ridge.interval_s)
        if one is None:
            rows.append((*who, ridge.seconds.size, *[None] * 6, "too little was done"))
            continue
        rows.append(
            (
                *who,
                one.seconds,
                one.median,
                one.cv * 100,
                one.robust_cv * 100,
                one.slow_share * 100,
                one.longest_slow_s * ridge.interval_s,
                one.down_spike_share * 100,
                ridge.grade,
            )
        )
    return Table(
        (
            "database",
            "mode",
            "workload",
            "at its ceiling",
            "interval (s)",
            "intervals",
            "median (ops/s)",
            "CV (%)",
            "robust CV (%)",
            "slow (%)",
            "longest dip (s)",
            "deepest dip (%)",
            "grade",
        ),
        tuple(rows),
    )


def heat_table(heats: Sequence[Heat]) -> Table:
    """A row per cell in which something happened."""
    return Table(
        ("operation", "latency", "from second", "for (s)", "from (µs)", "below (µs)", "operations"),
        tuple(
            (
                heat.operation,
                heat.kind,
                float(heat.begins_s[column]),
                heat.width_s,
                float(heat.edges_us[row]),
                float(heat.edges_us[row + 1]),
                int(heat.counts[row, column]),
            )
            for heat in heats
            for column in range(heat.counts.shape[1])
            for row in range(heat.counts.shape[0])
            if heat.counts[row, column]
        ),
    )
