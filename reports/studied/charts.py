"""The studies' figures drawn again, as far as their numbers were printed."""

from collections.abc import Callable
from functools import partial

from benchsite.core import formatting
from reports.figures.bars import Bar, bars_figure
from reports.figures.bars import height_px as bars_height
from reports.figures.figure import Figure
from reports.figures.layout import Frame, PlotlyFigure, escaped
from reports.figures.scalability import (
    PrintedBucket,
    PrintedLine,
    printed_histogram_figure,
    printed_lines_figure,
)
from reports.figures.table import Table
from reports.figures.theme import PATTERNS, Look, Theme
from reports.studied.checks import buckets_of
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
            lines = [
                PrintedLine(
                    label=name,
                    colour=_colour_of(name),
                    values=tuple(sorted((int(fact.nodes), fact.value) for fact in facts if fact.database == name)),
                    disputed=frozenset(int(fact.nodes) for fact in facts if fact.database == name and fact.disputed),
                )
                for name in dict.fromkeys(fact.database for fact in facts)
            ]
            says = f"Dotted: in proportion to the nodes. {HOLLOW}" if ideal else "Unit and statistic are inferred."
            draw = partial(printed_lines_figure, lines, title=title, ideal=ideal)
            heading = f"{workload}: {title.split(' (', 1)[0]}"
            figures.append(PrintedFigure(study, f"{table}-{slug}", heading, table, draw, says))
    return tuple(figures)


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
    buckets = [
        PrintedBucket(bucket.low_us, bucket.high_us, bucket.count, bool(bucket.fact.disputed))
        for bucket in buckets_of(study)
    ]
    says = f"2,000,000 reads in buckets by powers of two; empty buckets have no bar. {HOLLOW}"
    draw = partial(printed_histogram_figure, buckets)
    return (PrintedFigure(study, "buckets", "The histogram, drawn", "buckets", draw, says),)
