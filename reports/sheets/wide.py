"""The sheets of several sweeps that look at them from one side: tail, scaling, durability, price, evenness."""

from collections.abc import Sequence
from dataclasses import replace

from benchsite import formatting
from reports.curves import Curve, Point, operations_of
from reports.figures.captions import caption, notes_of
from reports.figures.distributions import CEILING, Chosen, choose, distributions_said, sweeps_percentiles_figure
from reports.figures.durability import durability_figure, promises_of
from reports.figures.latency import KIND_SAYS
from reports.figures.price import height_px as price_height_px
from reports.figures.price import price_figure, priced
from reports.figures.scalability import scalability_figure, scalings_of
from reports.figures.stability import Ridge, cut_said, stability_figure
from reports.figures.stability import height_px as stability_height_px
from reports.figures.wide_tables import (
    durability_table,
    price_table,
    scalability_table,
    stability_table,
    sweeps_percentiles_table,
)
from reports.sheets.sheet import Sheet, is_live, nothing_of, sentences

MOST_NAMED = 4


def sweeps_percentiles_sheet(
    curves: Sequence[Curve],
    *,
    operation: str = "READ",
    kind: str = "service",
    at: str = CEILING,
    load_ops_s: float | None = None,
    highlight: str = "",
) -> Sheet:
    choosing = choose(curves, at=at, load_ops_s=load_ops_s)
    drawn = [one for one in choosing.chosen if one.point.operation(operation, kind)]
    empty = nothing_of(curves)
    if not empty and not choosing.chosen:
        empty = (
            "The sweeps have no rung in common that counts. Look at each at its ceiling instead."
            if load_ops_s is None
            else f"No sweep was measured at {formatting.throughput(load_ops_s)} or less. Choose a higher load."
        )
    if not empty and not drawn:
        measured = ", ".join(operations_of(curves)) or "nothing"
        empty = f"No {KIND_SAYS[kind]} of {operation} here. Measured was: {measured}."
    return Sheet(
        name=f"percentiles-{operation.lower()}",
        draw=lambda frame: sweeps_percentiles_figure(drawn, frame, operation=operation, kind=kind, highlight=highlight),
        caption=sentences(
            choosing.said,
            _named("without such a rung", choosing.without),
            distributions_said(drawn, operation, kind),
            caption(_only(drawn), kind=kind),
        ),
        table=sweeps_percentiles_table(drawn, operation, kind),
        notes=notes_of(curves),
        empty=empty,
        live=is_live(curves),
    )


def _only(chosen: Sequence[Chosen]) -> list[Curve]:
    """The curves with nothing but the points that are drawn: the caption speaks of those."""
    return [replace(one.curve, points=(one.point,)) for one in chosen]


def scalability_sheet(curves: Sequence[Curve], *, highlight: str = "") -> Sheet:
    scalings = scalings_of(curves)
    unknown = [curve for curve in curves if not curve.setup.nodes]
    empty = nothing_of(curves)
    if not empty and not any(one.score for one in scalings):
        empty = (
            "Every sweep stands on a cluster of one size. Measure the same database and mode on clusters of several "
            "sizes, and choose all of their sweeps."
        )
    return Sheet(
        name="scalability",
        draw=lambda frame: scalability_figure(curves, frame, highlight=highlight),
        caption=sentences(
            "Highest throughput on clusters of several sizes; 100 % of the ideal gain is as many times the smallest "
            "cluster's throughput as there are times its nodes",
            _named("of unknown size", unknown),
            caption(curves),
        ),
        table=scalability_table(scalings),
        notes=notes_of(curves),
        empty=empty,
        live=is_live(curves),
    )


def durability_sheet(curves: Sequence[Curve], *, highlight: str = "") -> Sheet:
    promises = promises_of(curves)
    empty = nothing_of(curves)
    if not empty and not promises.trades:
        empty = "Of none of these sweeps is known both a ceiling and what its durability mode promises."
    return Sheet(
        name="durability",
        draw=lambda frame: durability_figure(curves, frame, highlight=highlight),
        caption=sentences(
            "Ceiling of each database over what its modes promise for an acknowledged write; per cent against the "
            "same database's weakest promise",
            _named("not placed, for nobody knows what they promise", promises.unknown),
            caption(curves),
        ),
        table=durability_table(promises),
        notes=notes_of(curves),
        empty=empty,
        live=is_live(curves),
    )


def price_sheet(curves: Sequence[Curve], *, highlight: str = "") -> Sheet:
    drawn = priced(curves)
    have = {curve.sweep_id for curve in drawn}
    without = [curve for curve in curves if curve.sweep_id not in have]
    empty = nothing_of(curves)
    if not empty and not drawn:
        empty = (
            "No price is known. State the fact “price_per_hour” (US$) of every machine of a cluster, and measure again."
        )
    return Sheet(
        name="price",
        draw=lambda frame: price_figure(curves, frame, highlight=highlight),
        caption=sentences(
            "Operations at the ceiling for each US$ that the cluster's nodes cost; load generators, storage and "
            "licences cost extra",
            _named("without a price or a ceiling", without),
            caption(drawn),
        ),
        table=price_table(drawn),
        notes=notes_of(drawn),
        empty=empty,
        live=is_live(curves),
        height_px=price_height_px(curves),
    )


def stability_sheet(curves: Sequence[Curve], ridges: Sequence[Ridge], *, highlight: str = "") -> Sheet:
    interval_s = max((ridge.interval_s for ridge in ridges), default=1)
    drawn = [ridge.curve for ridge in ridges]
    have = {curve.sweep_id for curve in drawn}
    empty = nothing_of(curves)
    if not empty and not ridges:
        empty = "No series of a run at its ceiling is stored: only summaries were uploaded, or they were deleted."
    every = "each second" if interval_s == 1 else f"the mean of every {interval_s} s"
    return Sheet(
        name="stability",
        draw=lambda frame: stability_figure(ridges, frame, highlight=highlight),
        caption=sentences(
            f"Each sweep's run at its ceiling, {every} of the measured window relative to the run's own median "
            "(dotted); slow is below 90 % of it",
            cut_said(ridges),
            _named("not drawn", [curve for curve in curves if curve.sweep_id not in have]),
            caption([_at_ceiling(curve) for curve in drawn]),
        ),
        table=stability_table(ridges),
        notes=notes_of(curves),
        empty=empty,
        live=is_live(curves),
        height_px=stability_height_px(len(ridges)),
    )


def _at_ceiling(curve: Curve) -> Curve:
    found = curve.ceiling
    point: Point | None = curve.point_at(found.threads, found.target_ops_s) if found else None
    return replace(curve, points=(point,) if point else ())


def _named(what: str, curves: Sequence[Curve]) -> str:
    """Who is missing from a picture, and why: by name, as far as they are few."""
    if not curves:
        return ""
    names = [curve.label for curve in curves[:MOST_NAMED]]
    more = len(curves) - len(names)
    return f"{what[0].upper()}{what[1:]}: {', '.join(names)}" + (f" and {more} more" if more else "")
