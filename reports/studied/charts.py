"""The studies' figures drawn again, as far as their numbers were printed."""

from collections.abc import Callable, Sequence
from functools import partial

from benchsite.core import formatting
from reports.figures.bars import Bar, bars_figure
from reports.figures.bars import height_px as bars_height
from reports.figures.figure import Figure
from reports.figures.layout import (
    HOVER,
    Frame,
    PlotlyFigure,
    Trace,
    axis,
    base_layout,
    escaped,
    rounded,
    scatter,
    shortened,
)
from reports.figures.points import MARKER_PX
from reports.figures.table import Table
from reports.figures.theme import DASHES, PATTERNS, SYMBOLS, Look, Theme
from reports.studied.checks import Bucket, buckets_of
from reports.studied.tables import tables_of
from runs.studies import SYSTEMS, Fact, Study

HOLLOW = "Hollow is what is disputed."


class PrintedFigure(Figure):
    """One figure of a study's page: what the study printed, drawn. Nothing of it was measured here."""

    def __init__(
        self,
        study: Study,
        key: str,
        title: str,
        table: str,
        draw: Callable[[Frame], PlotlyFigure],
        says: str,
        height_px: int = 0,
    ) -> None:
        """`key` is its address, `table` the name of the study's table that it draws, `says` begins the caption."""
        self.key = key
        self.name = f"{study.slug}-{key}"
        self.title = title
        self._study, self._table, self._draw, self._says, self._height_px = study, table, draw, says, height_px

    def draw(self, frame: Frame) -> PlotlyFigure:
        return self._draw(frame)

    @property
    def caption(self) -> str:
        return f"{self._says} Printed by {self._study.name}; nothing of it was measured here."

    @property
    def table(self) -> Table:
        return next(drawn.table for drawn in tables_of(self._study) if drawn.name == self._table)

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"published by {self._study.name}",)

    @property
    def height_px(self) -> int:
        return self._height_px


def pictures_of(study: Study) -> tuple[PrintedFigure, ...]:
    """The pictures that can be drawn from what the study printed; none for a study that printed none of a figure."""
    makers = {
        "thumbtack-2013": _disk_layouts,
        "thumbtack-2014": _by_nodes,
        "aerospike-2017": _both_tests,
        "vari-2013": _histogram,
    }
    return makers[study.slug](study) if study.slug in makers else ()


def _by_nodes(study: Study) -> tuple[PrintedFigure, ...]:
    figures = []
    for workload in dict.fromkeys(fact.workload for fact in study.facts if fact.metric == "max_throughput"):
        slug = workload.split(" ", 1)[0].lower()
        for metric, table, title, ideal in (
            ("max_throughput", "throughput", "greatest throughput (ops/s)", True),
            ("latency_before_rapid_rise", "latency", "latency before the rise (ms)", False),
        ):
            facts = [fact for fact in study.facts if (fact.workload, fact.metric) == (workload, metric)]
            says = f"Dotted: in proportion to the nodes. {HOLLOW}" if ideal else "Unit and statistic are inferred."
            draw = partial(_lines_figure, facts, title=title, ideal=ideal)
            heading = f"{workload}: {title.split(' (', 1)[0]}"
            figures.append(PrintedFigure(study, f"{table}-{slug}", heading, table, draw, says))
    return tuple(figures)


def _lines_figure(facts: Sequence[Fact], frame: Frame, *, title: str, ideal: bool) -> PlotlyFigure:
    """A line of each system over nodes; with `ideal` the dotted lines say what as many nodes would bring at best."""
    layout = base_layout(frame)
    layout["showlegend"] = True
    layout["xaxis"] = axis(frame, "nodes of the cluster", tickvals=sorted({int(fact.nodes) for fact in facts}))
    highest = max(fact.value for fact in facts)
    layout["yaxis"] = axis(frame, title, range=[0, highest * 1.12], tickformat="~s" if ideal else "~g")
    traces: list[Trace] = []
    for name in dict.fromkeys(fact.database for fact in facts):
        line = sorted((fact for fact in facts if fact.database == name), key=lambda fact: int(fact.nodes))
        traces += _lines(line, frame, title, ideal)
    return {"data": traces, "layout": layout}


def _lines(facts: Sequence[Fact], frame: Frame, title: str, ideal: bool) -> list[Trace]:
    """One system's printed values, the disputed ones hollow, and before them the ideal."""
    label, number = facts[0].database, _colour_of(facts[0].database)
    colour, symbol = frame.theme.series[number % len(frame.theme.series)], SYMBOLS[number % len(SYMBOLS)]
    unit = title.rsplit("(", 1)[-1].rstrip(")")
    nodes = [int(fact.nodes) for fact in facts]
    trace = scatter(
        nodes,
        [rounded(fact.value) for fact in facts],
        shortened(label),
        hover=[
            f"<b>{escaped(label)}</b><br>{size} nodes: {formatting.significant(fact.value, 4)} {escaped(unit)}"
            + ("<br><b>disputed</b>" if fact.disputed else "")
            for size, fact in zip(nodes, facts, strict=True)
        ],
        mode="lines+markers",
        line={"color": colour, "width": 2.25, "dash": DASHES[number % len(DASHES)]},
        marker={
            "color": colour,
            "size": MARKER_PX,
            "symbol": [f"{symbol}-open" if fact.disputed else symbol for fact in facts],
            "line": {"width": 2, "color": colour},
        },
    )
    if not ideal:
        return [trace]
    dotted = scatter(
        nodes,
        [rounded(facts[0].value * size / nodes[0]) for size in nodes],
        escaped(f"{label}, ideal"),
        mode="lines",
        line={"color": colour, "width": 1, "dash": "dot"},
        opacity=0.7,
        showlegend=False,
    )
    return [dotted, trace]


def _colour_of(database: str) -> int:
    return SYSTEMS.index(database) if database in SYSTEMS else 0


def _disk_layouts(study: Study) -> tuple[PrintedFigure, ...]:
    facts = [study.fact(f"tt13-{number:03d}") for number in range(23, 32)]
    groups = [fact.note.split(". ", 1)[0].split(": ", 1)[-1] for fact in facts]
    names = ["load", "A balanced", "B read-heavy"] * 3

    def draw(frame: Frame) -> PlotlyFigure:
        bars = [
            _bar(fact, group, name, names.index(name), frame.theme, "ops/s")
            for fact, group, name in zip(facts, groups, names, strict=True)
        ]
        return bars_figure(bars, frame, "throughput (ops/s)")

    title, says = "Three disk layouts, drawn", f"Cassandra 1.1.7 on four nodes. {HOLLOW}"
    return (PrintedFigure(study, "disk-layouts", title, "disk-layouts", draw, says, bars_height(9)),)


def _bar(fact: Fact, group: str, name: str, number: int, theme: Theme, unit: str) -> Bar:
    """One printed number; `number` chooses the pattern, the system its colour."""
    look = Look(
        colour=theme.series[_colour_of(fact.database)],
        dash="solid",
        symbol="circle",
        pattern=PATTERNS[number % len(PATTERNS)],
        label=f"{fact.database}, {name}",
    )
    shown = formatting.short(fact.value) if unit == "ops/s" else fact.printed
    hover = [f"<b>{escaped(look.label)}</b>", escaped(group), f"{fact.printed} {escaped(fact.unit)}"]
    if fact.disputed:
        hover.append("<b>disputed</b>")
    return Bar(group, name, look, fact.value, shown, "<br>".join(hover), hollow=bool(fact.disputed))


_TESTS = (("Aerospike, 1 billion", 1), ("Couchbase, 1 billion", 5), ("Couchbase, 215 million", 17))


def _both_tests(study: Study) -> tuple[PrintedFigure, ...]:
    return (
        _test_bars(study, "throughput", "Reads and updates per second", ("reads", "updates"), 0, "ops/s"),
        _test_bars(study, "latency", "95th percentiles", ("read", "update"), 2, "ms"),
    )


def _test_bars(study: Study, name: str, title: str, names: tuple[str, str], offset: int, unit: str) -> PrintedFigure:
    def draw(frame: Frame) -> PlotlyFigure:
        bars = [
            _bar(study.fact(f"as17-{first + offset + number:03d}"), group, operation, number, frame.theme, unit)
            for group, first in _TESTS
            for number, operation in enumerate(names)
        ]
        axis_title = "operations of a kind (ops/s)" if unit == "ops/s" else "95th percentile (ms)"
        return bars_figure(bars, frame, axis_title)

    says = "Primary test with 1 billion uniform records, modified test with 215 million zipfian ones."
    return PrintedFigure(study, name, title, "both-tests", draw, says)


def _histogram(study: Study) -> tuple[PrintedFigure, ...]:
    says = f"2,000,000 reads in buckets by powers of two; empty buckets have no bar. {HOLLOW}"
    draw = partial(_histogram_figure, buckets_of(study))
    return (PrintedFigure(study, "buckets", "The histogram, drawn", "buckets", draw, says),)


def _histogram_figure(buckets: Sequence[Bucket], frame: Frame) -> PlotlyFigure:
    """Operations per bucket, logarithmic, so that a bucket of twelve is seen beside one of a million."""
    layout = base_layout(frame)
    labels = [
        f"> {formatting.latency(bucket.low_us)}"
        if bucket.high_us is None
        else f"≤ {formatting.latency(bucket.high_us)}"
        for bucket in buckets
    ]
    layout["xaxis"] = axis(
        frame, "latency", tickvals=list(range(len(buckets))), ticktext=labels, showgrid=False, tickangle=-60
    )
    layout["yaxis"] = axis(frame, "operations", type="log", dtick=1, tickformat="~s")
    layout["bargap"] = 0.12
    layout["margin"]["b"] = 78
    colour = frame.theme.series[0]
    trace = {
        "type": "bar",
        "x": list(range(len(buckets))),
        "y": [bucket.count or None for bucket in buckets],
        "marker": {
            "color": ["rgba(0,0,0,0)" if bucket.fact.disputed else colour for bucket in buckets],
            "line": {"color": colour, "width": 1.5},
        },
        "text": [
            f"{label}: {formatting.grouped(bucket.count)} operations"
            + ("<br><b>disputed</b>" if bucket.fact.disputed else "")
            for label, bucket in zip(labels, buckets, strict=True)
        ],
        "textposition": "none",
        "hovertemplate": HOVER,
    }
    return {"data": [trace], "layout": layout}
