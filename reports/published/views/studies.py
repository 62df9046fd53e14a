"""The page of the published studies. It is the same for every team: the numbers ship with Benchsite."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify

from benchsite.accounts.permissions import team_required
from benchsite.core.formatting import THIN, grouped, significant
from reports.compare.selection import Selection
from runs.plans.studies import Fact, Study, studies
from runs.plans.studies.coverage import list_partial, read_items
from runs.plans.studies.published import FACTS

UNITS = {"us": "µs", "x": "\N{MULTIPLICATION SIGN}", "1/s": "per second", "ops": "operations"}
MAX_DIGITS = 9  # "1,878,120" is shown whole, a number with fourteen decimals is not


@team_required("GET")
def published(request: HttpRequest) -> HttpResponse:
    """The studies with all of their numbers, plans and overlays, and one list of what stays partial."""
    partial = list_partial()
    rows = []
    for study in studies():
        lines = [{"fact": fact, "value": format_value(fact)} for fact in study.facts]
        rows.append(
            {
                "study": study,
                "compare_url": compare_url(study),
                "lines": lines,
                "partial": len(partial[study.name]),
            }
        )
    context = {
        "studies": rows,
        "total": sum(len(study.facts) for study in studies()),
        "sections": [(slugify(name), name, items) for name, items in partial.items()],
        "partial": len(set().union(*partial.values())),
        "items": len(read_items()),
    }
    return render(request, "reports/published.html", context)


@team_required("GET")
def facts(request: HttpRequest) -> HttpResponse:
    """The table of all printed numbers with their sources, as CSV."""
    response = HttpResponse(FACTS.read_bytes(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="published-results.csv"'
    return response


def compare_url(study: Study) -> str:
    """The compare page with this study's overlays."""
    selection = Selection(published=(study.slug,))
    if all(overlay.phase for overlay in study.overlays):
        # Only of load phases.
        selection = replace(selection, phase="load")
    return reverse("compare") + selection.query()


def format_value(fact: Fact) -> str:
    """The number as it was printed, with its qualifier and unit; endless digits are shortened."""
    digits = fact.printed
    if fact.value == int(fact.value) and abs(fact.value) >= 1000:
        digits = grouped(fact.value)
    elif len(digits) > MAX_DIGITS:
        digits = significant(fact.value, 6)
    mark = ""
    if fact.mark:
        mark = f"{fact.mark}{THIN}"
    return f"{mark}{digits}{THIN}{UNITS.get(fact.unit, fact.unit)}"
