"""Throughput ceilings as bars: grouped by database, patterned by durability mode."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchsite import formatting
from reports.analysis.ceiling import Ladder
from reports.curves import Curve, Point, in_order
from reports.figures import bars
from reports.figures.bars import Bar, bars_figure
from reports.figures.layout import Figure, Frame, escaped
from reports.figures.overlay import NAMED, Published, is_drawn
from reports.figures.overlay import hover_of as published_hover
from reports.figures.theme import Look, Theme, looks

TIMES = "\N{MULTIPLICATION SIGN}"
BEST_IN_CLASS = "best in class"

LADDER_SAYS = {
    Ladder.SATURATED: "saturated",
    Ladder.RETROGRADE: "saturated, fell beyond",
    Ladder.SHORT: "at least: the ladder is too short",
    Ladder.EMPTY: "",
}


def ceilings_figure(
    curves: Sequence[Curve], frame: Frame, *, highlight: str = "", published: Sequence[Published] = ()
) -> Figure:
    """One bar per sweep, with its value and by which factor it lies below the highest; what others printed hollow."""
    loads = bool(curves) and all(curve.phase == "load" for curve in curves)
    title = "throughput while loading (ops/s)" if loads else "throughput ceiling (ops/s)"
    drawn = bars_of(curves, frame.theme, highlight=highlight) + published_bars(published, frame.theme)
    return bars_figure(drawn, frame, title)


def height_px(curves: Sequence[Curve], published: Sequence[Published] = ()) -> int:
    """How high the figure has to be for its lying bars; 0 where the ordinary height will do."""
    others = sum(is_drawn(one.throughput_ops_s) for one in published)
    databases = len({curve.database_name for curve in curves})
    return bars.height_px(len(curves) + others, databases + bool(others))


def bars_of(curves: Sequence[Curve], theme: Theme, *, highlight: str = "") -> list[Bar]:
    """Databases together, within each the weakest promise first."""
    appearance = looks(curves, theme, highlight=highlight)
    best = max((found.throughput_ops_s for curve in curves if (found := curve.ceiling)), default=0.0)
    classes = best_in_class(curves)
    of = sum(curve.ceiling is not None for curve in curves)
    return [_bar(curve, appearance[curve.sweep_id], best, classes, of) for curve in _named(in_order(curves))]


def _named(curves: Sequence[Curve]) -> list[Curve]:
    """Loads say that they are, where they stand beside other sweeps."""
    if len({curve.phase for curve in curves}) < 2:
        return list(curves)
    return [replace(curve, mode=f"{curve.mode}, load") if curve.phase == "load" else curve for curve in curves]


def best_in_class(curves: Sequence[Curve]) -> dict[tuple[str, str], Curve]:
    """Of each workload and durability class that several databases have, the curve with the highest ceiling."""
    classes: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if curve.ceiling and curve.durability_class:
            classes.setdefault((curve.workload, curve.durability_class), []).append(curve)
    return {
        key: max(group, key=_ceiling_ops_s)
        for key, group in classes.items()
        if len({curve.database_name for curve in group}) > 1
    }


def _ceiling_ops_s(curve: Curve) -> float:
    return curve.ceiling.throughput_ops_s if curve.ceiling else 0.0


def _bar(curve: Curve, look: Look, best: float, classes: Mapping[tuple[str, str], Curve], of: int) -> Bar:
    found = curve.ceiling
    point = curve.point_at(found.threads, found.target_ops_s) if found else None
    spread = point.throughput_ops_s if point and point.throughput_ops_s.n > 1 else None
    share = found.throughput_ops_s / best if found and best else None
    first = classes.get((curve.workload, curve.durability_class))
    notes = (
        ratio_label(share) if of > 1 else "",
        BEST_IN_CLASS if first and first.sweep_id == curve.sweep_id and share and share < 1 else "",
    )
    return Bar(
        group=curve.database_name,
        name=curve.mode,
        look=look,
        value=found.throughput_ops_s if found else None,
        value_label=_value_label(curve),
        hover=_hover(curve, point, first),
        low=spread.low if spread else None,
        high=spread.high if spread else None,
        share_of_best=share,
        notes=tuple(note for note in notes if note),
    )


def _value_label(curve: Curve) -> str:
    found = curve.ceiling
    if found is None:
        return why_none(curve)
    return ("≥ " if found.is_lower_bound else "") + formatting.short(found.throughput_ops_s)


def ratio_label(share_of_best: float | None) -> str:
    """ "highest", or by which factor the bar is lower: the reader's next question."""
    if not share_of_best:
        return ""
    factor = 1 / share_of_best
    digits = 3 if factor < 1.095 else 2
    return "highest" if factor < 1.005 else f"{formatting.significant(factor, digits)}{TIMES} lower"


def why_none(curve: Curve) -> str:
    """Why a sweep has no ceiling."""
    if curve.points:
        return "no point counts"
    return "measuring" if curve.progress.going else "did not complete" if curve.progress.runs else "no data"


def _hover(curve: Curve, point: Point | None, first: Curve | None) -> str:
    found = curve.ceiling
    lines = [f"<b>{escaped(curve.label)}</b>", escaped(curve.mode_name)]
    if found and point:
        spread = point.throughput_ops_s
        at = f"target {formatting.throughput(found.target_ops_s)}" if found.target_ops_s else f"{found.threads} threads"
        lines += [f"{formatting.throughput(found.throughput_ops_s)} at {at}", LADDER_SAYS[found.ladder]]
        if spread.n > 1:
            lines.append(f"{spread.n} repeats, {formatting.short(spread.low)} to {formatting.short(spread.high)}")
        lines.append(_in_class(curve, first))
    else:
        lines.append(why_none(curve))
    return "<br>".join(line for line in lines if line)


def _in_class(curve: Curve, first: Curve | None) -> str:
    """Where a ceiling stands among those whose writes wait for the same."""
    if first is None:
        return ""
    if first.sweep_id == curve.sweep_id:
        return f"best of those whose writes wait for: {escaped(curve.durability_class)}"
    factor = formatting.significant(_ceiling_ops_s(first) / _ceiling_ops_s(curve), 2) if _ceiling_ops_s(curve) else ""
    return f"{factor}{TIMES} lower than {escaped(first.label)}, whose writes wait for the same" if factor else ""


def published_bars(published: Sequence[Published], theme: Theme) -> list[Bar]:
    """Hollow and grey, behind what was measured."""
    grey = Look(colour=theme.grey, dash="dot", symbol="circle", pattern="", label=NAMED, faded=True)
    return [
        Bar(
            group=NAMED,
            name=one.label,
            look=grey,
            value=one.throughput_ops_s,
            value_label=" ".join(part for part in (one.qualifier, formatting.short(one.throughput_ops_s)) if part),
            hover=published_hover(one),
            notes=(f"{one.study} {one.year}", *(["disputed"] if one.disputed else [])),
            hollow=True,
        )
        for one in published
        if is_drawn(one.throughput_ops_s)
    ]
