"""The scaling page: ceilings and latencies at the knee, cluster sizes against databases."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.analysis.pivot import Pivot, pivot
from reports.pages.charts import Picture, picture_link
from reports.pages.scaling import measured_of, printed_of, studies_with_sizes
from reports.queries import Compared, compared
from reports.selection import ALL, Selection, read
from reports.views.compare import pinned


@require_GET
@team_required
def scaling(request: HttpRequest) -> HttpResponseBase:
    selection = read(request.GET)
    comparison = compared(team_of(request), selection)
    table = pivot(measured_of(comparison.curves))
    picture = Picture("scalability", "Throughput over nodes", "scalability", pinned(selection, comparison))
    context = {
        "compared": comparison,
        "table": table,
        "unsized": [curve for curve in comparison.curves if not curve.setup.nodes],
        "advice": advice(comparison, table),
        "figure": picture_link(picture, comparison.curves) if table.scored else None,
        "printed": pivot(printed_of(selection.published)),
        "studies": study_links(selection),
        "compare_url": reverse("compare") + selection.query(),
        "all_url": "" if selection.matrix == ALL else address(replace(selection, matrix=ALL, sweeps=())),
    }
    return render(request, "reports/scaling.html", context)


def address(selection: Selection) -> str:
    return reverse("scaling") + selection.query()


def study_links(selection: Selection) -> list[dict[str, Any]]:
    """The studies whose printed tables can stand below, and the address with each chosen, or without it."""
    links = []
    for study in studies_with_sizes():
        chosen = study.slug in selection.published
        kept = tuple(slug for slug in selection.published if slug != study.slug)
        changed = replace(selection, published=kept if chosen else (*kept, study.slug))
        links.append({"name": study.name, "href": address(changed), "chosen": chosen})
    return links


def advice(comparison: Compared, table: Pivot) -> str:
    """What to do where there is nothing to see yet; empty where a row has two sizes."""
    if not comparison.curves:
        return "No sweep matches. Choose another matrix, or look across all of them."
    if not table.rows:
        return "None of these sweeps states how many nodes its cluster has."
    if not any(sum(cell is not None for cell in row.cells) > 1 for row in table.rows):
        sizes = (
            f"{table.sizes[0]} node{'' if table.sizes[0] == 1 else 's'}" if len(table.sizes) == 1 else "one size each"
        )
        return f"These sweeps stand on clusters of {sizes}: scaling needs the same database and mode on several."
    return ""
