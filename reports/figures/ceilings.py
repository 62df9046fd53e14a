"""Throughput ceilings as bars: grouped by database, patterned by durability mode."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from benchsite import formatting
from reports.analysis.ceiling import Ladder
from reports.analysis.points import Spread
from reports.analysis.ratios import LEAST_REPEATS
from reports.curves import Curve, Point, in_order
from reports.figures import bars
from reports.figures.bars import Bar, bars_figure
from reports.figures.layout import Figure, Frame, escaped
from reports.figures.overlay import NAMED, Published, is_drawn
from reports.figures.overlay import hover_of as published_hover
from reports.figures.theme import Look, Theme, looks

TIMES = "\N{MULTIPLICATION SIGN}"
HIGHEST = "highest"
BEST_IN_CLASS = "best in class"
# Fewer repeats than these have no range that could show an order, or none that is enough for a class' best.
LEAST_FOR_ORDER = 2
LEAST_FOR_CLASS = LEAST_REPEATS
# Published bars so many times longer than the longest own one leave slivers of those on a linear axis.
TOWERING = 5.0

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
    log = towering(curves, published)
    return bars_figure(
        drawn, frame, f"{title.replace(' (ops/s)', ' in ops/s')} (logarithmic)" if log else title, log=log
    )


def towering(curves: Sequence[Curve], published: Sequence[Published]) -> bool:
    """Whether what others printed would squeeze the own bars to slivers."""
    own = max(map(_ceiling_ops_s, curves), default=0.0)
    printed = max((one.throughput_ops_s or 0.0 for one in published if is_drawn(one.throughput_ops_s)), default=0.0)
    return 0 < own * TOWERING < printed


def height_px(curves: Sequence[Curve], published: Sequence[Published] = ()) -> int:
    """How high the figure has to be for its lying bars; 0 where the ordinary height will do."""
    others = sum(is_drawn(one.throughput_ops_s) for one in published)
    databases = len({curve.database_name for curve in curves})
    return bars.height_px(len(curves) + others, databases + bool(others))


def bars_of(curves: Sequence[Curve], theme: Theme, *, highlight: str = "") -> list[Bar]:
    """Databases together, within each the weakest promise first."""
    appearance = looks(curves, theme, highlight=highlight)
    ranked = _ranked(curves)
    classes = best_in_class(curves)
    clear = {first.sweep_id for key, first in classes.items() if _clear(_of_class(curves, key), LEAST_FOR_CLASS)}
    return [_bar(curve, appearance[curve.sweep_id], ranked, classes, clear) for curve in _named(in_order(curves))]


def _ranked(curves: Sequence[Curve]) -> list[Curve]:
    """Those that have a ceiling, the highest first."""
    return sorted((curve for curve in curves if curve.ceiling), key=_ceiling_ops_s, reverse=True)


def _of_class(curves: Sequence[Curve], key: tuple[str, str]) -> list[Curve]:
    return [curve for curve in curves if (curve.workload, curve.durability_class) == key]


def _clear(curves: Sequence[Curve], least: int) -> bool:
    """Whether the repeats of the highest ceiling, so many at least, range above those of the next one, as many."""
    top = [spread for curve in _ranked(curves)[:2] if (spread := spread_of(curve)) and spread.n >= least]
    return len(top) == 2 and top[0].low > top[1].high


def spread_of(curve: Curve) -> Spread | None:
    """The repeats of the rung that reached the ceiling."""
    found = curve.ceiling
    point = curve.point_at(found.threads, found.target_ops_s) if found else None
    return point.throughput_ops_s if point else None


def _alone(curve: Curve) -> bool:
    spread = spread_of(curve)
    return spread is None or spread.n < LEAST_FOR_ORDER


def unclaimed_said(curves: Sequence[Curve]) -> str:
    """For the caption: why nothing is called highest; empty where something is, or there is nothing to order."""
    ranked = _ranked(curves)
    if len(ranked) < 2 or _clear(ranked, LEAST_FOR_ORDER):
        return ""
    if any(_alone(curve) for curve in ranked):
        divided = "\N{DIVISION SIGN} is the factor of these runs alone"
        return f"A single run has no range, so nothing is called highest: {divided}"
    return "The ranges of the repeats overlap, so nothing is called highest"


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


def _bar(
    curve: Curve,
    look: Look,
    ranked: Sequence[Curve],
    classes: Mapping[tuple[str, str], Curve],
    clear: Collection[UUID],
) -> Bar:
    """`ranked` are all with a ceiling, the highest first; `clear` those that are surely the best of their class."""
    found = curve.ceiling
    point = curve.point_at(found.threads, found.target_ops_s) if found else None
    spread = point.throughput_ops_s if point and point.throughput_ops_s.n > 1 else None
    share = found.throughput_ops_s / _ceiling_ops_s(ranked[0]) if found and ranked else None
    first = classes.get((curve.workload, curve.durability_class))
    notes = (
        _order_note(curve, share, ranked),
        BEST_IN_CLASS if first and curve.sweep_id in clear and share and share < 1 else "",
    )
    return Bar(
        group=curve.database_name,
        name=curve.mode,
        look=look,
        value=found.throughput_ops_s if found else None,
        value_label=_value_label(curve),
        hover=_hover(curve, point, first, curve.sweep_id in clear),
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


def _order_note(curve: Curve, share_of_best: float | None, ranked: Sequence[Curve]) -> str:
    """How a bar stands to the highest; of a single run on either side the bare factor, which claims nothing."""
    if len(ranked) < 2 or not share_of_best:
        return ""
    said = ratio_label(share_of_best)
    if said == HIGHEST:
        return said if curve.sweep_id == ranked[0].sweep_id and _clear(ranked, LEAST_FOR_ORDER) else ""
    if _alone(curve) or _alone(ranked[0]):
        return f"\N{DIVISION SIGN}{said.split(TIMES)[0]} (n = 1)"
    return said


def ratio_label(share_of_best: float | None) -> str:
    """ "highest", or by which factor the bar is lower: the reader's next question."""
    if not share_of_best:
        return ""
    factor = 1 / share_of_best
    digits = 3 if factor < 1.095 else 2
    return HIGHEST if factor < 1.005 else f"{formatting.significant(factor, digits)}{TIMES} lower"


def why_none(curve: Curve) -> str:
    """Why a sweep has no ceiling."""
    if curve.points:
        return "no throughput" if curve.counted else "no point counts"
    return "measuring" if curve.progress.going else "did not complete" if curve.progress.runs else "no data"


def _hover(curve: Curve, point: Point | None, first: Curve | None, clear: bool) -> str:
    found = curve.ceiling
    lines = [f"<b>{escaped(curve.label)}</b>", escaped(curve.mode_name)]
    if found and point:
        spread = point.throughput_ops_s
        at = f"target {formatting.throughput(found.target_ops_s)}" if found.target_ops_s else f"{found.threads} threads"
        lines += [f"{formatting.throughput(found.throughput_ops_s)} at {at}", LADDER_SAYS[found.ladder]]
        if spread.n > 1:
            lines.append(f"{spread.n} repeats, {formatting.short(spread.low)} to {formatting.short(spread.high)}")
        lines.append(_in_class(curve, first, clear))
    else:
        lines.append(why_none(curve))
    return "<br>".join(line for line in lines if line)


def _in_class(curve: Curve, first: Curve | None, clear: bool) -> str:
    """Where a ceiling stands among those whose writes wait for the same."""
    if first is None:
        return ""
    if first.sweep_id == curve.sweep_id:
        if not clear:
            return ""
        return f"best of those whose writes wait for: {escaped(curve.durability_class)}"
    factor = formatting.significant(_ceiling_ops_s(first) / _ceiling_ops_s(curve), 2) if _ceiling_ops_s(curve) else ""
    alone = " (n = 1)" if _alone(curve) or _alone(first) else ""
    than = f"{TIMES} lower than {escaped(first.label)}, whose writes wait for the same"
    return f"{factor}{than}{alone}" if factor else ""


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
