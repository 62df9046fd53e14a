"""Throughput over the number of nodes, against what as many nodes would bring at best."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.table import Cell, Columns, Table, bounded_percent, tabulated
from reports.compare.analysis.scalability import Scalability, score
from reports.compare.curves import Curve, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import CurvesFigure, named
from reports.compare.figures.layout import (
    Frame,
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
    is_drawn,
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


@dataclass(frozen=True, slots=True)
class Scaling:
    """One system in one mode under one workload on clusters of several sizes, the smallest first."""

    label: str
    sizes: Mapping[int, Curve]  # the one with the highest ceiling of each number of nodes
    score: Scalability | None

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
    return [_scaling(" · ".join(part for part in key if part), group) for key, group in groups.items()]


def _scaling(label: str, curves: Sequence[Curve]) -> Scaling:
    highest: dict[int, Curve] = {}
    for curve in sorted(curves, key=lambda curve: -curve.ceiling_ops_s):
        highest.setdefault(curve.setup.nodes or 0, curve)
    best = dict(sorted(highest.items()))
    short = [nodes for nodes, curve in best.items() if curve.is_lower_bound]
    reached = {nodes: curve.ceiling_ops_s for nodes, curve in best.items()}
    return Scaling(label, best, score(reached, lower_bounds=short))


def assign_looks(scalings: Sequence[Scaling], frame: Frame, highlight: str) -> Mapping[str, Look]:
    """As of the databases: one colour per system, although every size is a database of its own."""
    first = {scaling.label: scaling.sizes[min(scaling.sizes)] for scaling in scalings}
    systems = [replace(curve, database_name=curve.system_name) for curve in first.values()]
    appearance = looks(systems, frame.theme, highlight=highlight)
    return {label: appearance[curve.sweep_id] for label, curve in first.items()}


class ScalabilityFigure(CurvesFigure):
    """Ceilings over nodes from zero, so that the ideal is a straight line through the smallest size."""

    name = "scalability"

    def __init__(self, curves: Sequence[Curve], *, highlight: str = "", published: Sequence[Published] = ()) -> None:
        super().__init__(curves, highlight=highlight)
        self.published = [result for result in published if result.nodes and is_drawn(result.throughput_ops_s)]

    @cached_property
    def scalings(self) -> list[Scaling]:
        return build_scalings(self.curves)

    def draw(self, frame: Frame) -> PlotlyFigure:
        scalings = self.scalings
        appearance = assign_looks(scalings, frame, self.highlight)
        ceilings_ops_s = [curve.ceiling_ops_s for scaling in scalings for curve in scaling.sizes.values()]
        nodes = sorted({result.nodes or 0 for result in self.published}.union(*(scaling.sizes for scaling in scalings)))
        highest = max(ceilings_ops_s, default=1.0)
        layout = base_layout(frame)
        layout["showlegend"] = True
        ideal = [scaling.ideal_ops_s(max(scaling.sizes)) for scaling in scalings if not appearance[scaling.label].faded]
        # No ideal line ends before its last size.
        top = max([highest * 1.25, find_highest(self.published) * 1.25, *(end * 1.05 for end in ideal)])
        ranges = [0, max(nodes, default=1) * 1.06], [0, top]
        kinds: dict[str, str] = {}
        if ceilings_ops_s and highest * TOWERING < find_highest(self.published):
            # The ideal is straight here too.
            ranges = _log_range(min(nodes), max(nodes)), _log_range(min(ceilings_ops_s), top)
            kinds = {"type": "log"}
        layout["xaxis"] = axis(frame, "nodes of the cluster", tickvals=nodes, range=ranges[0], **kinds)
        layout["yaxis"] = ceiling_axis(frame, range=ranges[1], **kinds)
        ordered = sorted(scalings, key=lambda scaling: not appearance[scaling.label].faded)
        traces = [(scaling, _line(scaling, appearance[scaling.label])) for scaling in ordered]
        if any(appearance[scaling.label].faded for scaling in ordered) or len(ordered) > marks.MAX_WITH_RINGS:
            marks.fold_legend(
                [
                    ([trace], scaling.sizes[min(scaling.sizes)].system_name, appearance[scaling.label].faded)
                    for scaling, trace in traces
                ]
            )
        elif len(ordered) <= MAX_LABELS:
            ends = [
                End(
                    f"{scaling.label}, {scaling.score_text}" if scaling.score_text else scaling.label,
                    coordinate(layout["yaxis"], scaling.sizes[max(scaling.sizes)].ceiling_ops_s),
                    appearance[scaling.label].colour,
                )
                for scaling in ordered
            ]
            label_ends(layout, ends, longest=44, inside=frame.narrow)
            for _, trace in traces:
                trace["showlegend"] = False

        ideals: list[Trace] = []
        above: list[Trace] = []
        for scaling in ordered:
            ideals += _ideal(scaling, appearance[scaling.label])
            above += _super_linear(scaling, appearance[scaling.label])

        data = list(_published_lines(self.published, frame)) + ideals + [trace for _, trace in traces] + above
        keys = []
        if ideals:
            line = {"color": frame.theme.muted, "width": 1, "dash": "dot"}
            keys.append({**marks.key(frame, "circle", "ideal, from the smallest size"), "mode": "lines", "line": line})

        if above:
            keys.append(marks.key(frame, "triangle-up-open", SUPER_LINEAR))
        return {"data": data + keys, "layout": layout}

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
        return tabulated(
            COLUMNS,
            (
                SimpleNamespace(scaling=scaling, nodes=nodes, curve=curve, score=scaling.score)
                for scaling in self.scalings
                for nodes, curve in scaling.sizes.items()
            ),
        )

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
            [rounded(result.throughput_ops_s or 0.0) for result in results],
            NAMED,
            hover=[build_hover_text(result) for result in results],
            mode="lines+markers",
            legendgroup=NAMED,
            showlegend=number == 0,
            line={"color": frame.theme.grey, "width": 1, "dash": "dot"},
            marker=marks.marker(frame.theme.grey, SYMBOLS[0], marks.MARKER_PX + 2),
        )


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
