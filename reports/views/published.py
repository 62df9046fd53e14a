"""The pages of the published studies. They are the same for every team: the pack ships with Benchsite."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_required
from reports.figures.table import Table
from reports.pages import studies as pages
from reports.studied import FactFilter, facts_table, pictures_of, tables_of
from reports.views.figures import respond
from runs.studies import SYSTEMS, Study, studies, study_of


@require_GET
@team_required
def published(request: HttpRequest) -> HttpResponseBase:
    """The five studies with their headline numbers; with a filter, the facts that match it."""
    wanted = FactFilter.from_query(request.GET.dict())
    context = {
        "studies": [
            {
                "study": study,
                "headline": pages.headline(study),
                "compare_url": pages.compare_url(study),
                "template_url": pages.template_url(study),
            }
            for study in studies()
        ],
        "lines": _lines(studies(), wanted) if wanted.active else [],
        "total": sum(len(study.facts) for study in studies()),
        "csv_url": reverse("published-facts") + wanted.query(),
        **_choices(wanted),
    }
    return render(request, "reports/published.html", context)


@require_GET
@team_required
def study(request: HttpRequest, slug: str) -> HttpResponseBase:
    """One study: its method, its tables and pictures, and every fact of it."""
    row, wanted = _found(slug), FactFilter.from_query(request.GET.dict())
    context = {
        "study": row,
        "methods": [("Machines", row.machines), ("Workloads and data", row.workloads), ("Method", row.method)],
        "tables": pages.tables_on_page(row),
        "pictures": pages.pictures_on_page(row),
        "lines": _lines((row,), wanted),
        "total": len(row.facts),
        "compare_url": pages.compare_url(row),
        "template_url": pages.template_url(row),
        "csv_url": reverse("published-facts") + wanted.query(slug),
        **_choices(wanted),
    }
    return render(request, "reports/study.html", context)


@require_GET
@team_required
def facts(request: HttpRequest) -> HttpResponseBase:
    """The facts that match a filter as CSV, of all studies or of one."""
    slug = request.GET.get("study", "")
    chosen = (_found(slug),) if slug else studies()
    wanted = FactFilter.from_query(request.GET.dict())
    return _csv(
        facts_table(wanted.apply(fact for study in chosen for fact in study.facts)), f"facts-{slug or 'published'}"
    )


@require_GET
@team_required
def table(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """One table of a study as CSV."""
    for table in tables_of(_found(slug)):
        if table.name == name:
            return _csv(table.table, f"{slug}-{name}")
    raise Http404("The study has no such table.")


@require_GET
@team_required
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
    return pages.fact_lines(chosen, wanted.apply(fact for study in chosen for fact in study.facts))


def _choices(wanted: FactFilter) -> dict[str, Any]:
    return {"filter": wanted, "databases": SYSTEMS, "kinds": list(pages.KIND_SAYS.items())}


def _csv(content: Table, name: str) -> HttpResponse:
    response = HttpResponse(content.as_csv(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response
