"""The pages of the published studies. They are the same for every team: the pack ships with Benchsite."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse

from benchsite.accounts.permissions import team_required
from benchsite.core import formatting
from benchsite.core.formatting import THIN
from reports.figures.table import Cell, Table
from reports.pages.charts import figure_link
from reports.selection import Selection
from reports.studied import FactFilter, facts_table, pictures_of, tables_of
from reports.views.figures import respond
from runs.studies import SYSTEMS, Fact, Kind, Study, studies, study_of

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


@team_required("GET")
def published(request: HttpRequest) -> HttpResponseBase:
    """The five studies with their headline numbers; with a filter, the facts that match it."""
    wanted = FactFilter.from_query(request.GET.dict())
    context = {
        "studies": [
            {
                "study": study,
                "headline": headline(study),
                "compare_url": compare_url(study),
                "template_url": template_url(study),
            }
            for study in studies()
        ],
        "lines": _lines(studies(), wanted) if wanted.active else [],
        "total": sum(len(study.facts) for study in studies()),
        "csv_url": reverse("published-facts") + wanted.query(),
        **_choices(wanted),
    }
    return render(request, "reports/published.html", context)


@team_required("GET")
def study(request: HttpRequest, slug: str) -> HttpResponseBase:
    """One study: its method, its tables and pictures, and every fact of it."""
    row, wanted = _found(slug), FactFilter.from_query(request.GET.dict())
    tables = []
    for source in tables_of(row):
        table = source.table
        numeric = [all(_is_number(row[at]) for row in table.rows) for at in range(len(table.columns))]
        csv = reverse("published-table", args=[row.slug, source.name])
        columns = list(zip(table.columns, numeric, strict=True))
        rows = [list(zip(map(cell_text, row), numeric, strict=True)) for row in table.rows]
        tables.append({"source": source, "csv": csv, "columns": columns, "rows": rows})
    context = {
        "study": row,
        "methods": [("Machines", row.machines), ("Workloads and data", row.workloads), ("Method", row.method)],
        "tables": tables,
        "pictures": [
            figure_link(picture.title, "figure-published", row.slug, picture.key, height_px=picture.height_px)
            for picture in pictures_of(row)
        ],
        "lines": _lines((row,), wanted),
        "total": len(row.facts),
        "compare_url": compare_url(row),
        "template_url": template_url(row),
        "csv_url": reverse("published-facts") + wanted.query(slug),
        **_choices(wanted),
    }
    return render(request, "reports/study.html", context)


@team_required("GET")
def facts(request: HttpRequest) -> HttpResponseBase:
    """The facts that match a filter as CSV, of all studies or of one."""
    slug = request.GET.get("study", "")
    chosen = (_found(slug),) if slug else studies()
    wanted = FactFilter.from_query(request.GET.dict())
    return _csv(
        facts_table(wanted.apply(fact for study in chosen for fact in study.facts)), f"facts-{slug or 'published'}"
    )


@team_required("GET")
def table(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of a study as CSV."""
    for table in tables_of(_found(slug)):
        if table.name == name:
            return _csv(table.table, f"{slug}-{name}")
    raise Http404("The study has no such table.")


@team_required("GET")
def figure(request: HttpRequest, slug: str, name: str, form: str = "") -> HttpResponseBase:
    """One picture of a study, or the numbers it draws."""
    for picture in pictures_of(_found(slug)):
        if picture.key == name:
            return respond(request, picture, form, "figure-published", slug, name)
    raise Http404("The study has no such picture.")


def _found(slug: str) -> Study:
    study = study_of(slug)
    if study is None:
        raise Http404("There is no such study.")
    return study


def _lines(chosen: tuple[Study, ...], wanted: FactFilter) -> list[dict[str, Any]]:
    return fact_lines(chosen, wanted.apply(fact for study in chosen for fact in study.facts))


def _choices(wanted: FactFilter) -> dict[str, Any]:
    return {"filter": wanted, "databases": SYSTEMS, "kinds": list(KIND_SAYS.items())}


def _csv(content: Table, name: str) -> HttpResponse:
    response = HttpResponse(content.as_csv(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
