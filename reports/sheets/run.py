"""The sheets of one run: over time, by percentile, and both at once as a heat map."""

from collections.abc import Sequence

from benchsite import formatting
from reports.analysis.heat import Heat
from reports.curves import Point
from reports.figures.heat import heat_figure
from reports.figures.latency import KIND_SAYS
from reports.figures.percentiles import Distribution, distribution_of, percentiles_figure
from reports.figures.run_series import Band, Event, OverTime, Window, run_series_figure
from reports.figures.tables import percentiles_table, run_series_table
from reports.figures.wide_tables import heat_table
from reports.sheets.sheet import Sheet, sentences

HEAT_PX = 230  # of each map
MOST_EVENTS = 3  # that the caption tells


def run_series_sheet(
    name: str,
    series: Sequence[OverTime],
    window: Window,
    *,
    band: Band | None = None,
    events: Sequence[Event] = (),
    live: bool = False,
) -> Sheet:
    interval_s = max((one.interval_s for one in series), default=1)
    every = "second" if interval_s == 1 else f"{interval_s} s"
    measured = (
        f"Measured from second {formatting.grouped(window.begin_s)} to {formatting.grouped(window.end_s)}"
        if window.end_s
        else ""
    )
    return Sheet(
        name=name,
        draw=lambda frame: run_series_figure(series, window, frame, band, events),
        caption=sentences(
            f"All clients merged, per {every}; what is shaded does not count",
            measured,
            f"p99 of each {every} by itself: their mean would mean nothing",
            "The band reaches from the least to the greatest second of each interval" if band is not None else "",
            "Happened meanwhile: "
            + "; ".join(f"second {formatting.grouped(e.second)}: {e.text}" for e in events[:MOST_EVENTS])
            if events
            else "",
        ),
        table=run_series_table(series),
        empty="" if any(one.seconds.size for one in series) else "No second of this run is stored.",
        live=live,
    )


def distributions_of(point: Point | None) -> list[Distribution]:
    """The stored percentiles of a run, operation by operation."""
    return [distribution_of(one) for one in point.operations] if point else []


def percentiles_sheet(name: str, point: Point | None) -> Sheet:
    distributions = [one for one in distributions_of(point) if one.steps or one.bounds]
    bounded = any(one.bounds for one in distributions)
    merged = f"{point.clients_merged} of {point.clients_expected} clients merged" if point else ""
    return Sheet(
        name=name,
        draw=lambda frame: percentiles_figure(distributions, frame),
        caption=sentences(
            "Percentiles as the clients' summaries allow; bars are bounds, histograms missing"
            if bounded
            else "Percentiles of the measured window, not averaged over clients",
            merged,
        ),
        table=percentiles_table(distributions),
        empty="" if distributions else "No latency of this run is stored.",
    )


def heat_sheet(name: str, heats: Sequence[Heat], window: Window, *, kind: str = "service") -> Sheet:
    width_s = max((heat.width_s for heat in heats), default=1.0)
    every = "second" if width_s == 1 else formatting.duration(width_s)
    return Sheet(
        name=name,
        draw=lambda frame: heat_figure(heats, window, frame),
        caption=sentences(
            f"Share of the operations of every {every} by their {KIND_SAYS[kind]}, all clients merged; "
            "blank where none took so long, and what is shaded does not count",
            "Each column is the sum of its interval histograms",
        ),
        table=heat_table(heats),
        empty="" if heats else "The interval histograms of this run are not stored: only its percentiles are known.",
        height_px=HEAT_PX * len(heats) + 60 if len(heats) > 1 else 0,
    )
