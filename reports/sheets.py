"""A figure with everything that belongs to it: caption, notes, table twin, and the words for when nothing is there.

Pure: curves in, sheets out; the endpoints only answer in the format that was asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reports.curves import Curve, Point, operations_of
from reports.figures.captions import caption, notes_of
from reports.figures.ceilings import ceilings_figure
from reports.figures.ladder import ladder_figure
from reports.figures.latency import KIND_SAYS, Choice, latency_figure
from reports.figures.layout import Figure, Frame
from reports.figures.percentiles import SHARES, Distribution, percentiles_figure
from reports.figures.run_series import Band, OverTime, Window, run_series_figure
from reports.figures.tables import (
    Table,
    ceilings_table,
    ladder_table,
    percentiles_table,
    points_table,
    run_series_table,
)
from reports.figures.theme import theme_named

NOTHING_CHOSEN = "No sweep is chosen. Choose a matrix, or tick sweeps in the list of sweeps."
NOTHING_YET = "Nothing has been measured yet. Points appear here as their runs end."


@dataclass(frozen=True, slots=True)
class Sheet:
    """One figure, ready to be drawn in either theme and at either width."""

    name: str  # of its files: "ceilings"
    draw: Callable[[Frame], Figure]
    caption: str
    table: Table
    notes: tuple[str, ...] = ()
    empty: str = ""  # what is said instead of a picture
    live: bool = False  # whether it will change by itself

    def answer(self, *, theme: str, narrow: bool) -> dict[str, Any]:
        """What `static/js/charts.js` expects."""
        frame = Frame(theme_named(theme), narrow, self.notes)
        return {
            "figure": None if self.empty else self.draw(frame),
            "caption": self.caption,
            "table": self.table.as_dict(),
            "empty": self.empty,
            "live": self.live,
        }

    def data(self) -> dict[str, Any]:
        """The JSON twin: what the picture says, without how it looks."""
        return {"name": self.name, "caption": self.caption, "notes": list(self.notes), **self.table.as_dict()}


def ceilings_sheet(curves: Sequence[Curve], *, highlight: str = "") -> Sheet:
    return Sheet(
        name="ceilings",
        draw=lambda frame: ceilings_figure(curves, frame, highlight=highlight),
        caption=_sentences("Highest throughput of each sweep among the points that count", caption(curves)),
        table=ceilings_table(curves),
        notes=notes_of(curves),
        empty=_nothing(curves),
        live=_live(curves),
    )


def latency_sheet(curves: Sequence[Curve], choice: Choice) -> Sheet:
    table = points_table(curves, operation=choice.operation, kind=choice.kind)
    nothing = _nothing(curves)
    if not nothing and not table.rows:
        measured = ", ".join(operations_of(curves)) or "nothing"
        nothing = f"No {KIND_SAYS[choice.kind]} of {choice.operation} here. Measured was: {measured}."
    return Sheet(
        name=f"latency-{choice.operation.lower()}-{choice.statistic}",
        draw=lambda frame: latency_figure(curves, frame, choice),
        caption=caption(curves, kind=choice.kind),
        table=table,
        notes=notes_of(curves),
        empty=nothing,
        live=_live(curves),
    )


def ladder_sheet(curves: Sequence[Curve]) -> Sheet:
    return Sheet(
        name="throughput",
        draw=lambda frame: ladder_figure(curves, frame),
        caption=caption(curves),
        table=ladder_table(curves),
        notes=notes_of(curves),
        empty=_nothing(curves),
        live=_live(curves),
    )


def run_series_sheet(
    name: str, series: Sequence[OverTime], window: Window, *, band: Band | None = None, live: bool = False
) -> Sheet:
    interval_s = max((one.interval_s for one in series), default=1)
    every = "second" if interval_s == 1 else f"{interval_s} s"
    measured = f"Measured from second {window.begin_s:.0f} to {window.end_s:.0f}" if window.end_s else ""
    return Sheet(
        name=name,
        draw=lambda frame: run_series_figure(series, window, frame, band),
        caption=_sentences(
            f"All clients merged, per {every}; what is shaded does not count",
            measured,
            f"p99 of each {every} by itself: their mean would mean nothing",
            "The band reaches from the least to the greatest second of each interval" if band is not None else "",
        ),
        table=run_series_table(series),
        empty="" if any(one.seconds.size for one in series) else "No second of this run is stored.",
        live=live,
    )


def distributions_of(point: Point | None) -> list[Distribution]:
    """The stored percentiles of a run, operation by operation."""
    if point is None:
        return []
    return [
        Distribution(
            operation=one.operation,
            kind=one.kind,
            count=one.ok,
            steps=tuple((share, value) for name, share in SHARES.items() if (value := one.median_us(name)) is not None),
            max_us=one.median_us("max"),
            bounds=tuple((share, *one.bounds_us[name]) for name, share in SHARES.items() if name in one.bounds_us),
        )
        for one in point.operations
    ]


def percentiles_sheet(name: str, point: Point | None) -> Sheet:
    distributions = [one for one in distributions_of(point) if one.steps or one.bounds]
    bounded = any(one.bounds for one in distributions)
    merged = f"{point.clients_merged} of {point.clients_expected} clients merged" if point else ""
    return Sheet(
        name=name,
        draw=lambda frame: percentiles_figure(distributions, frame),
        caption=_sentences(
            "Percentiles as the clients' summaries allow; bars are bounds, histograms missing"
            if bounded
            else "Percentiles of the measured window from the merged histograms",
            merged,
        ),
        table=percentiles_table(distributions),
        empty="" if distributions else "No latency of this run is stored.",
    )


def _nothing(curves: Sequence[Curve]) -> str:
    if not curves:
        return NOTHING_CHOSEN
    return "" if any(curve.points for curve in curves) else NOTHING_YET


def _live(curves: Sequence[Curve]) -> bool:
    return any(curve.progress.going for curve in curves)


def _sentences(*parts: str) -> str:
    said = [part.rstrip(".") for part in parts if part]
    return ". ".join(said) + "." if said else ""
