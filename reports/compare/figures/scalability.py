"""Throughput over the number of nodes, against what as many nodes would bring at best."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.table import Cell, Columns, Table, bounded_percent, tabulated
from reports.compare.analysis.scalability import score
from reports.compare.curves import Curve, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import CurvesFigure, named
from reports.compare.figures.layout import (
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    axis,
    base_layout,
    ceiling_axis,
    coordinate,
    escaped,
    rounded,
    scatter,
)
from reports.compare.figures.overlay import (
    NAMED,
    SYMBOLS,
    TOWERING,
    Published,
    build_hover_text,
    find_highest,
    published_said,
)
from reports.compare.figures.points import MAX_LABELS, End, label_ends
from reports.compare.figures.theme import Look, looks
from reports.compare.ladder_text import ceiling_text, ladder_says, status_sentences
from reports.compare.messages import IDEAL_GAIN, LOOK_FOR_DIFFERENCES, ONE_SIZE, SIZES
from reports.sizing.analysis import per_node

SUPER_LINEAR = "more than the nodes account for"
COLUMNS: Final[Columns] = {
    "what": "scaling.label",
    "database": "curve.database_name",
    "nodes": "nodes",
    "ceiling (ops/s)": "curve.ceiling_ops_s",
    "per node (ops/s)": lambda row: per_node(row.curve.ceiling_ops_s, row.nodes),
    "gain over the smallest (%)": lambda row: _gained(row, "gains"),
    "ideal gain (%)": lambda row: row.score and bounded_percent(row.score.ideals.get(row.nodes), ""),
    "speed-up efficiency (%)": lambda row: _gained(row, "speedup_efficiency"),
    "score (%)": lambda row: row.score and bounded_percent(row.score.score, row.score.sign),
    SUPER_LINEAR: lambda row: "yes" if row.score and row.nodes in row.score.super_linear else "",
    "ladder": lambda row: ladder_says(row.curve.ceiling),
}


def _gained(row: Any, name: str) -> Cell:
    score = row.score
    return score and bounded_percent(getattr(score, name).get(row.nodes), score.gain_sign(row.nodes))


class Scaling:
    """One system in one mode under one workload on clusters of several sizes."""

    def __init__(self, label: str, curves: Sequence[Curve]) -> None:
        self.label = label
        # The one with the highest ceiling of each number of nodes, the smallest first.
        by_ceiling = sorted(curves, key=lambda curve: curve.ceiling_ops_s)
        self.sizes = dict(sorted({curve.setup.nodes or 0: curve for curve in by_ceiling}.items()))
        lower_bounds = [nodes for nodes, curve in self.sizes.items() if curve.is_lower_bound]
        ceilings_ops_s = {nodes: curve.ceiling_ops_s for nodes, curve in self.sizes.items()}
        self.score = score(ceilings_ops_s, lower_bounds)

    @property
    def score_text(self) -> str:
        """ "≥ 85 %"; empty where there is none, or it may be anything."""
        sign = None
        if self.score:
            sign = self.score.sign
        if sign is None or self.score is None:
            return ""
        return f"{sign}{formatting.percent(self.score.score)}"

    def ideal_ops_s(self, nodes: int) -> float:
        base = min(self.sizes)
        return self.sizes[base].ceiling_ops_s * nodes / base


def build_scalings(curves: Sequence[Curve]) -> list[Scaling]:
    """Curves that differ in their cluster's nodes only belong together; those of unknown size to nothing."""
    groups: dict[tuple[str, ...], list[Curve]] = {}
    versions = {(c.system_name, c.setup.version) for c in curves}
    has_versions = len(versions) > len({system for system, _ in versions})
    workloads = len({curve.workload for curve in curves}) > 1
    for curve in in_order(curves):
        if not curve.setup.nodes or curve.ceiling_ops_s <= 0:
            continue
        names = [curve.system_name, *([curve.setup.version] if has_versions else []), curve.mode]
        groups.setdefault((*names, *([curve.workload] if workloads else [])), []).append(curve)
    return [Scaling(" · ".join(filter(None, key)), group) for key, group in groups.items()]


def assign_looks(scalings: Sequence[Scaling], frame: Frame, highlight: str) -> list[tuple[Scaling, Look]]:
    """As of the databases: one colour per system, although every size is a database of its own. Grey ones first."""
    first = [scaling.sizes[min(scaling.sizes)] for scaling in scalings]
    systems = [replace(curve, database_name=curve.system_name) for curve in first]
    appearance = looks(systems, frame.theme, highlight=highlight)
    pairs = [(scaling, appearance[curve.sweep_id]) for scaling, curve in zip(scalings, first, strict=True)]
    return sorted(pairs, key=lambda pair: not pair[1].faded)


class ScalabilityFigure(CurvesFigure):
    """Ceilings over nodes from zero, so that the ideal is a straight line through the smallest size."""

    name = "scalability"

    def __init__(self, curves: Sequence[Curve], *, highlight: str = "", published: Sequence[Published] = ()) -> None:
        super().__init__(curves, highlight=highlight)
        self.published = [result for result in published if result.nodes]

    @cached_property
    def scalings(self) -> list[Scaling]:
        return build_scalings(self.curves)

    def draw(self, frame: Frame) -> PlotlyFigure:
        scalings = assign_looks(self.scalings, frame, self.highlight)
        ceilings_ops_s = [curve.ceiling_ops_s for scaling in self.scalings for curve in scaling.sizes.values()]
        nodes = sorted({result.nodes or 0 for result in self.published}.union(*(s.sizes for s in self.scalings)))
        highest, printed = max(ceilings_ops_s, default=1.0), find_highest(self.published)
        layout = base_layout(frame)
        layout["showlegend"] = True
        ideal_ends = [scaling.ideal_ops_s(max(scaling.sizes)) for scaling, look in scalings if not look.faded]
        # No ideal line ends before its last size.
        top = max([highest * 1.25, printed * 1.25, *(end * 1.05 for end in ideal_ends)])
        ranges = [0, max(nodes, default=1) * 1.06], [0, top]
        kinds: dict[str, str] = {}
        if ceilings_ops_s and highest * TOWERING < printed:
            # The ideal is straight here too.
            ranges = _log_range(min(nodes), max(nodes)), _log_range(min(ceilings_ops_s), top)
            kinds = {"type": "log"}
        layout["xaxis"] = axis(frame, "nodes of the cluster", tickvals=nodes, range=ranges[0], **kinds)
        layout["yaxis"] = ceiling_axis(frame, range=ranges[1], **kinds)
        lines = [_line(scaling, look) for scaling, look in scalings]
        marks.fold_long_legend([([line], look) for line, (_, look) in zip(lines, scalings, strict=True)])
        if len(scalings) <= MAX_LABELS and not any(look.faded for _, look in scalings):
            label_ends(layout, [_end(*pair, layout) for pair in scalings], longest=44, inside=frame.narrow)
            for line in lines:
                line["showlegend"] = False

        ideals = list(chain.from_iterable(_ideal(*pair) for pair in scalings))
        above = list(chain.from_iterable(_super_linear(*pair) for pair in scalings))
        data = [*_published_lines(self.published, frame), *ideals, *lines, *above]
        if ideals:
            style = {"color": frame.theme.muted, "width": 1, "dash": "dot"}
            data.append({**marks.key(frame, "circle", "ideal, from the smallest size"), "mode": "lines", "line": style})
        if above:
            data.append(marks.key(frame, "triangle-up-open", SUPER_LINEAR))
        return {"data": data, "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        return [
            ("Lines", SIZES),
            ("Left out", named("of unknown size", [curve for curve in self.curves if not curve.setup.nodes])),
            *(("Ceilings", text) for text in status_sentences(self.curves)),
            ("Published", published_said(self.published)),
            *captions.list_doubts(self.curves),
            *captions.list_basics(self.curves),
            ("Gain", IDEAL_GAIN),
        ]

    @property
    def table(self) -> Table:
        """A row per size; gains and scores in per cent, unrounded."""
        rows = []
        for scaling in self.scalings:
            for nodes, curve in scaling.sizes.items():
                rows.append(SimpleNamespace(scaling=scaling, nodes=nodes, curve=curve, score=scaling.score))
        return tabulated(COLUMNS, rows)

    def lacking(self) -> str:
        if any(scaling.score for scaling in self.scalings):
            return ""
        return ONE_SIZE


def _log_range(low: float, high: float) -> list[float]:
    """Of a logarithmic axis, with room for the points at its ends."""
    return [math.log10(low * 0.8), math.log10(high * 1.1)]


def _published_lines(published: Sequence[Published], frame: Frame) -> Iterator[Trace]:
    """The sizes that a study printed of one system, joined; all in grey and with one entry of the legend."""
    series = list(dict.fromkeys(result.series for result in published))
    for number, name in enumerate(series):
        results = sorted((r for r in published if r.series == name), key=lambda result: result.nodes or 0)
        yield scatter(
            [result.nodes for result in results],
            [rounded(result.throughput_ops_s) for result in results],
            NAMED,
            hover=[build_hover_text(result) for result in results],
            mode="lines+markers",
            legendgroup=NAMED,
            showlegend=number == 0,
            line={"color": frame.theme.grey, "width": 1, "dash": "dot"},
            marker=marks.marker(frame.theme.grey, SYMBOLS[0], marks.MARKER_PX + 2),
        )


def _end(scaling: Scaling, look: Look, layout: Layout) -> End:
    """The name at the largest size, with the score where there is one."""
    ops_s = scaling.sizes[max(scaling.sizes)].ceiling_ops_s
    name = ", ".join(filter(None, (scaling.label, scaling.score_text)))
    return End(name, coordinate(layout["yaxis"], ops_s), look.colour)


def _line(scaling: Scaling, look: Look) -> Trace:
    trace = marks.line(
        look,
        x=list(map(float, scaling.sizes)),
        y=[rounded(curve.ceiling_ops_s) for curve in scaling.sizes.values()],
        hover=[_hover(scaling, nodes, curve) for nodes, curve in scaling.sizes.items()],
    )
    open_gain = "gain not known" if scaling.score else "one size"
    score = open_gain
    if scaling.score_text:
        score = f"{scaling.score_text} of the ideal gain"
    return {**trace, "name": escaped(f"{scaling.label}, {score}"), "legendgroup": escaped(scaling.label)}


def _hover(scaling: Scaling, nodes: int, curve: Curve) -> str:
    assert curve.ceiling
    lines = [
        f"<b>{escaped(scaling.label)}</b>",
        f"{formatting.counted(nodes, 'node')}: {ceiling_text(curve.ceiling)}",
        escaped(curve.database_name),
    ]
    if curve.is_lower_bound:
        lines.append(ladder_says(curve.ceiling))
    sign = None
    if scaling.score:
        sign = scaling.score.gain_sign(nodes)
    if scaling.score and nodes in scaling.score.gains and sign is not None:
        gain, ideal = scaling.score.gains[nodes], scaling.score.ideals[nodes]
        lines.append(
            f"{sign}{formatting.signed_percent(gain)} over {scaling.score.base} nodes; "
            f"ideal {formatting.signed_percent(ideal)}"
        )
        if nodes in scaling.score.super_linear:
            lines.append(LOOK_FOR_DIFFERENCES.format(gain=SUPER_LINEAR))

    return "<br>".join(lines)


def _ideal(scaling: Scaling, look: Look) -> list[Trace]:
    """As many times the smallest size as there are times its nodes, up to the last size."""
    if len(scaling.sizes) < 2 or look.faded:
        return []

    ends = [min(scaling.sizes), max(scaling.sizes)]
    return [
        scatter(
            ends,
            [rounded(scaling.ideal_ops_s(nodes)) for nodes in ends],
            escaped(f"{scaling.label}, ideal"),
            mode="lines",
            legendgroup=escaped(scaling.label),
            showlegend=False,
            line={"color": look.colour, "width": 1, "dash": "dot"},
            opacity=0.7,
        )
    ]


def _super_linear(scaling: Scaling, look: Look) -> list[Trace]:
    above = scaling.score.super_linear if scaling.score else ()
    return [
        marks.ring(look, "triangle-up-open", SUPER_LINEAR, x=float(nodes), y=rounded(curve.ceiling_ops_s))
        for nodes, curve in scaling.sizes.items()
        if nodes in above and not look.faded
    ]
