"""What a dollar buys: operations at the ceiling per US$ that the cluster costs."""

from functools import cached_property
from typing import Final

from benchsite.core import formatting
from reports.analysis.sizing import dollars_per_million, operations_per_dollar
from reports.curves import Curve, in_order
from reports.figures import bars, captions
from reports.figures.bars import Bar, bars_figure, by_value
from reports.figures.ceilings import AMONG_BEST, best_of, detail_of, ratio_label
from reports.figures.figure import SIDE, CurvesFigure, named, sentences
from reports.figures.layout import Frame, PlotlyFigure, escaped
from reports.figures.table import Columns, Table, tabulated
from reports.figures.theme import Look, looks
from reports.ladder_text import bounded, ladder_says, status_sentences


def per_dollar(curve: Curve) -> float | None:
    """Operations per US$ at the ceiling; None where either is not known."""
    ceiling = curve.ceiling
    return operations_per_dollar(ceiling.throughput_ops_s, curve.setup.price_per_hour) if ceiling else None


COLUMNS: Final[Columns] = {
    **SIDE,
    "nodes": lambda curve: curve.setup.nodes,
    "price (US$ per hour)": lambda curve: curve.setup.price_per_hour,
    "ceiling (ops/s)": lambda curve: curve.ceiling.throughput_ops_s,
    "operations per US$": per_dollar,
    "US$ per million operations": lambda curve: dollars_per_million(
        curve.ceiling.throughput_ops_s, curve.setup.price_per_hour
    ),
    "ladder": lambda curve: ladder_says(curve.ceiling),
}


class PriceFigure(CurvesFigure):
    """A bar for each sweep whose cluster has a price."""

    name = "price"

    @cached_property
    def drawn(self) -> list[Curve]:
        """Those of which both the ceiling and the price are known."""
        return [curve for curve in in_order(self.curves) if per_dollar(curve)]

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance, drawn = looks(self.among, frame.theme, highlight=self.highlight), self.drawn
        best = max((per_dollar(curve) or 0.0 for curve in drawn), default=0.0)
        among = best_of(drawn, lambda curve: 1 / (curve.setup.price_per_hour or 1.0)) if len(drawn) > 1 else {}
        bars = [_bar(curve, appearance[curve.sweep_id], best, is_best=among.get(curve.sweep_id)) for curve in drawn]
        return bars_figure(by_value(bars), frame, "operations per US$ at the ceiling")

    @property
    def caption(self) -> str:
        have = {curve.sweep_id for curve in self.drawn}
        return sentences(
            "Operations at the ceiling for each US$ that the cluster's nodes cost; load generators, storage and "
            "licences cost extra",
            named("without a price or a ceiling", [curve for curve in self.curves if curve.sweep_id not in have]),
            *status_sentences(self.drawn),
            captions.caption(self.drawn),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        return captions.notes_of(self.drawn)

    @property
    def table(self) -> Table:
        return tabulated(COLUMNS, ((curve,) for curve in self.drawn))

    def lacking(self) -> str:
        if self.drawn:
            return ""
        return (
            "No price is known. State the fact “price_per_hour” (US$) of every machine of a cluster, and measure again."
        )

    @property
    def height_px(self) -> int:
        return bars.height_px(len(self.drawn))


def _bar(curve: Curve, look: Look, best: float, *, is_best: bool | None) -> Bar:
    value, ceiling = per_dollar(curve) or 0.0, curve.ceiling
    note = AMONG_BEST if is_best else ratio_label(value / best if best else None).replace("lower", "fewer")
    return Bar(
        name=curve.database_name,
        detail=detail_of(curve, look),
        look=look,
        value=value,
        value_label=bounded(ceiling, formatting.short(value)) if ceiling else formatting.short(value),
        hover=_hover(curve),
        note=note,
    )


def _hover(curve: Curve) -> str:
    ceiling, price = curve.ceiling, curve.setup.price_per_hour
    if ceiling is None or price is None:
        return ""
    cost = dollars_per_million(ceiling.throughput_ops_s, price)
    nodes = curve.setup.nodes
    return "<br>".join(
        [
            f"<b>{escaped(curve.label)}</b>",
            f"{bounded(ceiling, formatting.throughput(ceiling.throughput_ops_s))} at "
            f"{formatting.significant(price)} US$ per hour"
            + (f" for {nodes} node{'s' if nodes > 1 else ''}" if nodes else ""),
            f"{formatting.significant(cost)} US$ per million operations" if cost else "",
            ladder_says(ceiling),
        ]
    )
