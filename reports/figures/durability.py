"""What each guarantee costs: the ceiling over what survives, from the weakest promise to the strongest."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from benchsite.core import formatting
from reports.analysis.ratios import bound_sign
from reports.curves import Curve, durability_key, in_order, promise_of
from reports.figures import captions
from reports.figures import points as marks
from reports.figures.figure import CurvesFigure, named, sentences
from reports.figures.layout import (
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    escaped,
    rounded,
    shortened,
)
from reports.figures.points import MAX_LABELS, End, label_ends
from reports.figures.table import Columns, Table, bounded_percent, tabulated
from reports.figures.theme import SYMBOLS, Look, looks
from reports.ladder_text import ceiling_text, ladder_says, status_sentences

LINE_CHARACTERS = 105  # below the whole axis
NARROW_CHARACTERS = 40
MAX_UPRIGHT = 5  # places, in a narrow figure
SLANTED_CHARACTERS = 28


@dataclass(frozen=True, slots=True)
class Step:
    """One ceiling and what it costs against the weakest promise of the same line; shares, not per cent."""

    place: int  # on the axis: 0 is the weakest promise
    curve: Curve
    throughput_ops_s: float
    change: float | None  # -0.4: two fifths lower; None for the weakest
    sign: str | None = ""  # before the change; None: both ceilings are lower bounds, so it may be anything

    @property
    def change_text(self) -> str:
        """ "≥ +40 %"; empty for the weakest promise, and where nothing is known."""
        return "" if self.change is None or self.sign is None else f"{self.sign}{cost_said(self.change)}"


@dataclass(frozen=True, slots=True)
class Trade:
    """One database under one workload: the best ceiling of each promise, and the other modes of the same promise."""

    label: str
    steps: tuple[Step, ...]
    others: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Promises:
    """The axis' places, in words, and who stands on them."""

    names: tuple[str, ...]
    trades: tuple[Trade, ...]
    unknown: tuple[Curve, ...]  # nobody knows what these promise


def promises_of(curves: Sequence[Curve]) -> Promises:
    """The promises that occur, the weakest first: fewer copies, then less safe ones, then a longer loss."""
    with_ceiling = [curve for curve in in_order(curves) if curve.ceiling and curve.ceiling.throughput_ops_s > 0]
    known = [curve for curve in with_ceiling if curve.durability]
    records = {durability_key(curve.durability): curve.durability for curve in known}
    order = sorted(records, reverse=True)
    places = {key: place for place, key in enumerate(order)}
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in known:
        groups.setdefault((curve.database_name, curve.workload), []).append(curve)
    several = len({workload for _, workload in groups}) > 1
    return Promises(
        names=tuple(promise_of(records[key]) for key in order),
        trades=tuple(
            _trade(f"{database} · {workload}" if several else database, group, places)
            for (database, workload), group in groups.items()
        ),
        unknown=tuple(curve for curve in with_ceiling if not curve.durability),
    )


def _trade(label: str, curves: Sequence[Curve], places: Mapping[tuple[float, ...], int]) -> Trade:
    at: dict[int, list[Curve]] = {}
    for curve in curves:
        at.setdefault(places[durability_key(curve.durability)], []).append(curve)
    for same in at.values():
        same.sort(key=lambda curve: curve.ceiling_ops_s, reverse=True)
    weakest = at[min(at)][0]

    def step(place: int, curve: Curve) -> Step:
        change = curve.ceiling_ops_s / weakest.ceiling_ops_s - 1 if place > min(at) else None
        return Step(place, curve, curve.ceiling_ops_s, change, bound_sign(_is_bound(curve), _is_bound(weakest)))

    return Trade(
        label,
        tuple(step(place, at[place][0]) for place in sorted(at)),
        tuple(step(place, curve) for place in sorted(at) for curve in at[place][1:]),
    )


def _is_bound(curve: Curve) -> bool:
    return curve.ceiling is not None and curve.ceiling.is_lower_bound


COLUMNS: Final[Columns] = {
    "database": lambda step, promise: step.curve.database_name,
    "workload": lambda step, promise: step.curve.workload,
    "mode": lambda step, promise: step.curve.mode,
    "an acknowledged write waits for, and may be lost": lambda step, promise: promise,
    "place": lambda step, promise: step.place,
    "ceiling (ops/s)": lambda step, promise: step.throughput_ops_s,
    "against the weakest promise (%)": lambda step, promise: bounded_percent(step.change, step.sign),
    "ladder": lambda step, promise: ladder_says(step.curve.ceiling),
}


class DurabilityFigure(CurvesFigure):
    """One line per database over the ordered promises, with what each step costs beside its point."""

    name = "durability"

    @cached_property
    def promises(self) -> Promises:
        return promises_of(self.curves)

    def draw(self, frame: Frame) -> PlotlyFigure:
        promises = self.promises
        appearance = looks(self.among, frame.theme, highlight=self.highlight)
        layout = base_layout(frame)
        last = max(len(promises.names) - 1, 0)
        layout["xaxis"] = axis(
            frame,
            "" if frame.narrow else "what a write waits for, and may lose; the weakest promise first",
            tickvals=list(range(last + 1)),
            ticktext=[_tick(name, last + 1, frame) for name in promises.names],
            range=[-0.35, last + (0.5 if frame.narrow else 0.35)],
            tickangle=-55 if _slanted(last + 1, frame) else 0,
            ticklabeloverflow="allow",
            showgrid=False,
        )
        highest = max((step.throughput_ops_s for trade in promises.trades for step in trade.steps), default=1.0)
        title = "ceiling (ops/s)" if frame.narrow else "throughput ceiling (ops/s)"
        layout["yaxis"] = axis(frame, title, tickformat="~s", range=[0, highest * 1.15])
        looked = [(trade, appearance[trade.steps[0].curve.sweep_id]) for trade in promises.trades]
        traces = [(trade, look, _lines(trade, look, number)) for number, (trade, look) in enumerate(looked)]
        traces.sort(key=lambda drawn: not drawn[1].faded)
        clear = [(trade, look) for trade, look, _ in traces if not look.faded]
        if len(clear) < len(traces) or len(traces) > marks.MAX_WITH_RINGS:
            marks.fold_legend([(some[0], look.group, look.faded) for _, look, some in traces])
        if len(clear) <= MAX_LABELS:
            _annotate(layout, clear, frame)
        layout["showlegend"] = frame.narrow or len(clear) < len(traces) or len(clear) > MAX_LABELS
        return {"data": [trace for _, _, some in traces for trace in some], "layout": layout}

    @property
    def caption(self) -> str:
        return sentences(
            "Ceiling of each database over what its modes promise for an acknowledged write; per cent against the "
            "same database's weakest promise",
            named("not placed, durability unknown", self.promises.unknown),
            *status_sentences(self.curves),
            captions.caption(self.curves),
        )

    @property
    def table(self) -> Table:
        """A row per mode, the weakest promise of each database first."""
        return tabulated(
            COLUMNS,
            (
                (step, self.promises.names[step.place])
                for trade in self.promises.trades
                for step in sorted((*trade.steps, *trade.others), key=lambda step: (step.place, -step.throughput_ops_s))
            ),
        )

    def lacking(self) -> str:
        if self.promises.trades:
            return ""
        return "Of none of these sweeps is known both a ceiling and what its durability mode promises."


def cost_said(change: float) -> str:
    """A change in whole per cent: more digits would claim more than two ceilings can tell."""
    whole = round(change * 100)
    sign = formatting.MINUS if whole < 0 else "+" if whole > 0 else "\N{PLUS-MINUS SIGN}"
    return f"{sign}{abs(whole)}{formatting.THIN}%"


def _tick(name: str, places: int, frame: Frame) -> str:
    """What was done, then what may be lost, in lines that leave the neighbours their room."""
    if _slanted(places, frame):
        return shortened(name, SLANTED_CHARACTERS)
    width = max(8, (NARROW_CHARACTERS if frame.narrow else LINE_CHARACTERS) // places)
    # A number stays with its unit.
    kept = f"{name.removesuffix(' s')}{formatting.THIN}s" if name.endswith(" s") else name
    lines = [line for part in kept.split(", ") for line in textwrap.wrap(part, width)]
    return "<br>".join(map(escaped, lines))


def _slanted(places: int, frame: Frame) -> bool:
    return frame.narrow and places > MAX_UPRIGHT


def _lines(trade: Trade, look: Look, number: int) -> list[Trace]:
    """The place says the mode here, so that dash and marker are free to tell databases apart without colour."""
    symbol = SYMBOLS[number % len(SYMBOLS)]
    line = marks.line(
        look,
        x=[float(step.place) for step in trade.steps],
        y=[rounded(step.throughput_ops_s) for step in trade.steps],
        hover=[_hover(step) for step in trade.steps],
    )
    line["line"] = {**line["line"], "dash": "solid"}
    line["marker"] = {**line["marker"], "symbol": symbol}
    line["name"] = line["legendgroup"] = escaped(trade.label)
    if not trade.others:
        return [line]
    others = {
        **line,
        "mode": "markers",
        "showlegend": False,
        "x": [float(step.place) for step in trade.others],
        "y": [rounded(step.throughput_ops_s) for step in trade.others],
        "text": [_hover(step) for step in trade.others],
        "marker": {**line["marker"], "size": marks.MARKER_PX - 2},
    }
    return [line, others]


def _hover(step: Step) -> str:
    curve = step.curve
    lines = [f"<b>{escaped(curve.label)}</b>", escaped(curve.promise)]
    if curve.ceiling:
        lines += [ceiling_text(curve.ceiling), ladder_says(curve.ceiling)]
    if step.change is not None and step.sign is not None:
        lines.append(f"{step.sign}{formatting.signed_percent(step.change)} against its weakest promise")
    return "<br>".join(lines)


def _annotate(layout: Layout, clear: Sequence[tuple[Trade, Look]], frame: Frame) -> None:
    """The names at the right, and at every point after the first what it costs."""
    if not frame.narrow and len(clear) > 1:
        label_ends(layout, [End(trade.label, trade.steps[-1].throughput_ops_s, look.colour) for trade, look in clear])
    for trade, look in clear:
        for step in trade.steps[1:]:
            layout["annotations"].append(
                annotation(
                    step.change_text,
                    look.colour,
                    x=step.place,
                    y=rounded(step.throughput_ops_s),
                    xanchor="left",
                    yanchor="bottom",
                    xshift=5,
                    yshift=4,
                )
            )
