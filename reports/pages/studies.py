"""The published studies' pages as plain values: facts as they are shown, and where each may be used."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.urls import NoReverseMatch, reverse

from benchsite import formatting
from benchsite.formatting import THIN
from reports.figures.table import Cell
from reports.pages.charts import FigureLink, figure_link
from reports.selection import Selection
from reports.studied import pictures_of, tables_of
from runs.studies import Fact, Kind, Study

UNITS = {"us": "µs", "x": "\N{MULTIPLICATION SIGN}", "1/s": "per second", "ops": "operations"}
MAX_DIGITS = 9  # "1,878,120" is shown whole, a number with fourteen decimals is not
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


def fact_lines(studies: Iterable[Study], facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """The facts as a page shows them, each with its study."""
    by_slug = {study.slug: study for study in studies}
    return [
        {
            "fact": fact,
            "study": by_slug[fact.study],
            "value": value_of(fact),
            "metric": fact.metric.replace("_", " "),
        }
        for fact in facts
    ]


def value_of(fact: Fact) -> str:
    """The number as it was printed, with what stands before it and its unit; endless digits are shortened."""
    digits = fact.printed
    if fact.value == int(fact.value) and abs(fact.value) >= 1000:
        digits = formatting.grouped(fact.value)
    elif len(digits) > MAX_DIGITS:
        digits = formatting.significant(fact.value, 6)
    mark = f"{fact.qualifier.mark}{THIN}" if fact.qualifier.mark else ""
    return f"{mark}{digits}{THIN}{UNITS.get(fact.unit, fact.unit)}"


def headline(study: Study) -> list[dict[str, Any]]:
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


def tables_on_page(study: Study) -> list[dict[str, Any]]:
    """Its tables, their cells as texts with whether their column is of numbers."""
    tables = []
    for source in tables_of(study):
        table = source.table
        numeric = [all(_is_number(row[at]) for row in table.rows) for at in range(len(table.columns))]
        csv = reverse("published-table", args=[study.slug, source.name])
        columns = list(zip(table.columns, numeric, strict=True))
        rows = [list(zip(map(cell_text, row), numeric, strict=True)) for row in table.rows]
        tables.append({"source": source, "csv": csv, "columns": columns, "rows": rows})
    return tables


def cell_text(cell: Cell) -> str:
    """A cell as text; digits that a study printed stay as they are."""
    if cell is None or isinstance(cell, str):
        return formatting.NOTHING if cell is None else cell
    return formatting.grouped(cell) if float(cell).is_integer() else formatting.significant(cell, 6)


def _is_number(cell: Cell) -> bool:
    """Whether a column of such cells is set as numbers; an asterisk marks a disputed one."""
    try:
        float(cell.removesuffix(" *") if isinstance(cell, str) else cell or 0)
    except ValueError:
        return cell == formatting.NOTHING
    return True


def pictures_on_page(study: Study) -> list[FigureLink]:
    return [
        figure_link(picture.title, "figure-published", study.slug, picture.key, height_px=picture.height_px)
        for picture in pictures_of(study)
    ]
