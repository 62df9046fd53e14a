"""The published studies' pages as plain values: facts as they are shown, and where each may be used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from benchsite import formatting
from benchsite.formatting import THIN
from reports.figures.table import Cell
from reports.selection import Selection
from reports.studied import PrintedSheet, StudyTable, pictures_of, tables_of
from runs.studies import Fact, Kind, Study

UNITS = {"us": "µs", "x": "\N{MULTIPLICATION SIGN}", "1/s": "per second", "ops": "operations"}
LONGEST_DIGITS = 9  # "1,878,120" is shown whole, a number with fourteen decimals is not
KIND_SAYS = {
    Kind.THROUGHPUT: "throughput",
    Kind.LATENCY: "latency",
    Kind.RATIO: "ratios and claims",
    Kind.SCALING: "scaling",
    Kind.HISTOGRAM: "histogram",
    Kind.STABILITY: "stability",
    Kind.CACHE: "cache hit ratio",
    Kind.COUNT: "counts",
    Kind.OTHER: "other",
}


@dataclass(frozen=True, slots=True)
class FactLine:
    """One fact as a page shows it."""

    fact: Fact
    study: Study
    value: str

    @property
    def metric(self) -> str:
        return self.fact.metric.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Shown:
    """One cell of a table."""

    text: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class TableOnPage:
    """A study's table, its cells as text."""

    source: StudyTable
    csv: str
    columns: tuple[Shown, ...]
    rows: tuple[tuple[Shown, ...], ...]


@dataclass(frozen=True, slots=True)
class PictureOnPage:
    """A study's picture, as the figure partial wants it."""

    title: str
    src: str
    csv: str
    json: str
    height_px: int
    live: bool = False


def fact_lines(studies: Iterable[Study], facts: Sequence[Fact]) -> list[FactLine]:
    by_slug = {study.slug: study for study in studies}
    return [FactLine(fact, by_slug[fact.study], value_of(fact)) for fact in facts]


def value_of(fact: Fact) -> str:
    """The number as it was printed, with what stands before it and its unit; endless digits are shortened."""
    digits = fact.printed
    if fact.value == int(fact.value) and abs(fact.value) >= 1000:
        digits = formatting.grouped(fact.value)
    elif len(digits) > LONGEST_DIGITS:
        digits = formatting.significant(fact.value, 6)
    mark = f"{fact.qualifier.mark}{THIN}" if fact.qualifier.mark else ""
    return f"{mark}{digits}{THIN}{UNITS.get(fact.unit, fact.unit)}"


def headline(study: Study) -> list[FactLine]:
    return fact_lines([study], [study.fact(identity) for identity in study.headline])


def compare_url(study: Study) -> str:
    """The compare page with this study laid over it; empty where it has nothing to lay."""
    if not any(not overlay.phase for overlay in study.overlays):
        return reverse("compare") + Selection(published=(study.slug,), phase="load").query() if study.overlays else ""
    return reverse("compare") + Selection(published=(study.slug,)).query()


def template_url(study: Study) -> str:
    """The matrix builder with the study's plan; empty where there is no such page."""
    try:
        return f"{reverse('matrix-add')}?template={study.slug}"
    except NoReverseMatch:
        return ""


def tables_on_page(study: Study) -> list[TableOnPage]:
    return [_table(study, one) for one in tables_of(study)]


def _table(study: Study, source: StudyTable) -> TableOnPage:
    rows = tuple(tuple(shown(cell) for cell in row) for row in source.table.rows)
    numeric = [all(row[at].numeric or row[at].text == formatting.NOTHING for row in rows) for at in _range(source)]
    columns = tuple(Shown(name, numeric[at]) for at, name in enumerate(source.table.columns))
    aligned = tuple(tuple(Shown(cell.text, numeric[at]) for at, cell in enumerate(row)) for row in rows)
    return TableOnPage(source, reverse("published-table", args=[study.slug, source.name]), columns, aligned)


def _range(source: StudyTable) -> range:
    return range(len(source.table.columns))


def shown(cell: Cell) -> Shown:
    """A cell as text; digits that a study printed stay as they are."""
    if cell is None:
        return Shown(formatting.NOTHING, False)
    if isinstance(cell, str):
        return Shown(cell, _is_number(cell.removesuffix(" *")))
    text = formatting.grouped(cell) if float(cell).is_integer() else formatting.significant(cell, 6)
    return Shown(text, True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def pictures_on_page(study: Study) -> list[PictureOnPage]:
    return [_picture(study, one) for one in pictures_of(study)]


def _picture(study: Study, one: PrintedSheet) -> PictureOnPage:
    args = (study.slug, one.key)
    csv, json = (reverse("figure-published-data", args=[*args, form]) for form in ("csv", "json"))
    return PictureOnPage(one.title, reverse("figure-published", args=args), csv, json, one.height_px)
