"""Throughput over the number of nodes, against what as many nodes would bring at best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from benchsite import formatting
from reports.analysis.ceiling import Ceiling
from reports.analysis.cost import per_node
from reports.analysis.scalability import Scalability, score
from reports.curves import Curve, in_order
from reports.figures import captions
from reports.figures import points as marks
from reports.figures.ends import MAX_LABELS, End, label_ends
from reports.figures.figure import CurvesFigure, named, sentences
from reports.figures.layout import Frame, PlotlyFigure, Trace, axis, base_layout, escaped, rounded, scatter
from reports.figures.table import Columns, Table, bounded_percent, tabulated
from reports.figures.theme import Look, looks

SUPER_LINEAR = "more than the nodes account for"


@dataclass(frozen=True, slots=True)
class Size:
    """The highest ceiling of one cluster size; throughput in operations per second."""

    nodes: int
    curve: Curve
    ceiling: Ceiling


@dataclass(frozen=True, slots=True)
class Scaling:
    """One system in one mode under one workload on clusters of several sizes, the smallest first."""

    label: str
    sizes: tuple[Size, ...]
    score: Scalability | None

    @property
    def score_text(self) -> str:
        """ "≥ 85 %"; empty where there is none, or it may be anything."""
        sign = self.score.sign if self.score else None
        return "" if sign is None or self.score is None else f"{sign}{formatting.percent(self.score.score)}"

    @property
    def score_label(self) -> str:
        if self.score_text:
            return f"{self.score_text} of the ideal gain"
        return "gain not known" if self.score else "one size"

    def ideal_ops_s(self, nodes: int) -> float:
        return self.sizes[0].ceiling.throughput_ops_s * nodes / self.sizes[0].nodes


def scalings_of(curves: Sequence[Curve]) -> list[Scaling]:
    """Curves that differ in their cluster's nodes only belong together; those of unknown size to nothing."""
    groups: dict[tuple[str, ...], list[Curve]] = {}
    versions = {(c.system_name, c.setup.version) for c in curves}
    told = len(versions) > len({system for system, _ in versions})
    workloads = len({curve.workload for curve in curves}) > 1
    for curve in in_order(curves):
        if not curve.setup.nodes or not curve.ceiling or curve.ceiling.throughput_ops_s <= 0:
            continue
        names = [curve.system_name, *([curve.setup.version] if told else []), curve.mode]
        groups.setdefault((*names, *([curve.workload] if workloads else [])), []).append(curve)
    return [_scaling(" · ".join(part for part in key if part), group) for key, group in groups.items()]


def _scaling(label: str, curves: Sequence[Curve]) -> Scaling:
    best: dict[int, Size] = {}
    for curve in curves:
        nodes, found = curve.setup.nodes, curve.ceiling
        if nodes and found and (nodes not in best or best[nodes].ceiling.throughput_ops_s < found.throughput_ops_s):
            best[nodes] = Size(nodes, curve, found)
    sizes = tuple(best[nodes] for nodes in sorted(best))
    short = [size.nodes for size in sizes if size.ceiling.is_lower_bound]
    reached = {size.nodes: size.ceiling.throughput_ops_s for size in sizes}
    return Scaling(label, sizes, score(reached, lower_bounds=short))


def looks_of(scalings: Sequence[Scaling], frame: Frame, highlight: str = "") -> Mapping[str, Look]:
    """As of the databases: one colour per system, although every size is a database of its own."""
    first = {one.label: one.sizes[0].curve for one in scalings}
    systems = [replace(curve, database_name=curve.system_name) for curve in first.values()]
    appearance = looks(systems, frame.theme, highlight=highlight)
    return {label: appearance[curve.sweep_id] for label, curve in first.items()}


COLUMNS: Final[Columns] = {
    "what": lambda scaling, size, score: scaling.label,
    "database": lambda scaling, size, score: size.curve.database_name,
    "nodes": lambda scaling, size, score: size.nodes,
    "ceiling (ops/s)": lambda scaling, size, score: size.ceiling.throughput_ops_s,
    "per node (ops/s)": lambda scaling, size, score: per_node(size.ceiling.throughput_ops_s, size.nodes),
    "gain over the smallest (%)": lambda scaling, size, score: (
        score and bounded_percent(score.gains.get(size.nodes), score.gain_sign(size.nodes))
    ),
    "ideal gain (%)": lambda scaling, size, score: score and bounded_percent(score.ideals.get(size.nodes), ""),
    "speed-up efficiency (%)": lambda scaling, size, score: (
        score and bounded_percent(score.speedup_efficiency.get(size.nodes), score.gain_sign(size.nodes))
    ),
    "score (%)": lambda scaling, size, score: score and bounded_percent(score.score, score.sign),
    "more than the nodes account for": lambda scaling, size, score: (
        "yes" if score and size.nodes in score.super_linear else ""
    ),
}


class ScalabilityFigure(CurvesFigure):
    """Ceilings over nodes from zero, so that the ideal is a straight line through the smallest size."""

    name = "scalability"

    @cached_property
    def scalings(self) -> list[Scaling]:
        return scalings_of(self.curves)

    def draw(self, frame: Frame) -> PlotlyFigure:
        scalings = self.scalings
        appearance = looks_of(scalings, frame, self.highlight)
        nodes = sorted({size.nodes for one in scalings for size in one.sizes})
        highest = max((size.ceiling.throughput_ops_s for one in scalings for size in one.sizes), default=1.0)
        layout = base_layout(frame)
        layout["showlegend"] = True
        most = max(nodes, default=1)
        layout["xaxis"] = axis(frame, "nodes of the cluster", tickvals=nodes, range=[0, most * 1.06])
        title = "ceiling (ops/s)" if frame.narrow else "throughput ceiling (ops/s)"
        ideal = [one.ideal_ops_s(one.sizes[-1].nodes) for one in scalings if not appearance[one.label].faded]
        top = max([highest * 1.25, *(end * 1.05 for end in ideal)])  # No ideal line ends before its last size.
        layout["yaxis"] = axis(frame, title, tickformat="~s", range=[0, top])
        ordered = sorted(scalings, key=lambda one: not appearance[one.label].faded)
        traces = [(one, _line(one, appearance[one.label])) for one in ordered]
        if any(appearance[one.label].faded for one in ordered) or len(ordered) > marks.MAX_WITH_RINGS:
            marks.fold_legend([(t, one.sizes[0].curve.system_name, appearance[one.label].faded) for one, t in traces])
        elif len(ordered) <= MAX_LABELS:
            ends = [
                End(
                    f"{one.label}, {one.score_text}" if one.score_text else one.label,
                    one.sizes[-1].ceiling.throughput_ops_s,
                    appearance[one.label].colour,
                )
                for one in ordered
            ]
            label_ends(layout, ends, longest=44, inside=frame.narrow)
            for _, trace in traces:
                trace["showlegend"] = False
        ideals = [trace for one in ordered for trace in _ideal(one, appearance[one.label])]
        above = [trace for one in ordered for trace in _super_linear(one, appearance[one.label])]
        data = ideals + [trace for _, trace in traces] + above
        return {"data": data + _keys(frame, bool(ideals), bool(above)), "layout": layout}

    @property
    def caption(self) -> str:
        return sentences(
            "Highest throughput on clusters of several sizes; 100 % of the ideal gain is as many times the smallest "
            "cluster's throughput as there are times its nodes",
            named("of unknown size", [curve for curve in self.curves if not curve.setup.nodes]),
            captions.caption(self.curves),
        )

    @property
    def table(self) -> Table:
        """A row per size; gains and scores in per cent, unrounded."""
        return tabulated(COLUMNS, ((one, size, one.score) for one in self.scalings for size in one.sizes))

    def lacking(self) -> str:
        if any(one.score for one in self.scalings):
            return ""
        return (
            "Every sweep stands on a cluster of one size. Measure the same database and mode on clusters of several "
            "sizes, and choose all of their sweeps."
        )


def _line(one: Scaling, look: Look) -> Trace:
    trace = marks.line(
        look,
        x=[float(size.nodes) for size in one.sizes],
        y=[rounded(size.ceiling.throughput_ops_s) for size in one.sizes],
        hover=[_hover(one, size) for size in one.sizes],
    )
    return {**trace, "name": escaped(f"{one.label}, {one.score_label}"), "legendgroup": escaped(one.label)}


def _hover(one: Scaling, size: Size) -> str:
    lines = [
        f"<b>{escaped(one.label)}</b>",
        f"{size.nodes} node{'s' if size.nodes > 1 else ''}: {formatting.throughput(size.ceiling.throughput_ops_s)}",
        escaped(size.curve.database_name),
    ]
    if size.ceiling.is_lower_bound:
        lines.append("at least: the ladder is too short")
    sign = one.score.gain_sign(size.nodes) if one.score else None
    if one.score and size.nodes in one.score.gains and sign is not None:
        gain, ideal = one.score.gains[size.nodes], one.score.ideals[size.nodes]
        lines.append(
            f"{sign}{formatting.signed_percent(gain)} over {one.score.base} nodes; "
            f"ideal {formatting.signed_percent(ideal)}"
        )
        if size.nodes in one.score.super_linear:
            lines.append(f"{SUPER_LINEAR}: look for what else differs")
    return "<br>".join(lines)


def _ideal(one: Scaling, look: Look) -> list[Trace]:
    """As many times the smallest size as there are times its nodes, up to the last size."""
    if len(one.sizes) < 2 or look.faded:
        return []
    base, last = one.sizes[0], one.sizes[-1].nodes
    return [
        scatter(
            [base.nodes, last],
            [rounded(base.ceiling.throughput_ops_s), rounded(one.ideal_ops_s(last))],
            escaped(f"{one.label}, ideal"),
            mode="lines",
            legendgroup=escaped(one.label),
            showlegend=False,
            line={"color": look.colour, "width": 1, "dash": "dot"},
            opacity=0.7,
        )
    ]


def _super_linear(one: Scaling, look: Look) -> list[Trace]:
    above = one.score.super_linear if one.score else ()
    return [
        marks.ring(
            look, "triangle-up-open", SUPER_LINEAR, x=float(size.nodes), y=rounded(size.ceiling.throughput_ops_s)
        )
        for size in one.sizes
        if size.nodes in above and not look.faded
    ]


def _keys(frame: Frame, ideal: bool, above: bool) -> list[Trace]:
    found = []
    if ideal:
        line = {"color": frame.theme.muted, "width": 1, "dash": "dot"}
        found.append({**marks.key(frame, "circle", "ideal, from the smallest size"), "mode": "lines", "line": line})
    if above:
        found.append(marks.key(frame, "triangle-up-open", SUPER_LINEAR))
    return found
