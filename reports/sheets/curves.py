"""The sheets of curves: throughput ceilings, latency against throughput, throughput along the ladder."""

from collections.abc import Sequence

from benchsite import formatting
from reports.curves import Curve, operations_of
from reports.figures.captions import caption, notes_of
from reports.figures.ceilings import best_sentence, ceilings_figure, height_px
from reports.figures.ladder import ladder_figure
from reports.figures.latency import KIND_SAYS, Choice, latency_figure
from reports.figures.latency_lines import TOO_FAR
from reports.figures.overlay import Published, drawn_with_latency, published_said
from reports.figures.tables import ceilings_table, ladder_table, points_table
from reports.sheets.sheet import Sheet, is_live, nothing_of, sentences


def ceilings_sheet(curves: Sequence[Curve], *, highlight: str = "", published: Sequence[Published] = ()) -> Sheet:
    return Sheet(
        name="ceilings",
        draw=lambda frame: ceilings_figure(curves, frame, highlight=highlight, published=published),
        caption=sentences(
            "Throughput ceiling of each sweep, with its 95 % interval where rungs were repeated",
            best_sentence(curves),
            caption(curves),
            published_said(published),
        ),
        table=ceilings_table(curves),
        notes=notes_of(curves),
        empty=nothing_of(curves),
        live=is_live(curves),
        height_px=height_px(curves, published),
    )


def latency_sheet(curves: Sequence[Curve], choice: Choice, published: Sequence[Published] = ()) -> Sheet:
    table = points_table(curves, operations=choice.operations, kind=choice.kind)
    nothing = nothing_of(curves)
    if not nothing and not table.rows:
        measured = ", ".join(operations_of(curves)) or "nothing"
        nothing = f"No {KIND_SAYS[choice.kind]} of {choice.operation} here. Measured was: {measured}."
    return Sheet(
        name=f"latency-{choice.operation.lower()}-{choice.statistic}",
        draw=lambda frame: latency_figure(curves, frame, choice, published),
        caption=sentences(
            "Zoomed up to the latency of the knees" if choice.zoom else "",
            caption(curves, kind=choice.kind),
            _beyond(curves, choice),
            published_said(drawn_with_latency(published)),
        ),
        table=table,
        notes=notes_of(curves),
        empty=nothing,
        live=is_live(curves),
    )


def _beyond(curves: Sequence[Curve], choice: Choice) -> str:
    """That the asked load is not in the picture, where it lies far beyond what was measured."""
    highest = max((point.throughput_ops_s.median for curve in curves for point in curve.counted), default=0.0)
    if not choice.load_ops_s or choice.load_ops_s <= highest * TOO_FAR:
        return ""
    return f"The load of {formatting.throughput(choice.load_ops_s)} lies far beyond every curve and is not drawn"


def ladder_sheet(curves: Sequence[Curve]) -> Sheet:
    return Sheet(
        name="throughput",
        draw=lambda frame: ladder_figure(curves, frame),
        caption=caption(curves),
        table=ladder_table(curves),
        notes=notes_of(curves),
        empty=nothing_of(curves),
        live=is_live(curves),
    )
