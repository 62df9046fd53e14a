"""What a dollar buys: operations at the ceiling per US$ that the cluster costs."""

from collections.abc import Sequence

from benchsite import formatting
from reports.analysis.cost import dollars_per_million, operations_per_dollar
from reports.curves import Curve, in_order
from reports.figures import bars
from reports.figures.bars import Bar, bars_figure
from reports.figures.ceilings import AMONG_BEST, best_of, ratio_label
from reports.figures.layout import Figure, Frame, escaped
from reports.figures.theme import Look, Theme, looks


def priced(curves: Sequence[Curve]) -> list[Curve]:
    """Those of which both the ceiling and the price are known."""
    return [curve for curve in in_order(curves) if per_dollar(curve)]


def per_dollar(curve: Curve) -> float | None:
    """Operations per US$ at the ceiling; None where either is not known."""
    found = curve.ceiling
    return operations_per_dollar(found.throughput_ops_s, curve.setup.price_per_hour) if found else None


def price_figure(curves: Sequence[Curve], frame: Frame, *, highlight: str = "") -> Figure:
    """A bar for each sweep whose cluster has a price."""
    return bars_figure(_bars(priced(curves), frame.theme, highlight), frame, "operations per US$ at the ceiling")


def height_px(curves: Sequence[Curve]) -> int:
    """How high the figure has to be for its lying bars; 0 where the ordinary height will do."""
    drawn = priced(curves)
    return bars.height_px(len(drawn), len({curve.database_name for curve in drawn}))


def _bars(curves: Sequence[Curve], theme: Theme, highlight: str) -> list[Bar]:
    appearance = looks(curves, theme, highlight=highlight)
    best = max((per_dollar(curve) or 0.0 for curve in curves), default=0.0)
    among = best_of(curves, lambda curve: 1 / (curve.setup.price_per_hour or 1.0)) if len(curves) > 1 else {}
    return [_bar(curve, appearance[curve.sweep_id], best, is_best=among.get(curve.sweep_id)) for curve in curves]


def _bar(curve: Curve, look: Look, best: float, *, is_best: bool | None) -> Bar:
    value, found = per_dollar(curve) or 0.0, curve.ceiling
    share = value / best if best else None
    least = "≥ " if found and found.is_lower_bound else ""
    note = AMONG_BEST if is_best else ratio_label(share).replace("lower", "fewer")
    return Bar(
        group=curve.database_name,
        name=curve.mode,
        look=look,
        value=value,
        value_label=least + formatting.short(value),
        hover=_hover(curve),
        share_of_best=share,
        notes=(note,) if note else (),
    )


def _hover(curve: Curve) -> str:
    found, price = curve.ceiling, curve.setup.price_per_hour
    if found is None or price is None:
        return ""
    cost = dollars_per_million(found.throughput_ops_s, price)
    nodes = curve.setup.nodes
    return "<br>".join(
        [
            f"<b>{escaped(curve.label)}</b>",
            f"{formatting.throughput(found.throughput_ops_s)} at {formatting.significant(price)} US$ per hour"
            + (f" for {nodes} node{'s' if nodes > 1 else ''}" if nodes else ""),
            f"{formatting.significant(cost)} US$ per million operations" if cost else "",
        ]
    )
