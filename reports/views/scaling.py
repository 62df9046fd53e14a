"""The scaling page: ceilings and latencies at the knee, cluster sizes against databases."""

from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.analysis.pivot import Pivot, pivot
from reports.pages.pictures import FigureLink, figure_link
from reports.pages.scaling import measured_of, printed_of, studies_with_sizes
from reports.queries import Compared, compared
from reports.selection import ALL, Selection, read


@dataclass(frozen=True, slots=True)
class StudyLink:
    """A study whose printed table can stand below, and the address with it chosen or let go."""

    name: str
    slug: str
    href: str
    chosen: bool


@require_GET
@team_required
def scaling(request: HttpRequest) -> HttpResponseBase:
    selection = read(request.GET)
    found = compared(team_of(request), selection)
    table = pivot(measured_of(found.curves))
    context = {
        "compared": found,
        "table": table,
        "unsized": [curve for curve in found.curves if not curve.setup.nodes],
        "advice": advice(found, table),
        "figure": scaling_figure(selection, found) if table.scored else None,
        "printed": pivot(printed_of(selection.published)),
        "studies": study_links(selection),
        "compare_url": reverse("compare") + selection.query(),
        "all_url": "" if selection.matrix == ALL else address(replace(selection, matrix=ALL, sweeps=())),
    }
    return render(request, "reports/scaling.html", context)


def address(selection: Selection) -> str:
    return reverse("scaling") + selection.query()


def scaling_figure(selection: Selection, found: Compared) -> FigureLink:
    pinned = replace(selection, matrix=str(found.matrix_id)) if found.matrix_id else selection
    return figure_link("Throughput over nodes", "figure-scalability", pinned, found.curves)


def study_links(selection: Selection) -> list[StudyLink]:
    links = []
    for study in studies_with_sizes():
        chosen = study.slug in selection.published
        kept = tuple(one for one in selection.published if one != study.slug)
        changed = replace(selection, published=kept if chosen else (*kept, study.slug))
        links.append(StudyLink(study.name, study.slug, address(changed), chosen))
    return links


def advice(found: Compared, table: Pivot) -> str:
    """What to do where there is nothing to see yet; empty where a row has two sizes."""
    if not found.curves:
        return "No sweep matches. Choose another matrix, or look across all of them."
    if not table.rows:
        return "None of these sweeps states how many nodes its cluster has."
    if not any(sum(cell is not None for cell in row.cells) > 1 for row in table.rows):
        sizes = (
            f"{table.sizes[0]} node{'' if table.sizes[0] == 1 else 's'}" if len(table.sizes) == 1 else "one size each"
        )
        return f"These sweeps stand on clusters of {sizes}: scaling needs the same database and mode on several."
    return ""
